"""``Tensor[NdArray, 2]`` at run time: the constructors of Tensor, held to a backend, a rank and a kind."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, get_args

from tinyburn.base.dtype import Bool, Float, Int
from tinyburn.base.errors import BackendMismatch, DTypeMismatch, ShapeError

from .checks import check_device

if TYPE_CHECKING:
    from .tensor import Tensor

_MAKERS = {"from_data", "zeros", "ones", "full", "empty", "random", "arange", "eye", "from_inner"}


class TypedTensor(types.GenericAlias):
    """A type alias like ``list[int]``, so annotations work; its constructors check what they made."""

    def __new__(cls, origin: Any, parameters: Any) -> TypedTensor:
        """``origin`` is `Tensor`; ``parameters`` is what stands in the brackets."""
        return super().__new__(cls, origin, parameters)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in _MAKERS:
            return found
        backend, rank, kind = _expectations(super().__getattribute__("__args__"))

        def make(*args: Any, **options: Any) -> Tensor[Any, Any, Any]:
            if name == "from_data" and kind in (Int, Bool) and len(args) < 3:
                device = options["device"] if "device" in options else list(args)[-1]
                check_device(name, device)
                options.setdefault("dtype", device.int_dtype if kind is Int else "bool")
            return _checked(name, found(*args, **options), backend, rank, kind)

        return make


def _expectations(parameters: tuple[Any, ...]) -> tuple[Any, int | None, Any]:
    """Backend, rank and kind from what stands in the brackets; a type variable expects nothing."""
    backend, rank, kind = [*parameters, None, None][:3]
    if not isinstance(rank, int):
        rank = next(iter(get_args(rank)), None)
    return (
        backend if isinstance(backend, type) else None,
        rank if isinstance(rank, int) else None,
        kind if kind in (Float, Int, Bool) else None,
    )


def _checked(
    op: str, tensor: Tensor[Any, Any, Any], backend: Any, rank: int | None, kind: Any
) -> Tensor[Any, Any, Any]:
    if backend is not None and tensor.backend is not backend:
        reason = f"the type says {backend.__name__}, the device belongs to {tensor.backend.__name__}"
        raise BackendMismatch(op, reason, hint=f"use {backend.__name__}.device()")
    if rank is not None and tensor.rank != rank:
        reason = f"the type says rank {rank}, the values have rank {tensor.rank}"
        raise ShapeError(op, reason, given={"shape": tensor.shape})
    if kind is not None and tensor.kind is not kind:
        reason = f"the type says {kind.__name__}, the values are {tensor.kind.__name__} ({tensor.dtype})"
        raise DTypeMismatch(op, reason, hint="give dtype=..., or convert the tensor")
    return tensor
