"""The interface that every backend has: what it must do, and what it can leave to a default.

A backend is a class that is never instantiated. Its methods take and return *primitives*, whatever the backend
computes with, and check nothing: the tensor has done that. Operands have equal ranks, one device and one dtype,
and shapes that broadcast; dims are not negative; a number may stand in place of one operand of a binary op.

Three promises make every backend count alike:

- a result is a new row-major buffer, and no other buffer is allocated for it, or
- it is a view of the first operand: `permute`, `expand` and `slice` always, `reshape` if its operand is contiguous;
- values never change once they are made.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from .device import Device

Array: TypeAlias = Any
"""A primitive of the backend. Each has a ``shape``, a tuple of ints, and a ``dtype``, which is NumPy's everywhere."""

Number: TypeAlias = float | int
Operand: TypeAlias = Any  # an Array, or a Number
Dims: TypeAlias = tuple[int, ...]
Parts: TypeAlias = tuple[slice, ...]


class Interface:
    """Devices, the way in and out, and what a backend can say about its primitives. `Required` adds the operations."""

    has_values: ClassVar[bool] = True
    on_host: ClassVar[bool] = True
    is_decorator: ClassVar[bool] = False
    is_autodiff: ClassVar[bool] = False
    observed: ClassVar[bool] = False

    # Devices

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str | None = None
    ) -> Device[Any]:
        """The device to make tensors on. ``which`` names one of `devices`; the dtypes are those of new tensors.

        ``int_dtype`` is the widest that the backend has unless given: int64, on Wgpu int32.

        Raises BackendUnavailable, with what is missing, if there is no such device here.
        """
        raise NotImplementedError

    @classmethod
    def devices(cls) -> list[str]:
        """The names of the devices that work now."""
        raise NotImplementedError

    @classmethod
    def why_unavailable(cls) -> str | None:
        """What is missing, what was found instead, and the way out; None if the backend works here."""
        return None

    # In and out

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Device[Any]) -> Array:
        """A copy of values on the host."""
        raise NotImplementedError

    @staticmethod
    def to_numpy(a: Array) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        raise NotImplementedError

    @staticmethod
    def full(shape: Shape, value: Number, dtype: DType, device: Device[Any]) -> Array:
        """Every element one value."""
        raise NotImplementedError

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Device[Any]) -> Array:
        """Independent draws by the device's generator."""
        raise NotImplementedError

    # About primitives

    @staticmethod
    def shares_buffer(a: Array, b: Array) -> bool:
        """Whether two primitives are views of one buffer."""
        raise NotImplementedError

    @staticmethod
    def index_bounds(a: Array) -> tuple[int, int] | None:
        """The smallest and largest of some indices; None if there are none or it would cost too much to know."""
        return None

    @staticmethod
    def detach(a: Array) -> Array:
        """The primitive without what a decorator knows of it."""
        return a

    @staticmethod
    def note(a: Array, event: str, detail: str = "") -> None:
        """What a layer above has done with a primitive: kept it for backward, made it a parameter, and so on.

        Only a `Traced` backend listens, and a decorator passes it on; ``observed`` says whether anybody does.
        """


def size_of(shape: Shape, dims: Dims) -> int:
    """How many elements one result of a reduction gathers."""
    return prod(shape[dim] for dim in dims)
