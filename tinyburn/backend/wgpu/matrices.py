"""The matrix product as an operation: which kernel runs, on which parts of which buffers."""

from __future__ import annotations

import struct
from functools import cache

from tinyburn.base.shape import broadcast_shape

from ..strided import Strided, StridedArray
from .commands import Kernel
from .elementwise import elementwise
from .gpu import WGSL, gpu_of
from .matmul import PARAMS, Tiling, choose_tiling, dispatches, params
from .matmul_text import matmul_source

MOST_TERMS = 4096
"""Terms of a sum in one call: a thread adds them one by one, and few, so that rounding errors do not add up. The
kernel with workgroup memory takes three turns a term, which is within `MOST_TURNS`."""


def matmul(a: StridedArray, b: StridedArray) -> StridedArray:
    """The product over the last two dims; the others broadcast."""
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    result = gpu_of(a).new((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    if not a.shape[-1]:
        return elementwise("copy", result, [0])
    if not result.size:
        return result
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
    for place, (a_half, b_half) in enumerate(zip(a.halves(rank - 1), b.halves(rank - 2), strict=True)):
        _run(result, a_half, b_half, accumulate or place > 0)


def _run_halves(result: StridedArray, a: StridedArray, b: StridedArray, accumulate: bool) -> None:
    rank = len(result.shape)
    *batch, m, n = result.shape
    sizes = [*batch, m, n, a.shape[-1]]
    # The first dim of a batch before all others: in half of a later one, the matrices would not lie evenly apart.
    dim = next((place for place, size in enumerate(batch) if size > 1), sizes.index(max(sizes)))
    if dim == rank:
        _run_half_sums(result, a, b, accumulate)
        return
    a_parts = [a, a] if dim == rank - 1 else a.halves(dim)
    b_parts = [b, b] if dim == rank - 2 else b.halves(dim)
    for part, a_part, b_part in zip(result.halves(dim), a_parts, b_parts, strict=True):
        _run(part, a_part, b_part, accumulate)


@cache
def matmul_kernel(tiling: Tiling, kind: str) -> Kernel:
    """The kernel of a tiling, for one WGSL type of the elements."""
    return Kernel("matmul", matmul_source(tiling, kind), 2, "<" + "I" * len(PARAMS))
