"""The operations that only a backend itself can do; `Backend` composes the others from these.

See the interface for what they may rely on and what they promise.
"""

from __future__ import annotations

from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape

from .interface import Array, Dims, Interface, Number, Operand, Parts


class Required(Interface):
    """One method an operation. The annotations tell the decorators which parameters are tensors."""

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
    def multiply_no_nan(a: Array, b: Operand) -> Array:
        """``a * b``, but 0 wherever ``a`` is 0, even if ``b`` is inf or NaN: for the derivative rules."""
        raise NotImplementedError

    @staticmethod
    def scaled_mul(a: Array, b: Array, scale: Number) -> Array:
        """``a * b * scale`` without a buffer for the first product: for the derivative rules."""
        raise NotImplementedError

    @staticmethod
    def relu_backward(a: Array, out: Array) -> Array:
        """``a`` where ``out``, the result of a relu, is above 0, else 0; without a buffer for a mask."""
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
