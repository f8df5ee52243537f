"""The matrix product of `Wgpu`: tilings beside the naive kernel and beside NumPy. It is how the tilings were chosen.

    python benchmarks/run.py wgpu_matmul      # the chosen tilings, over the naive kernel and over NumPy
    python benchmarks/wgpu_matmul.py          # every tiling, as the table below: some minutes

GFLOP/s counts 2 m k n operations. All contenders take turns, and the best round counts. On a driver that runs on the
CPU the clock is processor time, all threads together, so a rate is that of one core, and NumPy has one thread. On a GPU
it is the time on the clock.

Chosen for a GPU: tiles of 64x64 in workgroup memory, blocks of 8x8. Here it is 5 times the naive kernel. Tiles of
128x128 gain 10 to 20 %, but leave a small product with too few workgroups to fill a GPU. No GPU was measured.

Chosen for a driver on the CPU: no workgroup memory, blocks of 16x8. That is 13 times the naive kernel, and NumPy's BLAS
is about 20 times as fast again. The same blocks of 8x8 run twice as fast without the memory, which on a CPU is ordinary
memory. On a GPU this choice would read a transposed operand in large steps, and need more registers than a thread has.

A short side takes a tile of 16. A single row has a tiling of its own, 1x256 without memory: 0.55 at 1x1024x1024, twice
the naive kernel, and 5 times a tile of 16 rows.

Measured with Mesa 22.3.6, no GPU, on two cores that other programs used too:

    GFLOP/s on llvmpipe (LLVM 15.0.6, 256 bits) (Vulkan)
    tile     depth  threads  block  16x8x4  1x1024x1024  2048x64x10  512x512x512  512x512x512 a.mT  512x512x512 b.mT
    naive           16x16    1x1     0.038        0.273       0.325        0.493             0.503             0.516
    16x16    16     16x16    1x1     0.017        0.024       0.192        0.377             0.392             0.407
    16x16    16     8x8      2x2     0.025        0.041       0.370        0.692             0.732             0.712
    32x32    16     8x8      4x4     0.020        0.043       0.391        1.426             1.499             1.535
    16x64    16     8x8      2x8     0.017        0.068       0.171        1.163             1.167             1.197
    64x16    16     8x8      8x2     0.017        0.018       0.625        1.161             1.179             1.228
    64x64    16     16x16    4x4     0.008        0.026       0.240        1.641             1.731             1.787
    64x64    8      8x8      8x8     0.015        0.040       0.374        2.535             2.745             2.724
    64x64    16     8x8      8x8     0.010        0.041       0.381        2.614             2.725             2.873
    128x64   16     16x8     8x8     0.007        0.023       0.403        2.790             3.038             3.065
    128x128  8      16x16    8x8     0.005        0.025       0.205        2.916             3.100             3.109
    16x16    none   8x8      2x2     0.038        0.048       0.693        1.269             1.324             1.309
    32x32    none   8x8      4x4     0.034        0.063       0.728        2.712             2.727             2.678
    16x64    none   8x8      2x8     0.032        0.108       0.329        2.287             2.324             2.204
    64x16    none   8x8      8x2     0.033        0.028       1.116        2.299             2.264             2.313
    128x16   none   8x8      16x2    0.024        0.018       1.323        2.565             2.601             2.631
    8x256    none   1x64     8x4     0.018        0.370       0.128        3.541             3.630             3.538
    64x64    none   16x16    4x4     0.017        0.032       0.370        2.741             2.625             2.679
    64x64    none   8x8      8x8     0.021        0.074       0.656        5.147             5.005             4.996
    128x64   none   8x8      16x8    0.013        0.048       0.820        6.563             6.392             6.322
    NumPy                            1.428       10.685      33.226      122.040           128.479           129.146

    tile     depth  threads  block  1024x1024x1024  4096x512x256  8192x512x256
    naive           16x16    1x1             0.309         0.501         0.491
    16x16    16     16x16    1x1             0.370         0.367         0.388
    16x16    16     8x8      2x2             0.659         0.687         0.698
    32x32    16     8x8      4x4             1.334         1.427         1.479
    16x64    16     8x8      2x8             1.106         1.149         1.169
    64x16    16     8x8      8x2             1.145         1.160         1.140
    64x64    16     16x16    4x4             1.609         1.680         1.639
    64x64    8      8x8      8x8             2.575         2.606         2.576
    64x64    16     8x8      8x8             2.544         2.723         2.536
    128x64   16     16x8     8x8             2.768         2.927         2.809
    128x128  8      16x16    8x8             3.102         3.146         2.984
    16x16    none   8x8      2x2             0.807         1.356         1.331
    32x32    none   8x8      4x4             2.109         2.792         2.685
    16x64    none   8x8      2x8             1.738         2.333         2.245
    64x16    none   8x8      8x2             1.759         2.329         2.250
    128x16   none   8x8      16x2            2.246         2.639         2.545
    8x256    none   1x64     8x4             2.708         3.747         3.692
    64x64    none   16x16    4x4             1.988         2.753         2.753
    64x64    none   8x8      8x8             4.442         5.257         5.314
    128x64   none   8x8      16x8            5.863         6.772         6.870
    NumPy                                  142.718       115.872       114.674
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # NumPy reads this when it is loaded
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
from race import Times, timed_row
from result import Row

from tinyburn import Tensor, Wgpu
from tinyburn.backend.wgpu.adapter import find_adapter
from tinyburn.backend.wgpu.commands import Kernel
from tinyburn.backend.wgpu.gpu import Gpu, open_gpu
from tinyburn.backend.wgpu.matmul import (
    NAIVE,
    PARAMS,
    Tiling,
    choose_tiling,
    dispatches,
    matmul_source,
    naive_source,
    params,
)
from tinyburn.base.text import table

NAME = "wgpu_matmul"


@dataclass(frozen=True)
class Case:
    """A product of (m, k) and (k, n). An operand that is transposed lies in memory the other way round.

    Attributes:
        calls: in one round, so that a round is long enough for the clock.
    """

    m: int
    k: int
    n: int
    transposed: str = ""
    calls: int = 1
    rounds: int = 3

    @property
    def title(self) -> str:
        """As in ``512x4096x256 a.mT``."""
        size = f"{self.m}x{self.k}x{self.n}"
        return f"{size} {self.transposed}.mT" if self.transposed else size

    @property
    def operations(self) -> int:
        return 2 * self.m * self.k * self.n


CASES = (
    Case(16, 8, 4, calls=400, rounds=9),
    Case(1, 1024, 1024, calls=4, rounds=5),
    Case(2048, 64, 10, calls=4, rounds=5),
    Case(512, 512, 512),
    Case(512, 512, 512, transposed="a"),  # as in the gradient of a weight, a.mT @ g
    Case(512, 512, 512, transposed="b"),  # as in the gradient of an input, g @ b.mT
    Case(1024, 1024, 1024, rounds=2),
    Case(4096, 512, 256, rounds=2),
    Case(8192, 512, 256, rounds=2),
)

TILINGS = (
    # rows and columns of a workgroup, depth, rows and columns of a thread
    Tiling(16, 16, 16, 1, 1),
    Tiling(16, 16, 16, 2, 2),
    Tiling(32, 32, 16, 4, 4),
    Tiling(16, 64, 16, 2, 8),
    Tiling(64, 16, 16, 8, 2),
    Tiling(64, 64, 16, 4, 4),
    Tiling(64, 64, 8, 8, 8),
    Tiling(64, 64, 16, 8, 8),
    Tiling(128, 64, 16, 8, 8),
    Tiling(128, 128, 8, 8, 8),
    # straight from the operands
    Tiling(16, 16, 0, 2, 2),
    Tiling(32, 32, 0, 4, 4),
    Tiling(16, 64, 0, 2, 8),
    Tiling(64, 16, 0, 8, 2),
    Tiling(128, 16, 0, 16, 2),
    Tiling(8, 256, 0, 8, 4),
    Tiling(64, 64, 0, 4, 4),
    Tiling(64, 64, 0, 8, 8),
    Tiling(128, 64, 0, 16, 8),
)


WARM_UP = Case(8, 8, 8)
"""Compiles the kernels, so that no round has to."""


@cache
def kernel_of(tiling: Tiling) -> Kernel:
    source = naive_source() if tiling == NAIVE else matmul_source(tiling)
    return Kernel(title_of(tiling), source, 2, f"<{len(PARAMS)}I")


def title_of(tiling: Tiling) -> str:
    """As in ``64x64, depth 16, 8x8 threads of 8x8``."""
    if tiling == NAIVE:
        return "naive"
    tile, depth, threads, block = cells_of(tiling)
    return f"{tile}, depth {depth}, {threads} threads of {block}"


def cells_of(tiling: Tiling) -> tuple[str, str, str, str]:
    """Tile, depth, threads and block. No depth means no workgroup memory."""
    across, down = tiling.threads
    tile, block = f"{tiling.rows}x{tiling.columns}", f"{tiling.thread_rows}x{tiling.thread_columns}"
    if tiling == NAIVE:
        return "naive", "", f"{down}x{across}", block
    return tile, str(tiling.depth or "none"), f"{down}x{across}", block


class Bench:
    """The operands of one case, on the device and for NumPy."""

    def __init__(self, case: Case, gpu: Gpu) -> None:
        draw, device = np.random.default_rng(0).standard_normal, Wgpu.device()
        self.case, self.gpu = case, gpu
        self.arrays: list[Any] = []
        self.tensors: list[Any] = []
        for operand, (rows, columns) in {"a": (case.m, case.k), "b": (case.k, case.n)}.items():
            transposed = operand == case.transposed
            values = draw((columns, rows) if transposed else (rows, columns), "float32")
            tensor = Tensor.from_data(values, device)
            self.arrays.append(values.T if transposed else values)
            self.tensors.append(tensor.mT if transposed else tensor)
        self.tensors.append(Tensor.zeros((case.m, case.n), device))  # the result of every kernel
        self.expected = np.matmul(*self.arrays)

    def run(self, tiling: Tiling) -> None:
        """The product by one kernel, some calls, until the device has done them."""
        kernel = kernel_of(tiling)
        a, b, result = (tensor.primitive for tensor in self.tensors)
        bindings, starts = zip(*map(self.gpu.bind, (result, a, b)), strict=True)
        for _ in range(self.case.calls):
            for dispatch in dispatches(tiling, self.case.m, self.case.n, 1):
                numbers = struct.pack(kernel.format, *params(result, a, b, starts, dispatch))
                self.gpu.commands.run(kernel, (*bindings[1:], bindings[0]), numbers, dispatch.workgroups)
        self.gpu.commands.wait()

    def run_numpy(self) -> None:
        a, b = self.arrays
        for _ in range(self.case.calls):
            np.matmul(a, b)

    def check(self) -> None:
        """Raises AssertionError if the last result is not NumPy's."""
        scale = self.case.k**0.5  # of an element of the result
        np.testing.assert_allclose(self.tensors[2].to_numpy(), self.expected, rtol=0, atol=1e-5 * scale)


def seconds(case: Case, tilings: tuple[Tiling, ...]) -> Times:
    """Of one product, round by round, for each tiling and for NumPy."""
    name = find_adapter(None)
    gpu = open_gpu(name)
    for tiling in tilings:
        Bench(WARM_UP, gpu).run(tiling)
    bench = Bench(case, gpu)
    clock = process_time if name.startswith("software") else perf_counter
    times: Times = {title: [] for title in (*map(title_of, tilings), "NumPy")}
    for _ in range(case.rounds):
        for tiling in tilings:
            times[title_of(tiling)].append(timed(partial(bench.run, tiling), clock) / case.calls)
            bench.check()
        times["NumPy"].append(timed(bench.run_numpy, clock) / case.calls)
    return times


def timed(work: Callable[[], None], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def run() -> list[Row]:
    """The chosen tiling, over the naive kernel and over NumPy; nothing where no GPU is found."""
    if Wgpu.why_unavailable():
        return []
    has_memory = not open_gpu(find_adapter(None)).is_software
    rows = []
    for case in CASES:
        chosen = choose_tiling(case.m, case.n, has_memory)
        times = seconds(case, (NAIVE, chosen))
        rows += [
            timed_row(NAME, case.title, times, title_of(chosen), other, "ms") for other in (title_of(NAIVE), "NumPy")
        ]
    return rows


def rates(case: Case, tilings: tuple[Tiling, ...]) -> list[str]:
    """GFLOP/s of each tiling and of NumPy."""
    return [f"{case.operations / min(times) / 1e9:.3f}" for times in seconds(case, tilings).values()]


def main() -> None:
    """Every tiling: one line each, one column for each case. Two tables, so that they fit on a page."""
    tilings = (NAIVE, *TILINGS)
    lines = [*map(cells_of, tilings), ("NumPy", "", "", "")]
    print(f"GFLOP/s on {open_gpu(find_adapter(None)).description}")
    for cases in (CASES[:6], CASES[6:]):
        columns = [rates(case, tilings) for case in cases]
        header = ("tile", "depth", "threads", "block", *(case.title for case in cases))
        rows = [(*cells, *numbers) for cells, *numbers in zip(lines, *columns, strict=True)]
        print(table(header, rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
