"""Operations that treat each element alone: arithmetic, functions, comparisons, masks, casts."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from tinyburn.base.dtype import Bool, BoolFormat, DType, Float, FloatFormat, Format, Int, IntFormat, to_dtype
from tinyburn.base.shape import D1

from . import checks
from .base import B, D, K, Scalar, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

Numeric: TypeAlias = "Elementwise[B, D, Float] | Elementwise[B, D, Int]"
"""``self`` of whatever truth values do not have."""


class Elementwise(TensorBase[B, D, K]):
    """Binary operations want two tensors of equal rank, or a tensor and a Python number.

    A dim of size 1 stretches to the other's size; nothing else is adjusted. The result keeps the dtype.
    Raises BackendMismatch, DeviceMismatch, DTypeMismatch or ShapeError, with every reason, when they differ.
    """

    __slots__ = ()

    # Arithmetic

    def add(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """``x + y``."""
        return self._new(self.device.backend.add(self.primitive, self._operand("add", other)))

    def sub(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """``x - y``."""
        return self._new(self.device.backend.sub(self.primitive, self._operand("sub", other)))

    def mul(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """``x * y``, element by element. For the matrix product see `matmul`."""
        return self._new(self.device.backend.mul(self.primitive, self._operand("mul", other)))

    def div(self: Elementwise[B, D, Float], other: Tensor[B, D, Float] | Scalar) -> Tensor[B, D, Float]:
        """``x / y`` for Float tensors; ``x / 0`` is inf, and ``0 / 0`` is NaN, as in IEEE 754."""
        return self._new(self.device.backend.div(self._of_kind("div", "float"), self._operand("div", other)))

    def remainder(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """``x % y``, with the sign of ``y`` as in Python: ``x - y * floor(x / y)``."""
        return self._new(self.device.backend.remainder(self.primitive, self._operand("remainder", other)))

    def fmod(self: Elementwise[B, D, Float], other: Tensor[B, D, Float] | Scalar) -> Tensor[B, D, Float]:
        """What ``x / y`` leaves, with the sign of ``x``: ``x - y * trunc(x / y)``. See `remainder` for Python's."""
        return self._new(self.device.backend.fmod(self._of_kind("fmod", "float"), self._operand("fmod", other)))

    def powf(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """``x ** y``. A number as the exponent is `powf_scalar`, which also takes negative bases."""
        if isinstance(other, TensorBase):
            return self._new(self.device.backend.powf(self._of_kind("powf", "float"), self._operand("powf", other)))
        power: Tensor[B, D, Any] = self.powf_scalar(other)
        return power

    def powf_scalar(self: Numeric[B, D], exponent: Scalar) -> Tensor[B, D, K]:
        """``x ** exponent`` for one number."""
        power = checks.check_scalar("powf_scalar", self, exponent)
        if power < 0 and self.primitive.dtype.kind != "f":
            raise checks.reject_dtype("powf_scalar with a negative exponent", self, "float")
        return self._new(self.device.backend.powf_scalar(self._of_kind("powf_scalar", "number"), power))

    powi_scalar = powf_scalar

    def maximum(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """The larger of the two, element by element; NaN if either is. In a tie the gradient is shared evenly."""
        return self._new(self.device.backend.maximum(self.primitive, self._operand("maximum", other)))

    def minimum(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, K]:
        """The smaller of the two, element by element; NaN if either is. In a tie the gradient is shared evenly."""
        return self._new(self.device.backend.minimum(self.primitive, self._operand("minimum", other)))

    def clamp(self: Numeric[B, D], min: Scalar, max: Scalar) -> Tensor[B, D, K]:
        """Each element moved into ``[min, max]``. The slope is 1 inside, bounds included, and 0 outside."""
        low, high = checks.check_scalar("clamp", self, min), checks.check_scalar("clamp", self, max)
        return self._new(self.device.backend.clamp(self._of_kind("clamp", "number"), low, high))

    def clamp_min(self, min: float) -> Tensor[B, D, K]:
        """Each element moved up to ``min`` if it is below. The slope is 1 from the bound on, and 0 below."""
        low = checks.check_scalar("clamp_min", self, min)
        return self._new(self.device.backend.clamp_min(self._of_kind("clamp_min", "number"), low))

    def clamp_max(self, max: float) -> Tensor[B, D, K]:
        """Each element moved down to ``max`` if it is above. The slope is 1 up to the bound, and 0 above."""
        high = checks.check_scalar("clamp_max", self, max)
        return self._new(self.device.backend.clamp_max(self._of_kind("clamp_max", "number"), high))

    __add__ = __radd__ = add
    __sub__ = sub
    __mul__ = __rmul__ = mul
    __truediv__ = div
    __mod__ = remainder
    __pow__ = powf

    def __rsub__(self: Numeric[B, D], other: Scalar) -> Tensor[B, D, K]:
        return self._new(self.device.backend.sub(self._operand("sub", other), self.primitive))

    def __rtruediv__(self: Elementwise[B, D, Float], other: Scalar) -> Tensor[B, D, Float]:
        array = self._of_kind("div", "float")
        return self._new(self.device.backend.div(self._operand("div", other), array))

    def __rmod__(self: Numeric[B, D], other: Scalar) -> Tensor[B, D, K]:
        return self._new(self.device.backend.remainder(self._operand("remainder", other), self.primitive))

    def __rpow__(self: Elementwise[B, D, Float], other: Scalar) -> Tensor[B, D, Float]:
        array = self._of_kind("powf", "float")
        return self._new(self.device.backend.powf(self._operand("powf", other), array))

    # Functions of one number

    def neg(self: Numeric[B, D]) -> Tensor[B, D, K]:
        """``-x``."""
        return self._new(self.device.backend.neg(self._of_kind("neg", "number")))

    def abs(self: Numeric[B, D]) -> Tensor[B, D, K]:
        """The distance from 0. Its slope at 0 is taken as 0."""
        return self._new(self.device.backend.abs(self._of_kind("abs", "number")))

    def sign(self: Numeric[B, D]) -> Tensor[B, D, K]:
        """-1, 0 or 1."""
        return self._new(self.device.backend.sign(self._of_kind("sign", "number")))

    __neg__ = neg
    __abs__ = abs

    def recip(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """``1 / x``."""
        return self.__rtruediv__(1.0)

    def square(self: Numeric[B, D]) -> Tensor[B, D, K]:
        """``x * x``."""
        return self._new(self.device.backend.powf_scalar(self._of_kind("square", "number"), 2))

    def exp(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """e to the power x."""
        return self._new(self.device.backend.exp(self._of_kind("exp", "float")))

    def exp2(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """2 to the power x."""
        return self._new(self.device.backend.powf(2.0, self._of_kind("exp2", "float")))

    def log(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The natural logarithm; -inf at 0, NaN below."""
        return self._new(self.device.backend.log(self._of_kind("log", "float")))

    def log2(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The logarithm to base 2; -inf at 0, NaN below."""
        return self._new(self.device.backend.log2(self._of_kind("log2", "float")))

    def log10(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The logarithm to base 10; -inf at 0, NaN below."""
        return self._new(self.device.backend.log10(self._of_kind("log10", "float")))

    def log1p(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """``log(1 + x)``, exact for small x."""
        return self._new(self.device.backend.log1p(self._of_kind("log1p", "float")))

    def sqrt(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The square root; NaN below 0. Its slope at 0 is inf, but a gradient of 0 stays 0 there."""
        return self._new(self.device.backend.sqrt(self._of_kind("sqrt", "float")))

    def sin(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The sine of an angle in radians."""
        return self._new(self.device.backend.sin(self._of_kind("sin", "float")))

    def cos(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The cosine of an angle in radians."""
        return self._new(self.device.backend.cos(self._of_kind("cos", "float")))

    def tanh(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The hyperbolic tangent, from -1 to 1."""
        return self._new(self.device.backend.tanh(self._of_kind("tanh", "float")))

    def erf(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The error function, the integral of the bell curve that GELU uses."""
        return self._new(self.device.backend.erf(self._of_kind("erf", "float")))

    def floor(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The next whole number below. Its slope is 0."""
        return self._new(self.device.backend.floor(self._of_kind("floor", "float")))

    def ceil(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The next whole number above. Its slope is 0."""
        return self._new(self.device.backend.ceil(self._of_kind("ceil", "float")))

    def round(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The nearest whole number, the even one of two. Its slope is 0."""
        return self._new(self.device.backend.round(self._of_kind("round", "float")))

    def trunc(self: Elementwise[B, D, Float]) -> Tensor[B, D, Float]:
        """The next whole number towards 0. Its slope is 0."""
        return self._new(self.device.backend.trunc(self._of_kind("trunc", "float")))

    # Comparisons

    def equal(self, other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x == y`` element by element; NaN equals nothing."""
        return self._new(self.device.backend.equal(self.primitive, self._operand("equal", other)))

    def not_equal(self, other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x != y`` element by element."""
        return self._new(self.device.backend.not_equal(self.primitive, self._operand("not_equal", other)))

    def greater(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x > y`` element by element."""
        return self._new(self.device.backend.greater(self.primitive, self._operand("greater", other)))

    def greater_equal(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x >= y`` element by element."""
        return self._new(self.device.backend.greater_equal(self.primitive, self._operand("greater_equal", other)))

    def lower(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x < y`` element by element."""
        return self._new(self.device.backend.lower(self.primitive, self._operand("lower", other)))

    def lower_equal(self: Numeric[B, D], other: Tensor[B, D, K] | Scalar) -> Tensor[B, D, Bool]:
        """``x <= y`` element by element."""
        return self._new(self.device.backend.lower_equal(self.primitive, self._operand("lower_equal", other)))

    __gt__, __ge__, __lt__, __le__ = greater, greater_equal, lower, lower_equal
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Tensor[B, D, Bool]:  # type: ignore[override]
        return self.equal(cast(Any, other))

    def __ne__(self, other: object) -> Tensor[B, D, Bool]:  # type: ignore[override]
        return self.not_equal(cast(Any, other))

    def is_nan(self: Elementwise[B, D, Float]) -> Tensor[B, D, Bool]:
        """True where an element is not a number."""
        return self._new(self.device.backend.is_nan(self._of_kind("is_nan", "float")))

    def is_inf(self: Elementwise[B, D, Float]) -> Tensor[B, D, Bool]:
        """True where an element is inf or -inf."""
        return self._new(self.device.backend.is_inf(self._of_kind("is_inf", "float")))

    def is_finite(self: Elementwise[B, D, Float]) -> Tensor[B, D, Bool]:
        """False where an element is NaN, inf or -inf."""
        return self._new(self.device.backend.is_finite(self._of_kind("is_finite", "float")))

    def contains_nan(self: Elementwise[B, D, Float]) -> Tensor[B, D1, Bool]:
        """True if at least one element is not a number."""
        return self._new(self.device.backend.any(self.device.backend.is_nan(self._of_kind("contains_nan", "float"))))

    def is_close(
        self: Elementwise[B, D, Float], other: Tensor[B, D, Float] | Scalar, rtol: Scalar = 1e-5, atol: Scalar = 1e-8
    ) -> Tensor[B, D, Bool]:
        """True where ``abs(x - y) <= atol + rtol * abs(y)``. An infinity is close to itself alone, NaN to nothing."""
        backend, mine = self.device.backend, self._of_kind("is_close", "float")
        theirs: Any = self._operand("is_close", other)
        relative, absolute = (checks.check_scalar("is_close", self, number) for number in (rtol, atol))
        if not isinstance(other, TensorBase):
            theirs = backend.full((1,) * self.rank, theirs, self.dtype, self.device)
        allowed = backend.add(backend.mul(backend.abs(theirs), relative), absolute)
        is_near = backend.lower_equal(backend.abs(backend.sub(mine, theirs)), allowed)
        is_near = backend.bool_and(is_near, backend.is_finite(theirs))
        return self._new(backend.bool_or(is_near, backend.equal(mine, theirs)))

    def all_close(
        self: Elementwise[B, D, Float], other: Tensor[B, D, Float] | Scalar, rtol: Scalar = 1e-5, atol: Scalar = 1e-8
    ) -> builtins.bool:
        """Whether every element is close, as in `is_close`. Raises BackendMismatch on a backend without values."""
        is_near: Tensor[B, D, Bool] = self.is_close(other, rtol, atol)
        return builtins.bool(is_near.all().into_scalar())

    def bool_not(self: Elementwise[B, D, Bool]) -> Tensor[B, D, Bool]:
        """True where a mask is False."""
        return self._new(self.device.backend.bool_not(self._of_kind("bool_not", "bool")))

    def bool_and(self: Elementwise[B, D, Bool], other: Tensor[B, D, Bool] | bool) -> Tensor[B, D, Bool]:
        """``x & y``: True where both masks are. Python's ``and`` asks for a single truth value instead."""
        mine = self._of_kind("bool_and", "bool")
        return self._new(self.device.backend.bool_and(mine, self._operand("bool_and", other)))

    def bool_or(self: Elementwise[B, D, Bool], other: Tensor[B, D, Bool] | bool) -> Tensor[B, D, Bool]:
        """``x | y``: True where at least one mask is."""
        mine = self._of_kind("bool_or", "bool")
        return self._new(self.device.backend.bool_or(mine, self._operand("bool_or", other)))

    def bool_xor(self: Elementwise[B, D, Bool], other: Tensor[B, D, Bool] | bool) -> Tensor[B, D, Bool]:
        """``x ^ y``: True where exactly one mask is."""
        mine = self._of_kind("bool_xor", "bool")
        return self._new(self.device.backend.bool_xor(mine, self._operand("bool_xor", other)))

    __invert__ = bool_not
    __and__ = __rand__ = bool_and
    __or__ = __ror__ = bool_or
    __xor__ = __rxor__ = bool_xor

    # Masks

    def mask_where(self, mask: Tensor[B, D, Bool], value: Tensor[B, D, K]) -> Tensor[B, D, K]:
        """``value`` where the mask is True, else this tensor."""
        chosen = self._mask("mask_where", mask)
        other = self._operand("mask_where", value)
        if isinstance(value, TensorBase):
            checks.check_operands("mask_where", mask, value, dtype=False)
        return self._new(self.device.backend.mask_where(self.primitive, chosen, other))

    def mask_fill(self, mask: Tensor[B, D, Bool], value: Scalar) -> Tensor[B, D, K]:
        """One number where the mask is True, else this tensor."""
        number = checks.check_scalar("mask_fill", self, value)
        return self._new(self.device.backend.mask_where(self.primitive, self._mask("mask_fill", mask), number))

    def _mask(self, op: str, mask: Tensor[B, D, Bool]) -> Any:
        checks.check_operands(op, self, mask, dtype=False)
        return mask._of_kind(op, "bool")

    # Casts

    @overload
    def cast(self, dtype: FloatFormat) -> Tensor[B, D, Float]: ...
    @overload
    def cast(self, dtype: IntFormat) -> Tensor[B, D, Int]: ...
    @overload
    def cast(self, dtype: BoolFormat) -> Tensor[B, D, Bool]: ...
    @overload
    def cast(self, dtype: Format) -> Tensor[B, D, Any]: ...
    def cast(self, dtype: Format) -> Tensor[B, D, Any]:
        """The same values in another format; to Int it cuts off towards 0. Between Float formats it has a gradient."""
        target = to_dtype(dtype)
        return self._new(self.device.backend.cast(self.primitive, target))

    def float(self) -> Tensor[B, D, Float]:
        """As a Float tensor, in the device's ``float_dtype``; a Float tensor stays as it is."""
        return self._as_kind(Float, self.device.float_dtype)

    def int(self) -> Tensor[B, D, Int]:
        """As an Int tensor, in the device's ``int_dtype``; an Int tensor stays as it is."""
        return self._as_kind(Int, self.device.int_dtype)

    def bool(self) -> Tensor[B, D, Bool]:
        """True where an element is not 0."""
        return self._as_kind(Bool, DType.BOOL)

    def _as_kind(self, kind: Any, dtype: DType) -> Tensor[B, D, Any]:
        return self._new(self.primitive) if self.kind is kind else self.cast(dtype)
