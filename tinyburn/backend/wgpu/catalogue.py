"""The kernels for reading: the text that runs for an operation, in its plainest form."""

from __future__ import annotations

from collections.abc import Callable

from tinyburn.tensor.errors import BackendMismatch, explain

from ..operations import OPERATIONS
from .commands import Kernel
from .elementwise import ELEMENTWISE, TRUTHS, packed_kernel
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
        kinds = ["u32" if name == "mask" else "f32" for name in _tensor_names(operation)]
        return packed_kernel(operation, _with_numbers(operation, kinds), _result(operation)).source
    if operation in FOLDS or operation in BETTER:
        return reduction_kernel(operation, "f32", "f32" if operation in FOLDS else "i32", 1, 1).source
    if operation in _OTHERS:
        return _OTHERS[operation]().source
    known = ", ".join([*(name for name in ELEMENTWISE if name in OPERATIONS), *FOLDS, *BETTER, *_OTHERS])
    reason = f"{operation!r} has no kernel of its own: it is composed of others, or moves no data"
    raise BackendMismatch(explain("Wgpu.wgsl", [reason], hint=f"choose one of {known}"))


def _tensor_names(operation: str) -> list[str]:
    found = OPERATIONS[operation]
    return [found.parameters[place] for place in found.tensors]


def _with_numbers(operation: str, kinds: list[str]) -> tuple[str, ...]:
    """One more "" for each parameter that is always a number."""
    return (*kinds, *[""] * (len(OPERATIONS[operation].parameters) - len(kinds)))


def _result(operation: str) -> str:
    return "u32" if operation in TRUTHS else "f32"
