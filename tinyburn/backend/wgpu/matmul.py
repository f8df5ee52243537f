"""The matrix product in WGSL: how it is cut into tiles, and the text of the kernel for a tiling.

A product of (m, k) and (k, n) needs each element of ``a`` n times, and each of ``b`` m times. The naive kernel, one
thread for each element of the result, reads all of them from memory: two reads for each multiplication. Two ideas help:

- a thread computes a block of elements. With 8 x 8 of them, 16 reads serve 64 multiplications;
- the threads of a workgroup share what they read: they copy a tile of ``a`` and of ``b`` into workgroup memory, which
  is small and fast, and each of them reads from there.

A GPU needs both. A driver that runs on the CPU has no faster memory: there the second idea costs more than it brings.
`benchmarks/wgpu_matmul.py` has the numbers by which the tilings were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tinyburn.base.shape import MAX_RANK

from ..strided import StridedArray
from .kernel import MAX_GROUPS

BATCH_DIMS = MAX_RANK - 2
"""How many dims an operand can have in front of its last two."""

SIZES = ("m", "k", "n", "row_start", "column_start", "batch_start", "accumulate")
BATCH_SIZES = tuple(f"batch_{dim}" for dim in range(BATCH_DIMS))
A_FIELDS = ("a_offset", "a_row", "a_column", *(f"a_batch_{dim}" for dim in range(BATCH_DIMS)))
B_FIELDS = ("b_offset", "b_row", "b_column", *(f"b_batch_{dim}" for dim in range(BATCH_DIMS)))
OUT_FIELDS = ("out_offset", "out_row", "out_batch")

PARAMS = (*SIZES, *BATCH_SIZES, *A_FIELDS, *B_FIELDS, *OUT_FIELDS)
"""The fields of the uniform, in order, all ``u32``. Offsets and strides count elements."""


@dataclass(frozen=True)
class Tiling:
    """How the work is shared out.

    Attributes:
        rows, columns: of the result, for one workgroup.
        depth: how many columns of ``a`` and rows of ``b`` are in workgroup memory at a time; 0 for no such memory:
            each thread reads from the operands themselves.
        thread_rows, thread_columns: of the result, for one thread.
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> tuple[int, int]:
        """Of a workgroup, across and down."""
        return self.columns // self.thread_columns, self.rows // self.thread_rows

    @property
    def vector(self) -> int:
        """How many elements of a row a thread computes as one WGSL vector; 1 for a plain number."""
        return min(self.thread_columns, 4)

    @property
    def vectors(self) -> int:
        """How many vectors that makes for each row of a thread."""
        return self.thread_columns // self.vector


NAIVE = Tiling(16, 16, 0, 1, 1)
"""The tiling of `naive_source`, which benchmarks compare with: one element for each thread."""


@dataclass(frozen=True)
class Dispatch:
    """One call of a kernel.

    Attributes:
        workgroups: across the columns, down the rows, and one for each matrix of the batch.
        starts: the first row, column and matrix: ``row_start``, ``column_start`` and ``batch_start``.
    """

    workgroups: tuple[int, int, int]
    starts: tuple[int, int, int]


TILE_ROWS = {True: (16, 64), False: (16, 64, 128)}
"""Rows of a tile with workgroup memory, and without: a CPU is best with blocks for which a GPU lacks the registers."""

TILE_COLUMNS = (16, 64)


SINGLE_ROW = Tiling(1, 256, 0, 1, 4)
"""For a vector times a matrix there is nothing to share: neighbouring threads read along the rows of the matrix."""


def choose_tiling(m: int, n: int, workgroup_memory: bool = True) -> Tiling:
    """The tiling for an (m, n) result: a workgroup of 8 x 8 threads, and the largest tile that is more than half full.

    A single row has a tiling of its own.

    Args:
        m, n: rows and columns of the result.
        workgroup_memory: whether to share tiles through it. On a driver that runs on the CPU it is not faster.
    """
    if m == 1:
        return SINGLE_ROW
    rows = _largest(TILE_ROWS[workgroup_memory], m)
    columns = _largest(TILE_COLUMNS, n)
    return Tiling(rows, columns, 16 if workgroup_memory else 0, rows // 8, columns // 8)


def _largest(tiles: tuple[int, ...], side: int) -> int:
    return max((tile for tile in tiles if side > tile // 2), default=tiles[0])


def dispatches(tiling: Tiling, m: int, n: int, matrices: int) -> list[Dispatch]:
    """What to run for a whole result: one call, or more if a dimension has too many workgroups.

    Args:
        tiling: the kernel's.
        m, n: rows and columns of each result.
        matrices: how many results the batch has.
    """
    return [
        Dispatch((across, down, deep), (row, column, matrix))
        for (row, down), (column, across), (matrix, deep) in product(
            _spans(m, tiling.rows), _spans(n, tiling.columns), _spans(matrices, 1)
        )
    ]


def _spans(size: int, tile: int) -> list[tuple[int, int]]:
    """Where each dispatch starts along a side, and how many workgroups it has there."""
    most = MAX_GROUPS * tile
    return [(start, -(-min(size - start, most) // tile)) for start in range(0, size, most)]


def params(
    result: StridedArray,
    a: StridedArray,
    b: StridedArray,
    starts: Sequence[int],
    dispatch: Dispatch,
    accumulate: bool = False,
) -> list[int]:
    """The values of `PARAMS` for one dispatch.

    Args:
        result: shape (..., m, n), each row without gaps and the matrices evenly apart.
        a: shape (..., m, k), with the batch dims of the result: one that is repeated has stride 0.
        b: shape (..., k, n), in the same way.
        starts: where the three begin in what is bound.
        dispatch: one of `dispatches`.
        accumulate: whether the product is added to what the result holds: for a ``k`` that is cut in pieces.
    """
    *batch, m, n = result.shape
    padding = BATCH_DIMS - len(batch)
    out_start, *operand_starts = starts
    numbers = [m, a.shape[-1], n, *dispatch.starts, int(accumulate), *[1] * padding, *batch]
    for x, start in zip((a, b), operand_starts, strict=True):
        numbers += [start, *x.strides[-2:], *[0] * padding, *x.strides[:-2]]
    return [*numbers, out_start, result.strides[-2], result.strides[-3] if batch else 0]
