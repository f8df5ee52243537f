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

from tinyburn.tensor.distribution import AnyDistribution
from tinyburn.tensor.dtype import DType
from tinyburn.tensor.shape import Shape

from .device import Device

Array: TypeAlias = Any
"""A primitive of the backend. Each has a ``shape``, a tuple of ints, and a ``dtype``, which is NumPy's everywhere."""

Number: TypeAlias = float | int
Operand: TypeAlias = Any  # an Array, or a Number
Dims: TypeAlias = tuple[int, ...]
Parts: TypeAlias = tuple[slice, ...]


class Required:
    """What only a backend itself can do; `Backend` composes the other operations from these."""

    has_values: ClassVar[bool] = True
    on_host: ClassVar[bool] = True
    is_decorator: ClassVar[bool] = False
    is_autodiff: ClassVar[bool] = False
    observed: ClassVar[bool] = False

    # Devices

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str = "int64"
    ) -> Device[Any]:
        """The device to make tensors on. ``which`` names one of `devices`; the dtypes are those of new tensors.

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

    # Two operands

    @staticmethod
    def add(a: Operand, b: Operand) -> Array:
        """``a + b``."""
        raise NotImplementedError

    @staticmethod
    def sub(a: Operand, b: Operand) -> Array:
        """``a - b``."""
        raise NotImplementedError

    @staticmethod
    def mul(a: Operand, b: Operand) -> Array:
        """``a * b``."""
        raise NotImplementedError

    @staticmethod
    def div(a: Operand, b: Operand) -> Array:
        """``a / b``, by IEEE 754: no error for a zero."""
        raise NotImplementedError

    @staticmethod
    def remainder(a: Operand, b: Operand) -> Array:
        """With the sign of ``b``."""
        raise NotImplementedError

    @staticmethod
    def powf(a: Operand, b: Operand) -> Array:
        """``a ** b``."""
        raise NotImplementedError

    @staticmethod
    def powf_scalar(a: Array, exponent: Number) -> Array:
        """``a ** exponent``."""
        raise NotImplementedError

    @staticmethod
    def maximum(a: Operand, b: Operand) -> Array:
        """NaN if either is."""
        raise NotImplementedError

    @staticmethod
    def minimum(a: Operand, b: Operand) -> Array:
        """NaN if either is."""
        raise NotImplementedError

    @staticmethod
    def equal(a: Operand, b: Operand) -> Array:
        """``a == b``, as Bool; NaN equals nothing."""
        raise NotImplementedError

    @staticmethod
    def not_equal(a: Operand, b: Operand) -> Array:
        """``a != b``, as Bool."""
        raise NotImplementedError

    @staticmethod
    def greater(a: Operand, b: Operand) -> Array:
        """``a > b``, as Bool."""
        raise NotImplementedError

    @staticmethod
    def greater_equal(a: Operand, b: Operand) -> Array:
        """``a >= b``, as Bool."""
        raise NotImplementedError

    @staticmethod
    def lower(a: Operand, b: Operand) -> Array:
        """``a < b``, as Bool."""
        raise NotImplementedError

    @staticmethod
    def lower_equal(a: Operand, b: Operand) -> Array:
        """``a <= b``, as Bool."""
        raise NotImplementedError

    @staticmethod
    def matmul(a: Array, b: Array) -> Array:
        """Over the last two dims; the others broadcast."""
        raise NotImplementedError

    @staticmethod
    def mask_where(a: Array, mask: Array, b: Operand) -> Array:
        """``b`` where the mask is True, else ``a``."""
        raise NotImplementedError

    # One operand

    @staticmethod
    def neg(a: Array) -> Array:
        """``-a``."""
        raise NotImplementedError

    @staticmethod
    def abs(a: Array) -> Array:
        """The distance from 0."""
        raise NotImplementedError

    @staticmethod
    def sign(a: Array) -> Array:
        """-1, 0 or 1."""
        raise NotImplementedError

    @staticmethod
    def exp(a: Array) -> Array:
        """e to the power a."""
        raise NotImplementedError

    @staticmethod
    def log(a: Array) -> Array:
        """The natural logarithm."""
        raise NotImplementedError

    @staticmethod
    def log1p(a: Array) -> Array:
        """``log(1 + a)``, exact for small a."""
        raise NotImplementedError

    @staticmethod
    def sqrt(a: Array) -> Array:
        """The square root."""
        raise NotImplementedError

    @staticmethod
    def sin(a: Array) -> Array:
        """The sine, in radians."""
        raise NotImplementedError

    @staticmethod
    def cos(a: Array) -> Array:
        """The cosine, in radians."""
        raise NotImplementedError

    @staticmethod
    def tanh(a: Array) -> Array:
        """The hyperbolic tangent."""
        raise NotImplementedError

    @staticmethod
    def erf(a: Array) -> Array:
        """The error function."""
        raise NotImplementedError

    @staticmethod
    def floor(a: Array) -> Array:
        """The next whole number below."""
        raise NotImplementedError

    @staticmethod
    def ceil(a: Array) -> Array:
        """The next whole number above."""
        raise NotImplementedError

    @staticmethod
    def round(a: Array) -> Array:
        """Half to even."""
        raise NotImplementedError

    @staticmethod
    def is_nan(a: Array) -> Array:
        """True for NaN."""
        raise NotImplementedError

    @staticmethod
    def is_inf(a: Array) -> Array:
        """True for inf and -inf."""
        raise NotImplementedError

    @staticmethod
    def bool_not(a: Array) -> Array:
        """True for False."""
        raise NotImplementedError

    @staticmethod
    def cast(a: Array, dtype: DType) -> Array:
        """A copy in another format; the operand itself if it has that format already."""
        raise NotImplementedError

    # Reductions keep their dims, at size 1

    @staticmethod
    def sum_dims(a: Array, dims: Dims) -> Array:
        """Adds."""
        raise NotImplementedError

    @staticmethod
    def mean_dims(a: Array, dims: Dims) -> Array:
        """Adds in float32 if the dtype is float16."""
        raise NotImplementedError

    @staticmethod
    def max_dims(a: Array, dims: Dims) -> Array:
        """NaN if there is one."""
        raise NotImplementedError

    @staticmethod
    def min_dims(a: Array, dims: Dims) -> Array:
        """NaN if there is one."""
        raise NotImplementedError

    @staticmethod
    def argmax(a: Array, dim: int, dtype: DType) -> Array:
        """The first place of the largest along one dim."""
        raise NotImplementedError

    @staticmethod
    def argmin(a: Array, dim: int, dtype: DType) -> Array:
        """The first place of the smallest along one dim."""
        raise NotImplementedError

    # Movement

    @staticmethod
    def reshape(a: Array, shape: Shape) -> Array:
        """A view if ``a`` is contiguous, else a copy."""
        raise NotImplementedError

    @staticmethod
    def permute(a: Array, axes: Dims) -> Array:
        """A view."""
        raise NotImplementedError

    @staticmethod
    def expand(a: Array, shape: Shape) -> Array:
        """A view, in which a dim of size 1 is read again and again."""
        raise NotImplementedError

    @staticmethod
    def slice(a: Array, parts: Parts) -> Array:
        """A view. One forward slice for each dim, with every bound given."""
        raise NotImplementedError

    @staticmethod
    def slice_assign(a: Array, parts: Parts, b: Array) -> Array:
        """``a`` with one part replaced."""
        raise NotImplementedError

    @staticmethod
    def gather(a: Array, dim: int, indices: Array) -> Array:
        """``a`` read along one dim, at one index for each element of the result."""
        raise NotImplementedError

    @staticmethod
    def scatter(a: Array, dim: int, indices: Array, b: Array) -> Array:
        """``a`` with ``b`` added at the indices, as often as each comes."""
        raise NotImplementedError

    @staticmethod
    def select(a: Array, dim: int, indices: Array) -> Array:
        """The entries of one dim, in the order of ``indices`` (rank 1)."""
        raise NotImplementedError

    @staticmethod
    def select_assign(a: Array, dim: int, indices: Array, b: Array) -> Array:
        """``a`` with ``b`` added at the places, as often as each comes."""
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
