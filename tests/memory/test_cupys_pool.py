"""The model of CuPy's pool: its rules by hand, another way to the same pool, CuPy's own answers, and its own pool."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import tinyburn
from tests.memory.jobs import JOBS
from tests.memory.pools import SMALL, Program, bytes_of, free, programs, reserved_after
from tinyburn import Autodiff
from tinyburn.memory import measure, simulate
from tinyburn.memory.allocators import CUDA_ROUNDING, Chunk, SplittingPool

Cuda: Any = getattr(tinyburn, "Cuda", None)
WHY_NO_CUDA = "tinyburn has no Cuda yet" if Cuda is None else Cuda.why_unavailable()
needs_cuda = pytest.mark.skipif(WHY_NO_CUDA is not None, reason=str(WHY_NO_CUDA))

# In units of 512 bytes

RULES: dict[str, tuple[Program, list[int]]] = {
    "a freed chunk serves the same size": ([4, free(0), 4], [4, 4, 4]),
    "it does not serve a larger one": ([4, free(0), 8], [4, 4, 12]),
    "it is cut for smaller ones": ([4, free(0), 2, 2, 1], [4, 4, 4, 4, 5]),
    "the smallest that fits is cut, so the larger one is whole": (
        [4, 2, free(0), free(1), 1, 4],
        [4, 6, 6, 6, 6, 6],
    ),
    "a small request cuts a chunk of any size": ([100, free(0), 1, 100], [100, 100, 100, 200]),
    "the tail joins the head": ([4, free(0), 2, 2, free(1), free(2), 4], [4] * 7),
    "the head joins the tail": ([4, free(0), 2, 2, free(2), free(1), 4], [4] * 7),
    "one that is freed between two joins both": (
        [6, free(0), 2, 2, 2, free(1), free(3), free(2), 6],
        [6] * 9,
    ),
    "a neighbour in use does not join": ([4, free(0), 2, 2, free(1), 4], [4, 4, 4, 4, 4, 8]),
    "blocks from the driver never join": ([2, 2, free(0), free(1), 4], [2, 4, 4, 4, 8]),
    "nothing is asked for nothing": ([0, free(0), 0], [0, 0, 0]),
}


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_cupys_pool(rule: str) -> None:
    program, expected = RULES[rule]
    assert reserved_after(SplittingPool(), program, CUDA_ROUNDING) == expected


def test_sizes_are_rounded_to_512() -> None:
    assert reserved_after(SplittingPool(), [1, 511, 512, 513]) == [512, 1024, 1536, 2560]


class _Cells:
    """Another way to the same pool: blocks of cells, each free or not. What is free side by side is one run."""

    def __init__(self) -> None:
        self.blocks: list[list[bool]] = []  # whether a cell is in use
        self.buffers: list[tuple[int, int, int]] = []  # block, first cell, cells

    def take(self, cells: int) -> bool:
        """Takes the smallest run that fits, or a new block. False if there is more than one such run."""
        runs = sorted(run for run in self._runs() if run[0] >= cells) if cells else []
        if len(runs) > 1 and runs[0][0] == runs[1][0]:
            return False
        if not runs:
            self.blocks.append([False] * cells)
        _, block, first = runs[0] if runs else (cells, len(self.blocks) - 1, 0)
        self._mark(block, first, cells, True)
        self.buffers.append((block, first, cells))
        return True

    def give_back(self, buffer: int) -> None:
        self._mark(*self.buffers[buffer], False)

    @property
    def reserved(self) -> int:
        return sum(map(len, self.blocks))

    def _mark(self, block: int, first: int, cells: int, used: bool) -> None:
        self.blocks[block][first : first + cells] = [used] * cells

    def _runs(self) -> list[tuple[int, int, int]]:
        """Each run of free cells: its length, its block, its first cell."""
        runs = []
        for number, block in enumerate(self.blocks):
            borders = [-1, *[place for place, used in enumerate(block) if used], len(block)]
            runs += [(end - start - 1, number, start + 1) for start, end in pairwise(borders) if end - start > 1]
        return runs


@given(programs())
def test_cutting_and_joining_against_cells(program: Program) -> None:
    """Up to the first choice between equal chunks, of which CuPy takes any."""
    cells, model = _Cells(), SplittingPool()
    chunks: list[Chunk] = []
    for step in program:
        if isinstance(step, str):
            cells.give_back(int(step.split()[1]))
            model.give_back(chunks[int(step.split()[1])])
        elif cells.take(-(-step // CUDA_ROUNDING)):
            chunks.append(model.take(step))
        else:
            return
        assert model.reserved == cells.reserved * CUDA_ROUNDING


OF_CUPY = json.loads((Path(__file__).parents[1] / "golden" / "cupys_pool.json").read_text(encoding="utf-8"))
"""What some jobs asked of CuPy 14.2's own pool, and the bytes that it took of the GPU for that, in 30 processes.

A set has no order, so for some jobs it differs from process to process. What the jobs ask for today is another matter:
these are the requests of the day on which a GPU was asked.
"""


@pytest.mark.parametrize("name", OF_CUPY)
def test_cupys_own_answers(name: str) -> None:
    assert max(reserved_after(SplittingPool(), OF_CUPY[name]["program"])) in OF_CUPY[name]["reserved"]


def cupy_agrees(program: Program, malloc: Callable[[int], Any], total_bytes: Callable[[], int]) -> None:
    """Asks the same of CuPy's pool and of the model, up to the first choice between equal chunks."""
    cells, model = _Cells(), SplittingPool()
    pointers: list[Any] = []
    chunks: list[Chunk] = []
    for step in program:
        if isinstance(step, str):
            buffer = int(step.split()[1])
            cells.give_back(buffer)
            model.give_back(chunks[buffer])
            pointers[buffer] = None
        elif cells.take(-(-step // CUDA_ROUNDING)):
            chunks.append(model.take(step))
            pointers.append(malloc(step))
        else:
            return
        assert total_bytes() == model.reserved


@needs_cuda
@given(programs())
def test_cupys_pool_itself(program: Program) -> None:
    cupy = pytest.importorskip("cupy")
    pool = cupy.cuda.MemoryPool()
    cupy_agrees(program, pool.malloc, pool.total_bytes)
    pool.free_all_blocks()


@needs_cuda
@pytest.mark.parametrize("name", SMALL)
def test_padding_on_a_real_gpu(name: str) -> None:
    """What CuPy itself needs inside an operation is freed with it, so it is not in the padding at the peak."""
    job, batch = JOBS[name]
    measured = measure(job, Autodiff[Cuda].device(), batch)
    assert bytes_of(simulate(measured, "cuda"))["padding"] == bytes_of(measured)["padding"]
