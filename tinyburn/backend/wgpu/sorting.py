"""Sorting on a GPU: a merge sort of indices, in which every element finds its own place.

Pairs of sorted runs become sorted runs twice as long, until there is one. An element of one run of a pair knows how
many of its own run come before it. How many of the other run do, a binary search finds. The sum is its place. So each
call has a thread for every element, no thread waits for another, and a line of a million takes 20 calls.
"""

from __future__ import annotations

from functools import cache

from tinyburn.base.dtype import DType
from tinyburn.base.shape import row_major_strides

from ..strided import StridedArray
from .commands import Kernel
from .elementwise import elementwise, seen_whole
from .gpu import WGSL, check_dtype, gpu_of, too_large_to_see
from .kernel import build, coordinates, element_at, pack, shape_fields, walk_fields, walks

# Whether x comes before y, wherever they were: the smaller one first, or the larger one; NaN is the largest.
_BEFORE = {
    ("f32", False): "less(x, y) || (is_nan(y) && !is_nan(x))",
    ("f32", True): "less(y, x) || (is_nan(x) && !is_nan(y))",
    ("i32", False): "x < y",
    ("i32", True): "y < x",
}


def argsort(a: StridedArray, dim: int, descending: bool, dtype: DType) -> StridedArray:
    """The indices that sort a dim. Two arrays of indices take turns, and the last one is the result."""
    gpu = gpu_of(a)
    orders = [gpu.new(a.shape, check_dtype("argsort", dtype))]
    if a.shape[dim] < 2 or not orders[0].size:
        return elementwise("copy", orders[0], [0])
    orders.append(gpu.new(a.shape, orders[0].dtype))
    a = seen_whole(a)
    for array in (a, *orders):
        if not gpu.can_bind(array):
            raise too_large_to_see("argsort", gpu, array)
    width = 1
    while width < a.shape[dim]:
        _merge(a, dim, descending, width, *orders)
        orders.reverse()
        width *= 2
    return orders[0]


def _merge(a: StridedArray, dim: int, descending: bool, width: int, order: StridedArray, result: StridedArray) -> None:
    """One call: runs of a width, in ``order``, become runs of twice that width in ``result``."""
    gpu, rank = gpu_of(a), len(a.shape)
    kernel = merge_kernel(WGSL[a.dtype], descending, rank, dim)
    bindings, starts = zip(*map(gpu.bind, (a, order, result)), strict=True)
    steps = row_major_strides(a.shape)
    parameters, groups = pack(kernel, result.size, [width, *a.shape, *walks(starts, (a.strides, steps, steps))])
    gpu.commands.run(kernel, bindings, parameters, groups)


@cache
def merge_kernel(kind: str, descending: bool, rank: int, dim: int) -> Kernel:
    """A thread for each element, which stands at the place ``at`` of its line.

    Of equal elements, those of the first run of a pair stay before those of the second one: the sort is stable. The
    first call has runs of one element, each with its place as its index.
    """
    parameters = [("width", "u32"), *shape_fields("", rank)]
    parameters += [field for name in ("a", "order", "result") for field in walk_fields(name, rank)]
    at = f"at{dim}"
    line = [
        f"    let {name}_line = {element_at(name, rank).replace(f'{at} ', '0u ')};" for name in ("a", "order", "result")
    ]
    functions = f"""fn before(x: {kind}, y: {kind}) -> bool {{
    return {_BEFORE[kind, descending]};
}}

fn index_at(line: u32, place: u32) -> u32 {{
    if (params.width == 1u) {{ return place; }}
    return u32(order_array[line + place * params.order_stride{dim}]);
}}
"""
    body = f"""    let index = index_at(order_line, {at});
    let mine = a_array[a_line + index * params.a_stride{dim}];
    let run = {at} / params.width;
    let is_second = run % 2u == 1u;
    let pair = (run - run % 2u) * params.width;
    let other = select(pair + params.width, pair, is_second);
    var low = min(other, params.size{dim});
    var high = min(other + params.width, params.size{dim});
    let first = low;
    for (var turn = 0u; turn < 32u; turn++) {{  // a run has at most 2^32 elements, and each turn halves what is left
        if (low >= high) {{ break; }}
        let middle = (low + high) / 2u;
        let theirs = a_array[a_line + index_at(order_line, middle) * params.a_stride{dim}];
        if (before(theirs, mine) || (is_second && !before(mine, theirs))) {{
            low = middle + 1u;
        }} else {{
            high = middle;
        }}
    }}
    let place = {at} - select(0u, params.width, is_second) + low - first;
    result[result_line + place * params.result_stride{dim}] = i32(index);"""
    arrays = [("a_array", kind), ("order_array", "i32")]
    return build("argsort", arrays, "i32", parameters, functions, "\n".join([*coordinates("", rank), *line, body]))
