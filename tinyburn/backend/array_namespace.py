"""What NumPy and CuPy do alike, written once.

Both have the names of the Python array API standard, so one text can mean either: ``xp`` stands for the module. A
name of the standard that behaves differently in the two is not used here; each backend then has its own version.
The standard has no word for the layout in memory, which our promises are about, so two helpers add that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from .interface import Array, Backend, Dims, Number, Operand, Parts, joined
from .operations import OPERATIONS, called
from .room import NO_ROOM, explain, fitting

STANDARD = {
    **{"sub": "subtract", "mul": "multiply", "div": "divide", "powf": "pow", "neg": "negative"},
    **{"lower": "less", "lower_equal": "less_equal"},
    **{"is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite", "bool_not": "logical_not"},
    **{"bool_and": "logical_and", "bool_or": "logical_or", "bool_xor": "logical_xor"},
}
"""Elementwise operations that have another name in the standard: ours, and the standard's."""

COMPOSED_BUT_STANDARD = (
    *("tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log2", "log10", "hypot", "trunc", "is_finite"),
)
"""Elementwise operations that the interface composes, and the standard has."""

NUMPY_DTYPES = {member: np.dtype(member.value) for member in DType}
"""NumPy's object for each dtype, which is CuPy's too. To look it up by its name takes longer than to make zeros."""


class ArrayNamespace(Backend):
    """The base of a backend whose primitives are arrays of the standard. A subclass names the module in ``xp``.

    Its elementwise operations become methods when the subclass is made, by their names in the standard and through
    `_elementwise`. What the subclass defines itself is left alone.
    """

    xp: ClassVar[Any]
    formats: ClassVar[dict[DType, Any]] = NUMPY_DTYPES

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for operation in OPERATIONS.values():
            name = operation.name
            is_composed = name in COMPOSED_BUT_STANDARD and cls.composes(name)
            if operation.elementwise and (is_composed or getattr(cls, name) is getattr(Backend, name)):
                setattr(cls, name, staticmethod(called(f"{cls.__name__}.{name}", cls._elementwise(name))))

    @classmethod
    def _elementwise(cls, name: str) -> Callable[..., Array]:
        """A function of one or two arrays whose result is row-major, whatever the layout of the operands."""
        return lambda *operands: getattr(cls.xp, STANDARD.get(name, name))(*operands)

    # Written where another value was

    @classmethod
    def into(cls, target: Array, name: str, *arguments: Any) -> Array:
        if not (cls._is_row_major(target) and OPERATIONS[name].fits(target, arguments)):
            return super().into(target, name, *arguments)
        return cls._write(target, name, *arguments) if target.size else target

    @classmethod
    def _write(cls, target: Array, name: str, *arguments: Any) -> Array:
        """An operation, written into a row-major array of the shape and dtype of its result, if the library can."""
        return getattr(cls, name)(*arguments)

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
        # An index is an int64; for another dtype there is a second buffer for a moment.
        return cls.cast(cls.xp.argmax(a, axis=dim, keepdims=True), dtype)

    @classmethod
    def argmin(cls, a: Array, dim: int, dtype: DType) -> Array:
        return cls.cast(cls.xp.argmin(a, axis=dim, keepdims=True), dtype)

    @classmethod
    def argsort(cls, a: Array, dim: int, descending: bool, dtype: DType) -> Array:
        """Stable in both directions: what is sorted for the other one is read from its end, and so are its indices.

        Sorting needs some memory of its own for a moment, and so do the indices of the other direction.
        """
        if not descending:
            return cls.cast(cls._order(a, dim), dtype)
        order = cls.flip(cls._order(cls.flip(a, (dim,)), dim), (dim,))
        return cls.cast(cls.sub(a.shape[dim] - 1, order), dtype)

    @classmethod
    def _order(cls, a: Array, dim: int) -> Array:
        """The library's own argsort, which has NaN as the largest. That of the standard is stable."""
        return cls.xp.argsort(a, axis=dim)

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
    def flip(a: Array, dims: Dims) -> Array:
        return a[tuple([slice(None, None, -1 if dim in dims else 1) for dim in range(a.ndim)])]

    @classmethod
    @fitting
    def cat(cls, places: tuple[Parts, ...], *parts: Array) -> Array:
        out = cls.xp.empty(joined(places), dtype=parts[0].dtype)
        for place, part in zip(places, parts, strict=True):
            out[place] = part
        return out

    @staticmethod
    def slice(a: Array, parts: Parts) -> Array:
        return a[parts]

    @classmethod
    @fitting
    def slice_assign(cls, a: Array, parts: Parts, b: Array) -> Array:
        out = cls._copy(a)
        out[parts] = b
        return out

    @classmethod
    def _assign(cls, a: Array, parts: Parts, b: Array, out: Array) -> Array:
        """The same, written to ``out``. If that is ``a``, the part alone is written."""
        if not cls.shares_buffer(a, out):
            b = cls._copy(b) if cls.shares_buffer(b, out) else b
            out[...] = a
        out[parts] = b
        return out

    @classmethod
    def select(cls, a: Array, dim: int, indices: Array) -> Array:
        return cls.xp.take(a, indices, axis=dim)


@cache
def float_bounds(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The floats between which, without their fraction, lie all numbers of an Int dtype; the two are outside.

    A library leaves open what a cast to Int makes of other floats, and processors differ. Here it is always the nearest
    number of the dtype, and 0 for NaN: what Rust's ``as`` gives.
    """
    limits = np.iinfo(dtype)
    return limits.min - 1.0, limits.max + 1.0


# Calling NumPy, and CuPy where it uses NumPy, without NumPy's warnings


def _ignoring_errors() -> tuple[ContextVar[Any], Any]:
    """The variable in which NumPy keeps what to do about inf and NaN, and its value for doing nothing."""
    np.seterr(all="ignore")
    ((variable, value),) = copy_context().items()
    return variable, value


# inf and NaN are values here, not accidents: no warning for them, whatever the caller's own setting is. An
# ``np.errstate`` for each operation does this too, and takes longer than NumPy needs for a small sum. So the variable
# is looked up once, in an empty context, where it is the only one, and each operation sets it and sets it back.
_ERRORS, IGNORED = Context().run(_ignoring_errors)
ignore_errors, restore_errors = _ERRORS.set, _ERRORS.reset
"""``token = ignore_errors(IGNORED)``: from here on NumPy does not warn, until ``restore_errors(token)``."""


def quiet(function: Callable[..., Array]) -> Any:
    """A function of arrays during which NumPy does not warn, and which raises OutOfMemory where NumPy has no room."""

    def quietly(*arguments: Any) -> Array:
        token = ignore_errors(IGNORED)
        try:
            return quietly.__wrapped__(*arguments)  # type: ignore[attr-defined]
        except NO_ROOM as error:
            explain(error, quietly.__name__, arguments)
            raise
        finally:
            restore_errors(token)

    quietly.__wrapped__ = function  # type: ignore[attr-defined]  # here a reload finds and replaces it
    return called(getattr(function, "__qualname__", "quietly"), quietly)


def rowmajor(ufunc: np.ufunc) -> Any:
    """A ufunc whose result is always row-major; NumPy by itself would copy the layout of its operands."""

    def unary(a: Array) -> Any:
        token = ignore_errors(IGNORED)
        try:
            return ufunc(a, order="C")
        except NO_ROOM as error:
            explain(error, unary.__name__, (a,))
            raise
        finally:
            restore_errors(token)

    def binary(a: Operand, b: Operand) -> Any:
        token = ignore_errors(IGNORED)
        try:
            return ufunc(a, b, order="C")
        except NO_ROOM as error:
            explain(error, binary.__name__, (a, b))
            raise
        finally:
            restore_errors(token)

    return unary if ufunc.nin == 1 else binary
