"""Windows added up: each thread owns one element of the result, and looks for the windows that it lies in."""

from __future__ import annotations

from functools import cache

from ..interface import without_windows
from ..strided import StridedArray
from .commands import Kernel
from .elementwise import elementwise, seen_whole
from .gpu import WGSL, gpu_of, part_of, too_large_to_see
from .kernel import MOST_TURNS, build, coordinates, element_at, pack, shape_fields, walk_fields, walks


def add_windows(a: StridedArray, dim: int, length: int, step: int, dilation: int) -> StridedArray:
    """Windows added up in a dim of a length. Each element is a sum in the order of the places in a window, so the bits
    are the same in every run."""
    result = elementwise("copy", gpu_of(a).new(without_windows(a, dim, length), a.dtype), [0])
    if not (a.size and result.size):
        return result
    a = seen_whole(a)
    for start in range(0, a.shape[-1], MOST_TURNS):
        stop = min(start + MOST_TURNS, a.shape[-1])
        _add(part_of(a, len(result.shape), start, stop), result, dim, start * dilation, step, dilation)
    return result


def _add(a: StridedArray, result: StridedArray, dim: int, first: int, step: int, dilation: int) -> None:
    """One call of the kernel, which adds to the result itself: no more places in a window than a thread looks at."""
    gpu, rank = gpu_of(result), len(result.shape)
    for array in (a, result):
        if not gpu.can_bind(array):
            raise too_large_to_see("add_windows", gpu, array)
    (a_binding, a_start), (result_binding, result_start) = gpu.bind(a), gpu.bind(result)
    kernel = add_windows_kernel(WGSL[a.dtype], rank, dim)
    numbers = [
        a.shape[dim],
        a.shape[-1],
        first,
        step,
        dilation,
        *result.shape,
        *walks([a_start, result_start], [a.strides, result.strides]),
    ]
    parameters, groups = pack(kernel, result.size, numbers)
    gpu.commands.run(kernel, (a_binding, result_binding), parameters, groups)


@cache
def add_windows_kernel(kind: str, rank: int, dim: int) -> Kernel:
    """Place number ``k`` of a window is ``k * dilation`` after its start, and the windows start ``step`` apart."""
    parameters = [(name, "u32") for name in ("windows", "length", "first", "step", "dilation")]
    parameters += [*shape_fields("", rank), *walk_fields("a", rank + 1), *walk_fields("result", rank)]
    line = element_at("a", rank).replace(f"at{dim} * params.a_stride{dim}", "0u")
    body = [
        *coordinates("", rank),
        f"    let line = {line};",
        f"    let target_at = {element_at('result', rank)};",
        f"    var total = {kind}(0);",
        "    for (var k = 0u; k < params.length; k++) {",
        "        let before = params.first + k * params.dilation;",
        f"        if (before > at{dim}) {{ break; }}",
        f"        let window = (at{dim} - before) / params.step;",
        f"        if (window < params.windows && window * params.step == at{dim} - before) {{",
        f"            total += a_array[line + window * params.a_stride{dim} + k * params.a_stride{rank}];",
        "        }",
        "    }",
        "    result[target_at] += total;",
    ]
    return build("add_windows", [("a_array", kind)], kind, parameters, "", "\n".join(body))
