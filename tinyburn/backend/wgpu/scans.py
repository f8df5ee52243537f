"""Scans on a GPU: a running sum, product, maximum and so on along one dim, in the memory of the result alone.

A running sum looks as if it had to wait for itself. So the line is cut into chunks. First each thread scans a chunk,
where it lies. What stands last in each chunk is then a line itself, shorter by the length of a chunk: it is scanned in
the same way. At last each element takes in what now stands at the end of the chunk before its own. So a sum of a
million elements rounds about as often as a sum of a few hundred would, one by one.
"""

from __future__ import annotations

from functools import cache

from tinyburn.base.shape import num_elements, permuted

from ..strided import StridedArray
from .commands import Kernel
from .elementwise import copied
from .gpu import WGSL, gpu_of, part_of, too_large_to_see
from .kernel import build, coordinates, element_at, line_for, pack, shape_fields, walk_fields, walks

# How an element takes in what stands before it. In a dict each WGSL type has its own line, and "" is for all others.
SCANS: dict[str, str | dict[str, str]] = {
    "cumsum": "before + value",
    "cumprod": "before * value",
    "cummax": {"f32": "maximum(before, value)", "": "max(before, value)"},
    "cummin": {"f32": "minimum(before, value)", "": "min(before, value)"},
    "logcumsumexp": "log_add_exp(before, value)",
}

CHUNK = 64
"""Elements that one thread scans."""


def scan(name: str, a: StridedArray, dim: int) -> StridedArray:
    """A running value along a dim."""
    result = copied(a)
    if result.size:
        if not gpu_of(result).can_bind(result):
            raise too_large_to_see(name, gpu_of(result), result)
        axes = (*[axis for axis in range(len(a.shape)) if axis != dim], dim)
        _scan(name, result.view(permuted(result.shape, axes), permuted(result.strides, axes)))
    return result


def _scan(name: str, lines: StridedArray) -> None:
    """Scans the last dim of an array where it lies."""
    last = len(lines.shape) - 1
    length = lines.shape[last]
    whole, rest = divmod(length, CHUNK)
    chunks = whole + bool(rest)
    _run(name, "chunks", lines, chunks)
    if chunks > 1:
        ends = part_of(lines, last, CHUNK - 1, length)
        shape, strides = (*lines.shape[:last], whole), (*lines.strides[:last], lines.strides[last] * CHUNK)
        _scan(name, ends.view(shape, strides))
        _run(name, "carries", lines, length - CHUNK)


def _run(name: str, step: str, lines: StridedArray, threads_a_line: int) -> None:
    """One call: some threads for each line."""
    gpu = gpu_of(lines)
    binding, start = gpu.bind(lines)
    kernel = scan_kernel(name, step, WGSL[lines.dtype], len(lines.shape))
    shape = (*lines.shape[:-1], threads_a_line)
    numbers = [lines.shape[-1], *shape, *walks([start], [lines.strides])]
    parameters, groups = pack(kernel, num_elements(shape), numbers)
    gpu.commands.run(kernel, (binding,), parameters, groups)


@cache
def scan_kernel(name: str, step: str, kind: str, rank: int) -> Kernel:
    """Of the two steps: a thread for each chunk scans it; or a thread for each element of all chunks but the first, for
    what it takes in from the chunk before. What stands last in a chunk has that already."""
    last = f"at{rank - 1}"
    parameters = [("length", "u32"), *shape_fields("", rank), *walk_fields("result", rank)]
    start = f"    let start = {element_at('result', rank).replace(f'{last} ', '0u ')};"
    step_along = f"params.result_stride{rank - 1}"
    join = line_for(SCANS[name], kind)
    chunks = f"""    let first = {last} * {CHUNK}u;
    var before = result[start + first * {step_along}];
    for (var k = 1u; k < {CHUNK}u; k++) {{
        if (first + k >= params.length) {{ return; }}
        let value = result[start + (first + k) * {step_along}];
        before = {join};
        result[start + (first + k) * {step_along}] = before;
    }}"""
    carries = f"""    let place = {last} + {CHUNK}u;
    if (place % {CHUNK}u == {CHUNK - 1}u) {{ return; }}
    let before = result[start + (place / {CHUNK}u * {CHUNK}u - 1u) * {step_along}];
    let value = result[start + place * {step_along}];
    result[start + place * {step_along}] = {join};"""
    body = "\n".join([*coordinates("", rank), start, chunks if step == "chunks" else carries])
    return build(name, [], kind, parameters, "", body)
