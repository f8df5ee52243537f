"""Reductions: how two values become one, a line of WGSL each. The kernel around it is written once.

A thread folds the values of one line, or of a chunk of a long one; the results of the chunks are folded again. The
order never changes, and so the bits of a sum never do. Which thread takes what decides the speed: a GPU fetches
neighbouring values together, so neighbouring threads should read neighbours.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from tinyburn.base.dtype import DType
from tinyburn.base.shape import num_elements, reduced_shape

from ..interface import Dims
from ..strided import StridedArray
from .commands import Kernel
from .elementwise import elementwise, merge_dims, seen_whole
from .gpu import WGSL, check_dtype, gpu_of, halves, part_of, too_large_to_see
from .kernel import (
    MOST_TURNS,
    THREADS,
    as_u32,
    build,
    coordinates,
    element_at,
    line_for,
    pack,
    shape_fields,
    walk_fields,
    walks,
)

# How the next value of a line joins what is folded so far, and whether it is better than the best so far. In a dict
# each WGSL type has its own line, and "" is for all others: floats need care where a value is NaN.
# fmt: off
FOLDS: dict[str, str | dict[str, str]] = {
    "sum_dims":  "folded + value",
    "mean_dims": "folded + value",
    "max_dims":  {"f32": "maximum(folded, value)", "": "max(folded, value)"},
    "min_dims":  {"f32": "minimum(folded, value)", "": "min(folded, value)"},
}
BETTER: dict[str, dict[str, str]] = {
    "argmax": {"f32": "less(best, value) || (is_nan(value) && !is_nan(best))", "": "value > best"},
    "argmin": {"f32": "less(value, best) || (is_nan(value) && !is_nan(best))", "": "value < best"},
}
# fmt: on

LINE = 256
"""Values that one thread may fold. A longer line is cut into chunks."""

STEPS = 64
"""Values of a chunk. Few, so that there are many threads, and so that rounding errors do not add up."""

GROUP = 8
"""Values that a thread folds before they join the rest: so a chunk of 64 rounds 16 times on a way, and not 64 times."""


class Cut(NamedTuple):
    """How a line is shared out: into ``chunks`` of at most ``steps`` values, each ``width`` away from the one before.

    ``width`` chunks lie side by side in one block of the line, and the next block follows.
    """

    chunks: int
    width: int
    steps: int


class Stretch(NamedTuple):
    """A line that is not cut: one call looks through its values from ``first`` to before ``after``."""

    chunks: int
    first: int
    after: int


def cut_line(length: int, side_by_side: bool) -> Cut:
    """A cut in which no chunk is empty. ``side_by_side``: neighbouring threads have neighbouring chunks of one line."""
    if length <= LINE:
        return Cut(1, 1, length)
    pieces = -(-length // STEPS)
    if not side_by_side:
        return Cut(pieces, 1, STEPS)
    width = min(pieces, THREADS)
    blocks, rest = divmod(length, width * STEPS)
    return Cut(blocks * width + min(rest, width), width, STEPS)


def reduce_dims(name: str, a: StridedArray, dims: Dims) -> StridedArray:
    """Folds some dims, which stay at size 1."""
    result = gpu_of(a).new(reduced_shape(a.shape, dims), a.dtype)
    length = num_elements([a.shape[dim] for dim in dims])
    if result.size and not length:
        return elementwise("copy", result, [math.nan if name == "mean_dims" else 0])
    if result.size:
        _fold(name, result, a, dims, length)
    return result


def arg_dim(name: str, a: StridedArray, dim: int, dtype: DType) -> StridedArray:
    """The index of the largest or smallest along a dim, of several the first. One thread looks through a whole line."""
    result = gpu_of(a).new(reduced_shape(a.shape, (dim,)), check_dtype(name, dtype))
    if result.size:
        _find(name, result, a, dim)
    return result


def _find(name: str, result: StridedArray, a: StridedArray, dim: int) -> None:
    """Looks through whole lines: all at once if a kernel can see all of both arrays, else half of them at a time."""
    gpu = gpu_of(a)
    a = seen_whole(a)
    if gpu.can_bind(a) and gpu.can_bind(result):
        for first in range(0, a.shape[dim], MOST_TURNS):
            _run(name, result, a, (dim,), Stretch(1, first, min(first + MOST_TURNS, a.shape[dim])), 0)
        return
    longest = max(range(len(a.shape)), key=lambda axis: result.shape[axis])
    if result.shape[longest] == 1:
        raise too_large_to_see(name, gpu, a)
    for part, half in zip(halves(result, longest), halves(a, longest), strict=True):
        _find(name, part, half, dim)


def _fold(name: str, result: StridedArray, a: StridedArray, dims: Dims, count: int) -> None:
    """Folds ``a`` into ``result``: at once, or in parts whose results are folded again. A mean divides by ``count``."""
    gpu = gpu_of(a)
    length = num_elements([a.shape[dim] for dim in dims])
    first = "sum_dims" if name == "mean_dims" else name
    if not (gpu.can_bind(a) and gpu.can_bind(result)):
        dim = a.shape.index(max(a.shape))
        if dim not in dims:
            for half, part in zip(halves(a, dim), halves(result, dim), strict=True):
                _fold(name, part, half, dims, count)
            return
        parts = gpu.new((*result.shape, 2), a.dtype)
        for index, half in enumerate(halves(a, dim)):
            _fold(first, _without_last(part_of(parts, len(a.shape), index, index + 1)), half, dims, count)
    else:
        cut = cut_line(length, not _keeps_neighbours(a, dims))
        if cut.chunks == 1:
            _run(name, result, a, dims, cut, count)
            return
        parts = gpu.new((*result.shape, cut.chunks), a.dtype)
        _run(first, parts, a, dims, cut, count)
    _fold(name, result.view((*result.shape, 1), (*result.strides, 0)), parts, (len(result.shape),), count)


def _without_last(a: StridedArray) -> StridedArray:
    return a.view(a.shape[:-1], a.strides[:-1])


def _keeps_neighbours(a: StridedArray, dims: Dims) -> bool:
    """Whether values that lie side by side belong to different lines, as in a sum over the rows of a matrix."""
    steps = {
        dim: abs(stride)
        for dim, (size, stride) in enumerate(zip(a.shape, a.strides, strict=True))
        if size > 1 and stride
    }
    return bool(steps) and min(steps, key=steps.__getitem__) not in dims


def _run(name: str, result: StridedArray, a: StridedArray, dims: Dims, cut: Cut | Stretch, count: int) -> None:
    """One call: a thread for each chunk of each line."""
    gpu = gpu_of(a)
    kept = [dim for dim in range(len(a.shape)) if dim not in dims]
    shape, (a_kept, result_kept) = merge_dims(
        tuple([a.shape[dim] for dim in kept]), tuple([tuple([x.strides[dim] for dim in kept]) for x in (a, result)])
    )
    # In the order of memory, so that dims can be merged, and values are read side by side.
    walked = sorted(dims, key=lambda dim: -abs(a.strides[dim]))
    line, (a_line,) = merge_dims(tuple([a.shape[dim] for dim in walked]), (tuple([a.strides[dim] for dim in walked]),))
    bindings, (a_start, result_start) = zip(*map(gpu.bind, (a, result)), strict=True)
    lines_first = _keeps_neighbours(a, dims)
    kernel = reduction_kernel(name, WGSL[a.dtype], WGSL[result.dtype], len(shape), len(line), lines_first)
    numbers: list[Any] = [num_elements(shape), num_elements(line), *cut, *shape]
    numbers += [*walks((a_start, result_start), (a_kept, result_kept)), *line, *as_u32(a_line), float(count)]
    parameters, groups = pack(kernel, num_elements(shape) * cut.chunks, numbers)
    gpu.commands.run(kernel, bindings, parameters, groups)


@cache
def reduction_kernel(name: str, kind: str, result: str, rank: int, line_rank: int, lines_first: bool) -> Kernel:
    """A thread folds the values of one chunk, or looks through one line; it finds them by their strides.

    ``lines_first``: neighbouring threads have different lines; else they have different chunks of one line.
    """
    cut = Cut if name in FOLDS else Stretch
    parameters = [(field, "u32") for field in ("lines", "length", *cut._fields)] + shape_fields("", rank)
    parameters += [*walk_fields("a", rank), *walk_fields("result", rank)]
    parameters += [*shape_fields("line_", line_rank), *[(f"line_stride{dim}", "u32") for dim in range(line_rank)]]
    parameters += [("count", "f32")]
    steps = " + ".join(f"line_at{dim} * params.line_stride{dim}" for dim in range(line_rank))
    walk = "\n".join(["fn walk(k: u32) -> u32 {", *coordinates("line_", line_rank, "k"), f"    return {steps};", "}\n"])
    line, chunk = (
        ("i % params.lines", "i / params.lines") if lines_first else ("i / params.chunks", "i % params.chunks")
    )
    body = [
        f"    let chunk = {chunk};",
        *coordinates("", rank, line),
        f"    let start = {element_at('a', rank)};",
        f"    let into = {element_at('result', rank)} + chunk;",
        *(_fold_body(name, kind) if name in FOLDS else _arg_body(name, kind)),
        "    result[into] = folded;",
    ]
    return build(name, [("a_array", kind)], result, parameters, walk, "\n".join(body))


def _fold_body(name: str, kind: str) -> list[str]:
    return [
        "    let first = (chunk / params.width) * params.width * params.steps + chunk % params.width;",
        "    var folded = a_array[start + walk(first)];",
        "    let after = min(params.length, first + params.steps * params.width);",
        f"    for (var k = first + params.width; k < after; k += {GROUP}u * params.width) {{",
        "        var group = a_array[start + walk(k)];",
        f"        let end = min(after, k + {GROUP}u * params.width);",
        "        for (var j = k + params.width; j < end; j += params.width) {",
        "            let value = a_array[start + walk(j)];",
        f"            group = {line_for(FOLDS[name], kind).replace('folded', 'group')};",
        "        }",
        "        let value = group;",
        f"        folded = {line_for(FOLDS[name], kind)};",
        "    }",
        *(["    folded = folded / params.count;"] if name == "mean_dims" else []),
    ]


def _arg_body(name: str, kind: str) -> list[str]:
    return [
        "    var folded = 0i;",
        "    if (params.first > 0u) { folded = result[into]; }  // what the call before has found",
        "    var best = a_array[start + walk(u32(folded))];",
        "    for (var k = max(params.first, 1u); k < params.after; k++) {",
        "        let value = a_array[start + walk(k)];",
        f"        if ({line_for(BETTER[name], kind)}) {{ best = value; folded = i32(k); }}",
        "    }",
    ]
