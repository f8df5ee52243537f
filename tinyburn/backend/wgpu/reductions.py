"""Reductions: how two values become one, a line of WGSL each. The kernel around it is written once.

A thread folds every ``chunks``-th value of its line, so that neighbouring threads read neighbouring values. A long
line has many threads, whose results are folded again. The order never changes, and so the bits of a sum never do.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from tinyburn.tensor.dtype import DType
from tinyburn.tensor.shape import num_elements, reduced_shape

from ..interface import Dims
from ..strided import StridedArray
from .commands import Kernel
from .elementwise import elementwise, merge_dims
from .gpu import WGSL, check_dtype, gpu_of, too_large_to_see
from .kernel import build, coordinates, pack, place, shape_fields, walk_fields

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
"""Values that one thread may fold. A longer line is cut into chunks of a quarter of this."""


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
    """The first place of the largest or smallest along a dim. One thread looks through the whole line."""
    result = gpu_of(a).new(reduced_shape(a.shape, (dim,)), check_dtype(name, dtype))
    if result.size:
        _find(name, result, a, dim)
    return result


def _find(name: str, result: StridedArray, a: StridedArray, dim: int) -> None:
    """In one call if a kernel can see all of both arrays, else in two halves of another dim: a line stays whole."""
    gpu = gpu_of(a)
    if gpu.can_bind(a) and gpu.can_bind(result):
        _run(name, result, a, (dim,), 1, 0)
        return
    cut = max(range(len(a.shape)), key=lambda axis: result.shape[axis])
    if result.shape[cut] == 1:
        raise too_large_to_see(name, gpu, a)
    for part, half in zip(result.halves(cut), a.halves(cut), strict=True):
        _find(name, part, half, dim)


def _fold(name: str, result: StridedArray, a: StridedArray, dims: Dims, count: int) -> None:
    """Folds ``a`` into ``result``: at once, or in parts whose results are folded again. A mean divides by ``count``."""
    gpu = gpu_of(a)
    length = num_elements([a.shape[dim] for dim in dims])
    first = "sum_dims" if name == "mean_dims" else name
    if not (gpu.can_bind(a) and gpu.can_bind(result)):
        dim = a.shape.index(max(a.shape))
        if dim not in dims:
            for half, part in zip(a.halves(dim), result.halves(dim), strict=True):
                _fold(name, part, half, dims, count)
            return
        parts = gpu.new((*result.shape, 2), a.dtype)
        for place, half in enumerate(a.halves(dim)):
            _fold(first, _without_last(parts.part(len(a.shape), place, place + 1)), half, dims, count)
    elif length > LINE:
        parts = gpu.new((*result.shape, -(-length // (LINE // 4))), a.dtype)
        _run(first, parts, a, dims, parts.shape[-1], count)
    else:
        _run(name, result, a, dims, 1, count)
        return
    _fold(name, result.view((*result.shape, 1), (*result.strides, 0)), parts, (len(result.shape),), count)


def _without_last(a: StridedArray) -> StridedArray:
    return a.view(a.shape[:-1], a.strides[:-1])


def _run(name: str, result: StridedArray, a: StridedArray, dims: Dims, chunks: int, count: int) -> None:
    """One call: a thread for each chunk of each line."""
    gpu = gpu_of(a)
    kept = [dim for dim in range(len(a.shape)) if dim not in dims]
    shape, (a_kept, result_kept) = merge_dims(
        [a.shape[dim] for dim in kept], [[x.strides[dim] for dim in kept] for x in (a, result)]
    )
    line, (a_line,) = merge_dims([a.shape[dim] for dim in dims], [[a.strides[dim] for dim in dims]])
    bindings, (a_start, result_start) = zip(*map(gpu.bind, (a, result)), strict=True)
    kernel = reduction_kernel(name, WGSL[a.dtype], WGSL[result.dtype], len(shape), len(line))
    numbers: list[Any] = [chunks, num_elements(line), *shape, a_start, *a_kept, result_start, *result_kept]
    numbers += [*line, *a_line, float(count)]
    parameters, groups = pack(kernel, num_elements(shape) * chunks, numbers)
    gpu.commands.run(kernel, bindings, parameters, groups)


@cache
def reduction_kernel(name: str, kind: str, result: str, rank: int, line_rank: int) -> Kernel:
    """A thread that folds the values of one chunk, at places that their strides tell."""
    parameters = [("chunks", "u32"), ("length", "u32"), *shape_fields("", rank)]
    parameters += [*walk_fields("a", rank), *walk_fields("result", rank)]
    parameters += [*shape_fields("line_", line_rank), *[(f"line_stride{dim}", "u32") for dim in range(line_rank)]]
    parameters += [("count", "f32")]
    steps = " + ".join(f"line_at{dim} * params.line_stride{dim}" for dim in range(line_rank))
    walk = "\n".join(["fn walk(k: u32) -> u32 {", *coordinates("line_", line_rank, "k"), f"    return {steps};", "}\n"])
    body = [
        "    let chunk = i % params.chunks;",
        *coordinates("", rank, "i / params.chunks"),
        f"    let start = {place('a', rank)};",
        *(_fold_body(name, kind) if name in FOLDS else _arg_body(name, kind)),
        f"    result[{place('result', rank)} + chunk] = folded;",
    ]
    return build(name, [("a_array", kind)], result, parameters, walk, "\n".join(body))


def _fold_body(name: str, kind: str) -> list[str]:
    line = FOLDS[name]
    return [
        "    var folded = a_array[start + walk(chunk)];",
        "    for (var k = chunk + params.chunks; k < params.length; k += params.chunks) {",
        "        let value = a_array[start + walk(k)];",
        f"        folded = {line if isinstance(line, str) else line.get(kind, line.get(''))};",
        "    }",
        *(["    folded = folded / params.count;"] if name == "mean_dims" else []),
    ]


def _arg_body(name: str, kind: str) -> list[str]:
    return [
        "    var folded = 0i;",
        "    var best = a_array[start + walk(0u)];",
        "    for (var k = 1u; k < params.length; k++) {",
        "        let value = a_array[start + walk(k)];",
        f"        if ({BETTER[name].get(kind, BETTER[name][''])}) {{ best = value; folded = i32(k); }}",
        "    }",
    ]
