"""Cuda on this machine's NVIDIA GPU: the conformance suite, then times beside PyTorch and CuPy alone. One table.

    pip install -e ".[test,cuda13]" torch       # or cuda12, as `tinyburn devices` says
    python benchmarks/cuda_gpu.py [--no-suite]

It takes under 5 minutes, the first time more than later: CUDA's compiler then makes each kernel, and CuPy keeps it.
Not called cuda.py, since a file of that name would hide the package ``cuda`` from CuPy.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from race import Times, timed_row
from result import HEADER, Row, Target
from step import SMALL, Arrays, Size, Step, make_arrays, tinyburn_step

from tinyburn import Autodiff, Tensor
from tinyburn.backend.cuda import Cuda
from tinyburn.base.text import table

ROOT = Path(__file__).resolve().parent.parent
SUITE = ("tests/backend", "tests/test_cases_devices.py")
SUITE_SECONDS = 200
ROUND_SECONDS = 0.02
STEPS: dict[str, Size] = {"16x8 to 4": SMALL, "8192x512 to 256": (8192, 512, 256)}
SIDE = 4096
PYTORCH, CUPY = "PyTorch CUDA", "CuPy (cuBLAS)"


def run_suite() -> list[str]:
    """Runs the tests of Cuda in a process of their own. Returns the row of the table, as text."""
    command = [sys.executable, "-m", "pytest", *SUITE, "-k", "Cuda or cuda", "-q", "-p", "no:cacheprovider"]
    if find_spec("xdist"):
        command += ["-n", str(min(8, os.cpu_count() or 1))]
    print(" ".join(command[1:]), file=sys.stderr)
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "TINYBURN_NEED_CUDA": "1"}, timeout=SUITE_SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return suite_cells(f"not done in {SUITE_SECONDS} s", "", "run it again: the kernels are compiled now")
    if done.returncode:
        print(done.stdout[-5000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    counts = {word: number for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)}
    wrong = sum(int(counts.get(word, 0)) for word in ("failed", "error"))
    passed = f"{counts.get('passed', 0)} passed, {counts.get('skipped', 0)} skipped"
    return suite_cells(passed, f"{wrong} failed", "pass" if done.returncode == 0 else "fail")


def suite_cells(passed: str, failed: str, verdict: str) -> list[str]:
    return ["conformance", "tests of Cuda", passed, "NumPy", failed, "", "", "", "none failed", verdict]


def torch_step(torch: Any, arrays: Arrays) -> Step:
    x, y, weight, bias = (torch.from_numpy(array).cuda() for array in arrays)
    weight.requires_grad_()
    bias.requires_grad_()

    def step() -> Any:
        weight.grad = bias.grad = None
        ((x @ weight + bias - y) ** 2).mean().backward()
        return weight.grad, bias.grad

    return step


def check_equal(case: str, mine: Any, theirs: Any) -> None:
    """A race between computations of different things would say nothing."""
    for found, wanted in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=2e-3, atol=1e-4, err_msg=case)


def race(contenders: dict[str, Step], wait: Callable[[], Any], rounds: int) -> Times:
    """Seconds of one call, in rounds in turn. The clock is the wall's, and stops when the GPU is done."""
    calls = {name: calls_in_a_round(step, wait) for name, step in contenders.items()}
    times: Times = {name: [] for name in contenders}
    names = list(contenders)
    for _ in range(rounds):
        for name in names:
            times[name].append(seconds(contenders[name], calls[name], wait) / calls[name])
        names.append(names.pop(0))
    return times


def calls_in_a_round(step: Step, wait: Callable[[], Any]) -> int:
    seconds(step, 20, wait)  # compiles and fills the caches
    return max(3, int(ROUND_SECONDS / (seconds(step, 5, wait) / 5)))


def seconds(step: Step, calls: int, wait: Callable[[], Any]) -> float:
    wait()
    start = perf_counter()
    for _ in range(calls):
        step()
    wait()
    return perf_counter() - start


def step_rows(torch: Any, wait: Callable[[], Any]) -> list[Row]:
    """The training steps beside PyTorch's."""
    rows = []
    for case, size in STEPS.items():
        arrays = make_arrays(size)
        steps = {"tinyburn": tinyburn_step(arrays, Autodiff[Cuda].device()), PYTORCH: torch_step(torch, arrays)}
        check_equal(case, steps["tinyburn"](), [gradient.cpu().numpy() for gradient in steps[PYTORCH]()])
        rows.append(timed_row("training_step", case, race(steps, wait, 60), "tinyburn", PYTORCH, "us"))
    return rows


def matmul_rows(torch: Any, wait: Callable[[], Any]) -> list[Row]:
    """A large product beside cuBLAS, called by CuPy and by PyTorch."""
    device = Cuda.device()
    draw = np.random.default_rng(0).standard_normal
    x, y = (Tensor.from_data(draw((SIDE, SIDE), "float32"), device) for _ in range(2))
    a, b = x.primitive, y.primitive
    products: dict[str, Step] = {"tinyburn": lambda: x @ y, CUPY: lambda: a @ b}
    check_equal("matmul", [products["tinyburn"]()], [products[CUPY]().get()])
    if torch is not None:
        p, q = torch.from_numpy(x.to_numpy()).cuda(), torch.from_numpy(y.to_numpy()).cuda()
        products[PYTORCH] = lambda: p @ q
    times = race(products, wait, 30)
    rows = [timed_row("matmul", str(SIDE), times, "tinyburn", CUPY, "ms", Target("ratio", 1 / 0.9))]
    return rows + [
        timed_row("matmul", str(SIDE), times, "tinyburn", name, "ms") for name in products if name == PYTORCH
    ]


def find_torch() -> tuple[Any, str]:
    """PyTorch if it has a GPU here, computing in plain float32 as CuPy does; else None, and why."""
    if find_spec("torch") is None:
        return None, "PyTorch is not installed, so there are no rows of it"
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return None, f"PyTorch {torch.__version__} sees no GPU, so there are no rows of it"
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch, f"PyTorch {torch.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-suite", action="store_true", help="times only")
    arguments = parser.parse_args()
    missing = Cuda.why_unavailable()
    if missing is not None:
        sys.exit(f"No table: {missing}")
    cells = [] if arguments.no_suite else [run_suite()]
    device = Cuda.device()
    torch, about_torch = find_torch()
    rows = [*(step_rows(torch, device.sync) if torch else []), *matmul_rows(torch, device.sync)]
    cupys = [f"{name} {version(name)}" for name in ("cupy-cuda12x", "cupy-cuda13x", "cupy") if has_package(name)]
    print(", ".join([device.description, *cupys, about_torch, f"Python {sys.version.split()[0]}"]))
    print(table(HEADER, [*cells, *(row.cells() for row in rows)]))


def has_package(name: str) -> bool:
    try:
        version(name)
    except ModuleNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
