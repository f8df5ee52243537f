"""The matrix product: how it is cut into tiles, which kernels run for it, and their text for a tiling.

A product of (m, k) and (k, n) needs each element of ``a`` n times, and each of ``b`` m times. The naive kernel, one
thread for each element of the result, reads all of them from memory: two reads for each multiplication. Two ideas help:

- a thread computes a block of elements. With 8 x 8 of them, 16 reads serve 64 multiplications;
- the threads of a workgroup share what they read: they copy a tile of ``a`` and of ``b`` into workgroup memory, which
  is small and fast, and each of them reads from there.

A GPU needs both. A driver that runs on the CPU has no faster memory: there the second idea costs more than it brings.
`benchmarks/wgpu_matmul.py` has the numbers by which the tilings were chosen.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from textwrap import indent

from tinyburn.base.shape import MAX_RANK, num_elements

from ..operations import OPERATIONS
from ..strided import Strided, StridedArray
from .commands import Kernel
from .elementwise import elementwise
from .gpu import WGSL, gpu_of, halves
from .kernel import MAX_GROUPS, as_u32, frame, wgsl_text

MOST_TERMS = 4096
"""The most terms of a sum that one call adds: a thread adds them one by one, and over more of them rounding errors
would add up. The kernel with workgroup memory takes three turns a term, which is within `MOST_TURNS`."""


def matmul(a: StridedArray, b: StridedArray) -> StridedArray:
    """The product over the last two dims; the others broadcast."""
    return _fill(gpu_of(a).new(OPERATIONS["matmul"].shape(a, b), a.dtype), a, b)


def linear(a: StridedArray, weight: StridedArray, bias: StridedArray) -> StridedArray:
    """The product with a weight over the last dim, and the bias added to it where it lies."""
    result = gpu_of(a).new(OPERATIONS["linear"].shape(a, weight, bias), a.dtype)
    rows = result
    if a.is_contiguous:  # then a batch of matrices is one high matrix, and the product fills larger tiles
        a, rows = _as_rows(a), _as_rows(result)
    _fill(rows, a, _as_last_dims(weight, len(a.shape)))
    elementwise("add", rows, [rows, _as_last_dims(bias, len(a.shape))])
    return result


def _as_rows(a: StridedArray) -> StridedArray:
    """A row-major array as one matrix: the last dim is across, and all others are down."""
    width = a.shape[-1]
    return a.view((num_elements(a.shape[:-1]), width), (width, 1))


def _as_last_dims(x: StridedArray, rank: int) -> StridedArray:
    """A view with dims of size 1 in front. (To reshape would copy what does not lie in row-major order.)"""
    missing = rank - len(x.shape)
    return x.view((*[1] * missing, *x.shape), (*[0] * missing, *x.strides))


def _fill(result: StridedArray, a: StridedArray, b: StridedArray) -> StridedArray:
    """The product of ``a`` and ``b``, written into ``result``."""
    if not a.shape[-1]:
        return elementwise("copy", result, [0])
    if not result.size:
        return result
    batch = result.shape[:-2]
    a, b = a.expanded((*batch, *a.shape[-2:])), b.expanded((*batch, *b.shape[-2:]))
    if b.shape[-1] == 1:  # a matrix times a vector is the vector times the transposed matrix
        _run(_transposed(result), _transposed(b), _transposed(a))
    else:
        _run(result, a, b)
    return result


def _transposed(a: StridedArray) -> StridedArray:
    *batch, row, column = range(len(a.shape))
    return Strided.permute(a, (*batch, column, row))


def _run(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool = False) -> None:
    """In one call if a kernel can see all of every array, and if its sums are not too long; else in two halves."""
    gpu = gpu_of(result)
    if a.shape[-1] > MOST_TERMS:
        _run_half_sums(result, a, b, accumulate)
        return
    if not all(map(gpu.can_bind, (result, a, b))):
        _run_halves(result, a, b, accumulate)
        return
    bindings, starts = zip(*map(gpu.bind, (result, a, b)), strict=True)
    m, n = result.shape[-2:]
    tiling = choose_tiling(m, n, workgroup_memory=not gpu.is_software)
    kernel = matmul_kernel(tiling, WGSL[a.dtype])
    for dispatch in dispatches(tiling, m, n, result.size // (m * n)):
        numbers = struct.pack(kernel.format, *params(result, a, b, starts, dispatch, accumulate))
        gpu.commands.run(kernel, (*bindings[1:], bindings[0]), numbers, dispatch.workgroups)


def _run_half_sums(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool) -> None:
    """One half of each sum, then the other added to it."""
    rank = len(result.shape)
    for index, (a_half, b_half) in enumerate(zip(halves(a, rank - 1), halves(b, rank - 2), strict=True)):
        _run(result, a_half, b_half, accumulate or index > 0)


def _run_halves(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool) -> None:
    """Half of the batch, the rows, the columns or the terms, then the other half."""
    rank = len(result.shape)
    *batch, m, n = result.shape
    sizes = [*batch, m, n, a.shape[-1]]
    # The first dim of a batch before all others: in half of a later one, the matrices would not lie evenly apart.
    dim = next((index for index, size in enumerate(batch) if size > 1), sizes.index(max(sizes)))
    if dim == rank:
        _run_half_sums(result, a, b, accumulate)
        return
    a_parts = [a, a] if dim == rank - 1 else halves(a, dim)
    b_parts = [b, b] if dim == rank - 2 else halves(b, dim)
    for part, a_part, b_part in zip(halves(result, dim), a_parts, b_parts, strict=True):
        _run(part, a_part, b_part, accumulate)


# How the work is shared out

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
        numbers += as_u32([start, *x.strides[-2:], *[0] * padding, *x.strides[:-2]])
    return [*numbers, out_start, result.strides[-2], result.strides[-3] if batch else 0]


# The text of the kernels


@cache
def matmul_kernel(tiling: Tiling, kind: str) -> Kernel:
    """The kernel of a tiling, for one WGSL type of the elements."""
    return Kernel("matmul", matmul_source(tiling, kind), 2, "<" + "I" * len(PARAMS))


def naive_source(element: str = "f32") -> str:
    """One thread for each element of the result.

    Args:
        element: ``f32`` or ``i32``.
    """
    return f"{_declarations(element)}\n{_parts()['naive']}\n"


def matmul_source(tiling: Tiling, element: str = "f32") -> str:
    """A tile of the result for each workgroup, and a block of it for each thread.

    Args:
        tiling: any whose sides are multiples of its threads' sides.
        element: ``f32`` or ``i32``.
    """
    across, down = tiling.threads
    tiles = f"{_parts()['tiles']}\n\n" if tiling.depth else ""
    loop = _shared_loop(tiling, element) if tiling.depth else _direct_loop(tiling, element)
    body = "\n".join([_sums(tiling, element), loop, _write_calls(tiling)])
    return f"""{_constants(tiling)}
{_declarations(element)}
{tiles}{_write_block(tiling, element)}
@compute @workgroup_size({across}, {down})
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {{
    let row = params.row_start + group.y * ROWS;
    let column = params.column_start + group.x * COLUMNS;
    let batch = params.batch_start + group.z;
    let first = batch_starts(batch);
{indent(body, " " * 4)}
}}
"""


@cache
def _parts() -> dict[str, str]:
    """The WGSL that is the same for each tiling. A line with four slashes begins a part of its file, and names it."""
    _, *parts = re.split(r"^//// (\w+).*$", wgsl_text("matmul"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _constants(tiling: Tiling) -> str:
    across, down = tiling.threads
    depth = f"const DEPTH = {tiling.depth}u;  // of the tiles in workgroup memory\n" if tiling.depth else ""
    return (
        f"const ROWS = {tiling.rows}u;  // of a workgroup's tile of the result\n"
        f"const COLUMNS = {tiling.columns}u;\n{depth}"
        f"const DOWN = {down}u;  // threads of a workgroup. A thread's rows are DOWN apart,\n"
        f"const ACROSS = {across}u;  // and its columns ACROSS, so neighbouring threads have neighbouring elements.\n"
    )


def _declarations(element: str) -> str:
    """What all kernels here share: the bindings, where the matrices of a batch start, and the way out."""
    declared = frame([("a", element), ("b", element)], [("result", element)], [(name, "u32") for name in PARAMS])
    return f"alias Element = {element};\n{declared}\n\n{_parts()['common']}\n"


def _write_block(tiling: Tiling, element: str) -> str:
    """One row of a thread's block; the tile may reach over the edge of the result."""
    value = "sums" if tiling.vector == 1 else "sums[i]"
    return f"""fn write_row(batch: u32, row: u32, first_column: u32, sums: {_vector_type(tiling, element)}) {{
    for (var i = 0u; i < {tiling.vector}u; i++) {{
        let column = first_column + i * ACROSS;
        if (row < params.m && column < params.n) {{
            write(batch, row, column, {value});
        }}
    }}
}}
"""


def _vector_type(tiling: Tiling, element: str) -> str:
    return element if tiling.vector == 1 else f"vec{tiling.vector}<{element}>"


def _blocks(tiling: Tiling) -> list[tuple[int, int]]:
    """Row and vector of each sum of a thread."""
    return list(product(range(tiling.thread_rows), range(tiling.vectors)))


def _sums(tiling: Tiling, element: str) -> str:
    kind = _vector_type(tiling, element)
    return "\n".join(f"var sum_{row}_{vector} = {kind}();" for row, vector in _blocks(tiling))


def _multiply(tiling: Tiling, element: str, read_a: Callable[[int], str], read_b: Callable[[int], str]) -> str:
    """One step along k: a thread reads a column of numbers and a row, and adds the product of each two."""
    width, kind = tiling.vector, _vector_type(tiling, element)
    lines = []
    for vector in range(tiling.vectors):
        values = ", ".join(read_b(vector * width + lane) for lane in range(width))
        lines.append(f"let y_{vector} = {kind}({values});")
    for row in range(tiling.thread_rows):
        lines.append(f"let x_{row} = {read_a(row)};")
        lines += [f"sum_{row}_{vector} += x_{row} * y_{vector};" for vector in range(tiling.vectors)]
    return "\n".join(lines)


def _shared_loop(tiling: Tiling, element: str) -> str:
    """Tile after tile along k, through workgroup memory."""
    across, down = tiling.threads
    step = _multiply(
        tiling, element, lambda r: f"a_tile[a_at + {r * down}u]", lambda c: f"b_tile[b_at + {c * across}u]"
    )
    return f"""for (var first_k = 0u; first_k < params.k; first_k += DEPTH) {{
    load_a_tile(first.x, row, first_k, index);
    load_b_tile(first.y, first_k, column, index);
    workgroupBarrier();  // the tiles are full
    for (var k = 0u; k < DEPTH; k++) {{
        let a_at = k * (ROWS + 1u) + thread.y;
        let b_at = k * (COLUMNS + 1u) + thread.x;
{indent(step, " " * 8)}
    }}
    workgroupBarrier();  // everyone has read them
}}"""


def _direct_loop(tiling: Tiling, element: str) -> str:
    """Straight from the operands. A thread over the edge repeats the last row or column, and does not write it."""
    across, down = tiling.threads
    rows = "\n".join(
        f"let a_{r} = first.x + min(row + thread.y + {r * down}u, params.m - 1u) * params.a_row;"
        for r in range(tiling.thread_rows)
    )
    columns = "\n".join(
        f"let b_{c} = first.y + min(column + thread.x + {c * across}u, params.n - 1u) * params.b_column;"
        for c in range(tiling.thread_columns)
    )
    step = _multiply(tiling, element, lambda r: f"a[a_{r} + a_at]", lambda c: f"b[b_{c} + b_at]")
    return f"""{rows}
{columns}
for (var k = 0u; k < params.k; k++) {{
    let a_at = k * params.a_column;
    let b_at = k * params.b_row;
{indent(step, " " * 4)}
}}"""


def _write_calls(tiling: Tiling) -> str:
    across, down = tiling.threads
    return "\n".join(
        f"write_row(batch, row + thread.y + {row * down}u, "
        f"column + thread.x + {vector * tiling.vector * across}u, sum_{row}_{vector});"
        for row, vector in _blocks(tiling)
    )
