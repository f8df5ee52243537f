"""What NumPy and CuPy do alike, written once.

Both have the names of the Python array API standard, so one text can mean either: ``xp`` stands for the module. A
name of the standard that behaves differently in the two is not used here; each backend then has its own version.
The standard has no word for the layout in memory, which our promises are about, so two helpers add that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from .defaults import Backend
from .interface import Array, Dims, Number, Parts

ELEMENTWISE = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "remainder": "remainder",
    "powf": "pow",
    "maximum": "maximum",
    "minimum": "minimum",
    "equal": "equal",
    "not_equal": "not_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "lower": "less",
    "lower_equal": "less_equal",
    "neg": "negative",
    "abs": "abs",
    "sign": "sign",
    "exp": "exp",
    "log": "log",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "floor": "floor",
    "ceil": "ceil",
    "round": "round",
    "is_nan": "isnan",
    "is_inf": "isinf",
    "bool_not": "logical_not",
}
"""Our name of an operation, and the standard's."""

FORMATS = {member: np.dtype(member.value) for member in DType}
"""NumPy's object for each dtype, which is CuPy's too. To look it up by its name takes longer than to make zeros."""


class ArrayNamespace(Backend):
    """The base of a backend whose primitives are arrays of the standard. A subclass names the module in ``xp``.

    The operations of the table become methods when the subclass is made, through its `_elementwise`. What the
    subclass defines itself is left alone.
    """

    xp: ClassVar[Any]
    formats: ClassVar[dict[DType, Any]] = FORMATS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, standard in ELEMENTWISE.items():
            if getattr(cls, name) is getattr(Backend, name):
                setattr(cls, name, staticmethod(cls._elementwise(standard)))

    @classmethod
    def _elementwise(cls, standard: str) -> Callable[..., Array]:
        """A function of one or two arrays whose result is row-major, whatever the layout of the operands."""
        function: Callable[..., Array] = getattr(cls.xp, standard)
        return function

    # Layout

    @staticmethod
    def _is_row_major(a: Array) -> bool:
        contiguous: bool = a.flags.c_contiguous
        return contiguous

    @staticmethod
    def _copy(a: Array) -> Array:
        """The values in a new row-major buffer."""
        return a.copy()

    @staticmethod
    def _convert(a: Array, dtype: Any) -> Array:
        """The values in a new row-major buffer, in another format."""
        return a.astype(dtype, order="C")

    # Elementwise

    @classmethod
    def powf_scalar(cls, a: Array, exponent: Number) -> Array:
        if exponent == 2:
            return cls.mul(a, a)  # many times faster than the general power
        return cls.powf(a, exponent)

    @classmethod
    def cast(cls, a: Array, dtype: DType) -> Array:
        wanted = cls.formats[dtype]
        return a if a.dtype == wanted else cls._convert(a, wanted)

    # Reductions

    @classmethod
    def sum_dims(cls, a: Array, dims: Dims) -> Array:
        return cls.xp.sum(a, axis=dims, dtype=a.dtype, keepdims=True)

    @classmethod
    def mean_dims(cls, a: Array, dims: Dims) -> Array:
        is_half = a.dtype == cls.formats.get(DType.FLOAT16)
        total = cls.xp.sum(a, axis=dims, dtype=cls.formats[DType.FLOAT32] if is_half else a.dtype, keepdims=True)
        total /= a.size // max(total.size, 1)
        return cls._convert(total, a.dtype) if is_half else total

    @classmethod
    def max_dims(cls, a: Array, dims: Dims) -> Array:
        return cls.xp.max(a, axis=dims, keepdims=True)

    @classmethod
    def min_dims(cls, a: Array, dims: Dims) -> Array:
        return cls.xp.min(a, axis=dims, keepdims=True)

    @classmethod
    def argmax(cls, a: Array, dim: int, dtype: DType) -> Array:
        # Places are counted in int64; for another dtype there is a second buffer for a moment.
        return cls.cast(cls.xp.argmax(a, axis=dim, keepdims=True), dtype)

    @classmethod
    def argmin(cls, a: Array, dim: int, dtype: DType) -> Array:
        return cls.cast(cls.xp.argmin(a, axis=dim, keepdims=True), dtype)

    # Movement

    @classmethod
    def reshape(cls, a: Array, shape: Shape) -> Array:
        if cls._is_row_major(a):
            return cls.xp.reshape(a, shape)
        out = cls.xp.empty(shape, dtype=a.dtype)
        cls.xp.reshape(out, a.shape)[...] = a
        return out

    @classmethod
    def permute(cls, a: Array, axes: Dims) -> Array:
        return cls.xp.permute_dims(a, axes)

    @classmethod
    def expand(cls, a: Array, shape: Shape) -> Array:
        return cls.xp.broadcast_to(a, shape)

    @staticmethod
    def slice(a: Array, parts: Parts) -> Array:
        return a[parts]

    @classmethod
    def slice_assign(cls, a: Array, parts: Parts, b: Array) -> Array:
        out = cls._copy(a)
        out[parts] = b
        return out

    @classmethod
    def select(cls, a: Array, dim: int, indices: Array) -> Array:
        return cls.xp.take(a, indices, axis=dim)
