//// common: every kernel has these functions

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

//// tiles: a kernel that shares them through workgroup memory has these functions too

// The tiles, read as [k][row] and [k][column]. Each line is one number longer than it need be, so that
// threads that write below each other do not wait for the same memory bank.
var<workgroup> a_tile: array<Element, DEPTH * (ROWS + 1u)>;
var<workgroup> b_tile: array<Element, DEPTH * (COLUMNS + 1u)>;

// Neighbouring threads read neighbouring elements: along the rows of a matrix, or down its columns if it
// is transposed. What lies outside is 0 in both tiles, so in the sum it counts 0 * 0.
fn load_a_tile(start: u32, first_row: u32, first_k: u32, index: u32) {
    let along_rows = params.a_column <= params.a_row;
    for (var i = index; i < ROWS * DEPTH; i += ACROSS * DOWN) {
        let row = select(i % ROWS, i / DEPTH, along_rows);
        let k = select(i / ROWS, i % DEPTH, along_rows);
        var value = Element();
        if (first_row + row < params.m && first_k + k < params.k) {
            value = a[start + (first_row + row) * params.a_row + (first_k + k) * params.a_column];
        }
        a_tile[k * (ROWS + 1u) + row] = value;
    }
}

// The same for b.
fn load_b_tile(start: u32, first_k: u32, first_column: u32, index: u32) {
    let along_rows = params.b_column <= params.b_row;
    for (var i = index; i < DEPTH * COLUMNS; i += ACROSS * DOWN) {
        let k = select(i % DEPTH, i / COLUMNS, along_rows);
        let column = select(i / DEPTH, i % COLUMNS, along_rows);
        var value = Element();
        if (first_k + k < params.k && first_column + column < params.n) {
            value = b[start + (first_k + k) * params.b_row + (first_column + column) * params.b_column];
        }
        b_tile[k * (COLUMNS + 1u) + column] = value;
    }
}

//// naive: one thread for each element of the result

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {
    let row = params.row_start + thread.y;
    let column = params.column_start + thread.x;
    let batch = params.batch_start + thread.z;
    if (row >= params.m || column >= params.n) {
        return;
    }
    let first = batch_starts(batch);
    var sum = Element();
    for (var k = 0u; k < params.k; k++) {
        let a_at = first.x + row * params.a_row + k * params.a_column;
        let b_at = first.y + k * params.b_row + column * params.b_column;
        sum += a[a_at] * b[b_at];
    }
    write(batch, row, column, sum);
}
