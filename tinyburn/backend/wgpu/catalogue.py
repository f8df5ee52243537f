"""The kernels for reading: the text that runs for an operation, in its plainest form."""

from __future__ import annotations

from collections.abc import Callable

from tinyburn.base.errors import BackendMismatch

from ..operations import OPERATIONS
from .commands import Kernel
from .elementwise import ELEMENTWISE, TRUTHS, line_of
from .elementwise_text import Read, packed_kernel
from .indexing import gather_kernel, scatter_kernel
from .matmul import choose_tiling
from .matrices import matmul_kernel
from .random import random_kernel
from .reductions import BETTER, FOLDS, reduction_kernel

_OTHERS: dict[str, Callable[[], Kernel]] = {
    "matmul": lambda: matmul_kernel(choose_tiling(1024, 1024), "f32"),
    "gather": lambda: gather_kernel("f32", 2, 0),
    "scatter": lambda: scatter_kernel("f32", 2, 0),
    "random": lambda: random_kernel("Normal"),
}


def kernel_text(operation: str) -> str:
    """The WGSL of an operation on float32 arrays.

    Elementwise operations are shown for arrays that lie in memory alike, reductions for one dim, matmul for large
    matrices, indexing for rank 2 and dim 0, random for a normal distribution.

    Raises BackendMismatch for an operation that has no kernel of its own.
    """
    if operation in ELEMENTWISE and operation in OPERATIONS:
        return _elementwise(operation).source
    if operation in FOLDS or operation in BETTER:
        return reduction_kernel(operation, "f32", "f32" if operation in FOLDS else "i32", 1, 1, False).source
    if operation in _OTHERS:
        return _OTHERS[operation]().source
    known = ", ".join([*(name for name in ELEMENTWISE if name in OPERATIONS), *FOLDS, *BETTER, *_OTHERS])
    reason = f"{operation!r} has no kernel of its own: it is composed of others, or moves no data"
    raise BackendMismatch("Wgpu.wgsl", reason, hint=f"choose one of {known}")


def _elementwise(operation: str) -> Kernel:
    """On arrays that lie in memory alike. A mask is Bool, which a shader stores as u32."""
    found = OPERATIONS[operation]
    tensors = [found.parameters[place] for place in found.tensors]
    ways = [("u32" if name == "mask" else "f32", Read.VECTOR) for name in tensors]
    ways += [("", Read.NUMBER)] * (len(found.parameters) - len(tensors))
    result = "u32" if operation in TRUTHS else "f32"
    return packed_kernel(operation, line_of(operation, ["f32"], result), tuple(ways), result, 1)
