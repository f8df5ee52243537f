"""Reading and adding at indices. Adding has to be in a fixed order, and WGSL has no atomic addition of floats anyway.

So no two threads ever add to the same element: each owns a piece of a line of the result, looks through all indices of
that line, and adds what falls into its piece. What hits one element is added in the order of the indices, as NumPy
does it, and the bits are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from tinyburn.base.shape import Shape, num_elements

from ..strided import StridedArray
from .commands import Kernel
from .elementwise import copied, seen_whole
from .gpu import WGSL, Gpu, gpu_of, part_of, too_large_to_see
from .kernel import MOST_TURNS, build, coordinates, element_at, pack, shape_fields, walk_fields, walks

_FAULTS = [("faults", "atomic<u32>")]
_BUSY = 4096  # threads that keep a GPU busy; more pieces of a line would only look through its indices more often
_BUSY_SOFTWARE = 64  # the same for a driver on the CPU


def gather(a: StridedArray, dim: int, indices: StridedArray, name: str = "gather") -> StridedArray:
    """``a`` read along one dim, at one index for each element of the result.

    The host does not see the indices. An index outside the dim gives NaN, or 0 in an Int or Bool array; the error comes
    when values are read, see `Faults`.
    """
    gpu = gpu_of(a)
    result = gpu.new(indices.shape, a.dtype)
    if not result.size:
        return result
    bindings, starts, strides = _bind_all(name, gpu, (seen_whole(a), seen_whole(indices), result))
    kernel = gather_kernel(WGSL[a.dtype], len(a.shape), dim)
    nothing = math.nan if a.dtype.kind == "f" else 0
    numbers = [*indices.shape, *walks(starts, strides), nothing]
    _run_watched(name, kernel, gpu, bindings, a.shape, dim, result.size, numbers)
    return result


def scatter(a: StridedArray, dim: int, indices: StridedArray, b: StridedArray, name: str = "scatter") -> StridedArray:
    """``a`` with ``b`` added at the indices, as often as each comes. An index outside the dim adds nothing."""
    result = copied(a)
    if not indices.size:
        return result
    indices, b = seen_whole(indices), seen_whole(b)
    for start in range(0, indices.shape[dim], MOST_TURNS):
        stop = min(start + MOST_TURNS, indices.shape[dim])
        _add_at(name, result, dim, part_of(indices, dim, start, stop), part_of(b, dim, start, stop))
    return result


def _add_at(name: str, result: StridedArray, dim: int, indices: StridedArray, b: StridedArray) -> None:
    """One call of the kernel, which adds to the result itself: no more indices than a thread may look through."""
    gpu = gpu_of(result)
    bindings, starts, strides = _bind_all(name, gpu, (indices, b, result))
    lines = part_of(indices, dim, 0, 1).shape
    busy = _BUSY_SOFTWARE if gpu.is_software else _BUSY
    pieces = max(1, min(result.shape[dim], busy // num_elements(lines)))
    piece = -(-result.shape[dim] // pieces)
    kernel = scatter_kernel(WGSL[b.dtype], len(b.shape), dim)
    numbers = [indices.shape[dim], pieces, piece, *lines, *walks(starts, strides)]
    _run_watched(name, kernel, gpu, bindings, result.shape, dim, num_elements(lines) * pieces, numbers)


def _run_watched(
    name: str, kernel: Kernel, gpu: Gpu, bindings: Any, shape: Shape, dim: int, threads: int, numbers: list[Any]
) -> None:
    """Starts a kernel that writes down wrong indices. Under one lock, so that no other thread's check comes between."""
    with gpu.commands.lock:
        parameters, groups = pack(kernel, threads, [shape[dim], gpu.faults.expect(name, dim, shape), *numbers])
        gpu.commands.run(kernel, (*bindings, gpu.faults.binding), parameters, groups)


def along(indices: StridedArray, dim: int, like: StridedArray) -> StridedArray:
    """Indices of rank 1 as those of `gather`: the same ones for every index in the other dims."""
    rank = len(like.shape)
    strides = tuple(indices.strides[0] if axis == dim else 0 for axis in range(rank))
    return indices.view((*like.shape[:dim], indices.shape[0], *like.shape[dim + 1 :]), strides)


def _bind_all(asked: str, gpu: Gpu, arrays: Sequence[StridedArray]) -> tuple[Any, Any, Any]:
    """Every array whole, since an index may point anywhere: bindings, starts and strides."""
    for array in arrays:
        if not gpu.can_bind(array):
            raise too_large_to_see(asked, gpu, array)
    bindings, starts = zip(*map(gpu.bind, arrays), strict=True)
    return bindings, starts, [array.strides for array in arrays]


@cache
def gather_kernel(kind: str, rank: int, dim: int) -> Kernel:
    """One element a thread: it has the same indices in both arrays, but along ``dim`` the one that was read."""
    parameters = [("dim_size", "u32"), ("fault", "u32"), *shape_fields("", rank)]
    parameters += [field for name in ("a", "indices", "result") for field in walk_fields(name, rank)]
    parameters += [("nothing", kind)]
    found = element_at("a", rank).replace(f"at{dim} ", "u32(index) ")  # as in the result, but for this one dim
    body = [
        *coordinates("", rank),
        f"    let index = indices_array[{element_at('indices', rank)}];",
        "    var value = params.nothing;",
        "    if (u32(index) < params.dim_size) {",  # as u32, a negative number is a very large one
        f"        value = a_array[{found}];",
        "    } else {",
        "        atomicMax(&faults[params.fault], u32(index));",
        "    }",
        f"    result[{element_at('result', rank)}] = value;",
    ]
    arrays = [("a_array", kind), ("indices_array", "i32")]
    return build("gather", arrays, kind, parameters, "", "\n".join(body), _FAULTS)


@cache
def scatter_kernel(kind: str, rank: int, dim: int) -> Kernel:
    """A thread for each piece of each line along ``dim``."""
    parameters = [(name, "u32") for name in ("dim_size", "fault", "length", "pieces", "piece")]
    parameters += shape_fields("", rank)
    parameters += [field for name in ("indices", "b", "result") for field in walk_fields(name, rank)]
    starts = [f"    let {name}_line = {element_at(name, rank)};" for name in ("indices", "b", "result")]
    walk = f"""    let first = (i % params.pieces) * params.piece;
    let after = min(first + params.piece, params.dim_size);
    for (var k = 0u; k < params.length; k++) {{
        let index = u32(indices_array[indices_line + k * params.indices_stride{dim}]);
        if (index >= params.dim_size) {{
            atomicMax(&faults[params.fault], index);
        }} else if (index >= first && index < after) {{
            result[result_line + index * params.result_stride{dim}] += b_array[b_line + k * params.b_stride{dim}];
        }}
    }}"""
    body = "\n".join([*coordinates("", rank, "i / params.pieces"), *starts, walk])
    return build("scatter", [("indices_array", "i32"), ("b_array", kind)], kind, parameters, "", body, _FAULTS)
