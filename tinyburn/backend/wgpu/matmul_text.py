"""The text of the matrix product's kernels in WGSL, written for a tiling."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from textwrap import indent

from .kernel import frame
from .matmul import PARAMS, Tiling


def naive_source(element: str = "f32") -> str:
    """One thread for each element of the result.

    Args:
        element: ``f32`` or ``i32``.
    """
    return f"""{_declarations(element)}
@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {{
    let row = params.row_start + thread.y;
    let column = params.column_start + thread.x;
    let batch = params.batch_start + thread.z;
    if (row >= params.m || column >= params.n) {{
        return;
    }}
    let first = batch_starts(batch);
    var sum = {element}();
    for (var k = 0u; k < params.k; k++) {{
        let a_at = first.x + row * params.a_row + k * params.a_column;
        let b_at = first.y + k * params.b_row + column * params.b_column;
        sum += a[a_at] * b[b_at];
    }}
    write(batch, row, column, sum);
}}
"""


def matmul_source(tiling: Tiling, element: str = "f32") -> str:
    """A tile of the result for each workgroup, and a block of it for each thread.

    Args:
        tiling: any whose sides are multiples of its threads' sides.
        element: ``f32`` or ``i32``.
    """
    across, down = tiling.threads
    loop = _shared_loop(tiling, element) if tiling.depth else _direct_loop(tiling, element)
    body = "\n".join([_sums(tiling, element), loop, _write_calls(tiling)])
    return f"""{_constants(tiling)}
{_declarations(element)}
{_TILES if tiling.depth else ""}{_write_block(tiling, element)}
@compute @workgroup_size({across}, {down})
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) place: u32,
) {{
    let row = params.row_start + group.y * ROWS;
    let column = params.column_start + group.x * COLUMNS;
    let batch = params.batch_start + group.z;
    let first = batch_starts(batch);
{indent(body, " " * 4)}
}}
"""


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
    return f"alias Element = {element};\n{declared}\n{_BATCHES}"


_BATCHES = """
// Where a matrix of the batch starts, in a and in b. The last batch dim changes fastest.
fn batch_starts(batch: u32) -> vec2<u32> {
    var start = vec2<u32>(params.a_offset, params.b_offset);
    var rest = batch;
    start += rest % params.batch_3 * vec2<u32>(params.a_batch_3, params.b_batch_3);
    rest /= params.batch_3;
    start += rest % params.batch_2 * vec2<u32>(params.a_batch_2, params.b_batch_2);
    rest /= params.batch_2;
    start += rest % params.batch_1 * vec2<u32>(params.a_batch_1, params.b_batch_1);
    rest /= params.batch_1;
    return start + rest * vec2<u32>(params.a_batch_0, params.b_batch_0);
}

// Stores one element, or adds it to what is there.
fn write(batch: u32, row: u32, column: u32, value: Element) {
    let at = params.out_offset + batch * params.out_batch + row * params.out_row + column;
    if (params.accumulate == 1u) {
        result[at] += value;
    } else {
        result[at] = value;
    }
}
"""

_TILES = """// The tiles, read as [k][row] and [k][column]. Each line is one number longer than it need be, so that
// threads that write below each other do not wait for the same memory bank.
var<workgroup> a_tile: array<Element, DEPTH * (ROWS + 1u)>;
var<workgroup> b_tile: array<Element, DEPTH * (COLUMNS + 1u)>;

// Neighbouring threads read neighbouring elements: along the rows of a matrix, or down its columns if it
// is transposed. What lies outside is 0 in both tiles, so in the sum it counts 0 * 0.
fn load_a_tile(start: u32, first_row: u32, first_k: u32, place: u32) {
    let along_rows = params.a_column <= params.a_row;
    for (var i = place; i < ROWS * DEPTH; i += ACROSS * DOWN) {
        let row = select(i % ROWS, i / DEPTH, along_rows);
        let k = select(i / ROWS, i % DEPTH, along_rows);
        var value = Element();
        if (first_row + row < params.m && first_k + k < params.k) {
            value = a[start + (first_row + row) * params.a_row + (first_k + k) * params.a_column];
        }
        a_tile[k * (ROWS + 1u) + row] = value;
    }
}

fn load_b_tile(start: u32, first_k: u32, first_column: u32, place: u32) {
    let along_rows = params.b_column <= params.b_row;
    for (var i = place; i < DEPTH * COLUMNS; i += ACROSS * DOWN) {
        let k = select(i % DEPTH, i / COLUMNS, along_rows);
        let column = select(i / DEPTH, i % COLUMNS, along_rows);
        var value = Element();
        if (first_k + k < params.k && first_column + column < params.n) {
            value = b[start + (first_k + k) * params.b_row + (first_column + column) * params.b_column];
        }
        b_tile[k * (COLUMNS + 1u) + column] = value;
    }
}

"""


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
    return "\n".join(f"var sum_{row}_{place} = {kind}();" for row, place in _blocks(tiling))


def _multiply(tiling: Tiling, element: str, read_a: Callable[[int], str], read_b: Callable[[int], str]) -> str:
    """One step along k: a thread reads a column of numbers and a row, and adds the product of each two."""
    width, kind = tiling.vector, _vector_type(tiling, element)
    lines = []
    for vector in range(tiling.vectors):
        values = ", ".join(read_b(vector * width + place) for place in range(width))
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
    load_a_tile(first.x, row, first_k, place);
    load_b_tile(first.y, first_k, column, place);
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
