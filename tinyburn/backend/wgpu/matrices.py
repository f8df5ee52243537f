"""The matrix product as an operation: which kernel runs, on which parts of which buffers."""

from __future__ import annotations

import struct
from functools import cache

from tinyburn.tensor.shape import broadcast_shape

from ..strided import StridedArray
from .commands import Kernel
from .elementwise import elementwise
from .gpu import WGSL, gpu_of
from .matmul import PARAMS, Matrices, Tiling, choose_tiling, dispatches, params
from .matmul_text import matmul_source


def matmul(a: StridedArray, b: StridedArray) -> StridedArray:
    """The product over the last two dims; the others broadcast."""
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    result = gpu_of(a).new((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    if not a.shape[-1]:
        return elementwise("copy", result, [0])
    if result.size:
        _run(result, a.expanded((*batch, *a.shape[-2:])), b.expanded((*batch, *b.shape[-2:])))
    return result


def _run(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool = False) -> None:
    """In one call if a kernel can see all of every array, else in two halves of the longest dim."""
    gpu = gpu_of(result)
    if not all(map(gpu.can_bind, (result, a, b))):
        _run_halves(result, a, b, accumulate)
        return
    bindings, (result_start, a_start, b_start) = zip(*map(gpu.bind, (result, a, b)), strict=True)
    m, n = result.shape[-2:]
    tiling = choose_tiling(m, n, workgroup_memory=not gpu.is_software)
    kernel = matmul_kernel(tiling, WGSL[a.dtype])
    operands = Matrices(a.shape, a.strides, a_start), Matrices(b.shape, b.strides, b_start)
    for dispatch in dispatches(tiling, m, n, result.size // (m * n)):
        strides = (result.strides[-2], result.strides[-3] if len(result.shape) > 2 else 0)
        numbers = params(*operands, dispatch, result_start, accumulate, strides)
        gpu.commands.run(
            kernel, (*bindings[1:], bindings[0]), struct.pack(kernel.parameters, *numbers), dispatch.workgroups
        )


def _run_halves(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool) -> None:
    rank = len(result.shape)
    *batch, m, n = result.shape
    sizes = [*batch, m, n, a.shape[-1]]
    # The first dim of a batch before all others: in half of a later one, the matrices would not lie evenly apart.
    dim = next((place for place, size in enumerate(batch) if size > 1), sizes.index(max(sizes)))
    if dim == rank:  # the dim that is summed: one half, then the other added to it
        for place, (a_half, b_half) in enumerate(zip(a.halves(rank - 1), b.halves(rank - 2), strict=True)):
            _run(result, a_half, b_half, accumulate or place > 0)
        return
    a_parts = [a, a] if dim == rank - 1 else a.halves(dim)
    b_parts = [b, b] if dim == rank - 2 else b.halves(dim)
    for part, a_part, b_part in zip(result.halves(dim), a_parts, b_parts, strict=True):
        _run(part, a_part, b_part, accumulate)


@cache
def matmul_kernel(tiling: Tiling, kind: str) -> Kernel:
    """The kernel of a tiling, for one WGSL type of the elements."""
    return Kernel("matmul", matmul_source(tiling, kind), 2, "<" + "I" * len(PARAMS))
