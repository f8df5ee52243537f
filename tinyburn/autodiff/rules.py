"""The derivative of every operation, one line each.

A rule turns ``g``, the gradient of an operation's result, into the gradient of one of its operands: one rule for
each operand, in their order. It asks by name for what it needs, and **exactly that is kept alive** between the
forward and the backward pass:

    g                 the gradient that comes in (costs nothing: it arrives)
    a, b, ...         an operand, as the interface names it; a number may stand there
    out               the result
    a_shape, a_dtype  only the shape or the dtype of the operand itself; these come first
    which             the operand's number, where an operation takes any number of tensors by one rule; comes first
    dim, shape, ...   any other argument of the operation

Rules are written with tensors, so they are themselves differentiable, to any order. None of them undoes
broadcasting: the engine sums a gradient over the dims that an operand did not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import signature
from operator import attrgetter
from typing import Any, TypeAlias

from tinyburn.activation import sigmoid
from tinyburn.backend.convolution import ConvOptions
from tinyburn.backend.interface import Array, Backend
from tinyburn.backend.operations import NUMBERS, OPERATIONS, Operation
from tinyburn.base.shape import Shape, reduced_count
from tinyburn.tensor import Tensor

from . import scan_rules

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Derivative: TypeAlias = Callable[..., AnyTensor]


# Operations that only rules need, and no user


def one_operation(derivative: Derivative) -> Derivative:
    """Marks a rule that is one operation of its own name, of ``g`` and what it has saved.

    The engine asks the backend for that at once, and hands over the memory of ``g`` where nobody else can see it.
    """
    derivative.operation = derivative.__name__  # type: ignore[attr-defined]
    return derivative


@one_operation
def multiply_no_nan(g: AnyTensor, b: AnyTensor | float) -> AnyTensor:
    """``g * b``, but 0 wherever ``g`` is 0, even if ``b`` is inf or NaN: a gradient of 0 stays 0."""
    return g._ask("multiply_no_nan", b)


def scaled_mul(g: AnyTensor, b: AnyTensor, scale: float) -> AnyTensor:
    """``g * b * scale`` without memory for the first product; 0 wherever ``g`` is 0, as above."""
    return g._ask("scaled_mul", b, scale)


@one_operation
def relu_backward(g: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``g`` where ``out``, the result of a relu, is above 0, else 0; without memory for a mask. NaN where ``out`` is
    NaN, unless ``g`` is 0."""
    return g._ask("relu_backward", out)


def extreme_backward(g: AnyTensor, a: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``g`` where ``a`` equals ``out``, its largest or smallest, else 0; without memory for a mask."""
    return g._ask("extreme_backward", a, out)


@one_operation
def tanh_backward(g: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``g * (1 - out * out)``."""
    return g._ask("tanh_backward", out)


@one_operation
def sigmoid_backward(g: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``g * out * (1 - out)``."""
    return g._ask("sigmoid_backward", out)


@one_operation
def silu_backward(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """``g * s * (1 + a * (1 - s))`` with ``s = sigmoid(a)``."""
    return g._ask("silu_backward", a)


@one_operation
def gelu_backward(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """``g`` times the share of the bell curve below ``a``, and ``a`` times its height there."""
    return g._ask("gelu_backward", a)


@one_operation
def softplus_backward(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """``g * sigmoid(a)``."""
    return g._ask("softplus_backward", a)


@one_operation
def leaky_relu_backward(g: AnyTensor, a: AnyTensor, slope: float) -> AnyTensor:
    """``g * slope`` where ``a`` is below 0, else ``g``."""
    return g._ask("leaky_relu_backward", a, slope)


@one_operation
def clamp_backward(g: AnyTensor, a: AnyTensor, low: float, high: float) -> AnyTensor:
    """``g`` where ``a`` is in ``[low, high]``, else 0."""
    return g._ask("clamp_backward", a, low, high)


@one_operation
def squared_difference_backward(g: AnyTensor, a: AnyTensor, b: AnyTensor) -> AnyTensor:
    """``g * (a - b) * 2``."""
    return g._ask("squared_difference_backward", a, b)


@one_operation
def softmax_backward(g: AnyTensor, out: AnyTensor, dim: int) -> AnyTensor:
    """``out * (g - total)``, where the total is that of ``g * out``."""
    return g._ask("softmax_backward", out, dim)


@one_operation
def log_softmax_backward(g: AnyTensor, out: AnyTensor, dim: int) -> AnyTensor:
    """``g - total * exp(out)``, where the total is that of ``g``."""
    return g._ask("log_softmax_backward", out, dim)


@one_operation
def standardize_backward(g: AnyTensor, out: AnyTensor, c: AnyTensor, dims: tuple[int, ...]) -> AnyTensor:
    """``(g - mean(g) - out * mean(g * out)) * c``, where ``c`` is the reciprocal of the operand's spread."""
    return g._ask("standardize_backward", out, c, dims)


@one_operation
def linear_input(g: AnyTensor, weight: AnyTensor) -> AnyTensor:
    """``g @ weight.mT``."""
    return g._ask("linear_input", weight)


@one_operation
def linear_weight(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """``a.mT @ g``, of all rows at once, whatever the dims before the last are."""
    return g._ask("linear_weight", a)


@one_operation
def linear_bias(g: AnyTensor) -> AnyTensor:
    """The sum of all rows."""
    return g._ask("linear_bias")


# What does not fit into a line


def _zeros(shape: Shape, g: AnyTensor) -> AnyTensor:
    """Zeros of any shape for the price of one: a single 0, read again and again."""
    return Tensor.full((1,) * len(shape), 0, g.device, g.dtype).expand(shape)


def _spread(g: AnyTensor, shape: Shape) -> AnyTensor:
    """The gradient of a full reduction, shape (1,), seen by every element."""
    return g.unsqueeze(len(shape)).expand(shape)


def _second_factor(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """``a * g``, and 0 wherever either is 0, even if the other is inf or NaN.

    The masks hide only what is not finite: a product is linear in both factors, so also where one of them is 0 the
    slope by it is the other one.
    """
    finite = a.mask_fill(a.is_nan(), 0).mask_fill(a.is_inf(), 0)
    return multiply_no_nan(a.mask_where(g == 0, finite), g)


def _over(g: AnyTensor, b: AnyTensor | float) -> AnyTensor:
    """``g / b``, where a gradient of 0 stays 0 even if ``b`` is 0."""
    if isinstance(b, Tensor):
        return multiply_no_nan(g, 1.0 / b)
    return g / b if b else multiply_no_nan(g, math.copysign(math.inf, b))


def _power(g: AnyTensor, a: AnyTensor, exponent: float) -> AnyTensor:
    """``g * exponent * a ** (exponent - 1)``; a gradient of 0 stays 0 where that slope is inf or NaN."""
    if exponent == 0:
        return _zeros(g.shape, g)
    power = a if exponent == 2 else a ** (exponent - 1)
    if exponent in (1, 2):
        return scaled_mul(g, power, exponent)
    return multiply_no_nan(g, power * exponent)


def _base(g: AnyTensor, a: AnyTensor, b: AnyTensor | float) -> AnyTensor:
    """``g * b * a ** (b - 1)``, with slope 0 where the exponent is 0."""
    return multiply_no_nan(g, multiply_no_nan(b, a ** (b - 1.0))) if isinstance(b, Tensor) else _power(g, a, b)


def _exponent(g: AnyTensor, a: AnyTensor | float, out: AnyTensor) -> AnyTensor:
    """``g * out * log(a)``, with slope 0 at base 0, where the power is 0 all around."""
    if not isinstance(a, Tensor):
        return multiply_no_nan(g, out * (math.log(a) if a > 0 else 0.0 if a == 0 else math.nan))
    return multiply_no_nan(g, multiply_no_nan(out, a.mask_fill(a == 0, 1.0).log()))


def _divisor(g: AnyTensor, a: AnyTensor | float, b: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``-g`` times the whole number of ``b`` that the remainder took off: found from the result, since a division may
    round to another one."""
    return multiply_no_nan(g, ((out - a) / b).round())


def _turn(g: AnyTensor, leg: AnyTensor | float, other: AnyTensor | float) -> AnyTensor:
    """``g * leg / (leg * leg + other * other)``, without a square that overflows or is lost; 0 at the origin."""
    length = leg.hypot(other) if isinstance(leg, Tensor) else other.hypot(leg)  # type: ignore[union-attr]
    length = length.mask_fill(length == 0, 1.0)
    return multiply_no_nan(g, leg / length / length)


def _leg(g: AnyTensor, leg: AnyTensor, length: AnyTensor) -> AnyTensor:
    """``g * leg / length``, and 0 at the origin."""
    return multiply_no_nan(g, leg / length.mask_fill(length == 0, 1.0))


def _on_circle(a: AnyTensor) -> AnyTensor:
    """``1 / sqrt(1 - a * a)``, from a product that keeps its digits near 1 and -1."""
    return ((1.0 - a) * (a + 1.0)).sqrt().recip()


def _right_matrix(g: AnyTensor, b_shape: Shape, a: AnyTensor) -> AnyTensor:
    """``a.mT @ g``. Where one matrix serves a whole batch, the rows of all its entries go into one product: a product
    for each entry would have to be summed, and all of them would be alive until then."""
    if len(b_shape) > 2 and math.prod(b_shape[:-2]) == 1:
        a, g = (entries.reshape((math.prod(entries.shape[:-1]), entries.shape[-1])) for entries in (a, g))
        return (a.mT @ g).reshape(b_shape)
    return a.mT @ g


def _winner(g: AnyTensor, mine: AnyTensor, other: AnyTensor | float) -> AnyTensor:
    """All of the gradient for the larger of two, half of it in a tie."""
    return g * ((mine > other).cast(g.dtype) + (mine == other).cast(g.dtype) * 0.5)


def _extreme(g: AnyTensor, a: AnyTensor, out: AnyTensor, dims: tuple[int, ...]) -> AnyTensor:
    """The gradient of a maximum or minimum, shared evenly by the elements that equal it; NaN where that is NaN."""
    share = (a == out).cast(g.dtype).mean_dims(dims)  # the mean and not the sum: in float16 a count can overflow
    mine = multiply_no_nan(g, (1.0 / reduced_count(a.shape, dims)) / share)
    return extreme_backward(mine, a, out)


def _extreme_of_all(g: AnyTensor, a: AnyTensor, out: AnyTensor) -> AnyTensor:
    ones = (1,) * a.rank
    return _extreme(g.reshape(ones), a, out.reshape(ones), tuple(range(a.rank)))


def _factors(g: AnyTensor, a: AnyTensor, dim: int) -> AnyTensor:
    """``g`` times the product of all other factors along a dim. It divides by none, so zeros are no trouble.

    The dims before that one become one, and so do those after: then it can be cut in two at any rank.
    """
    before, after = math.prod(a.shape[:dim]), math.prod(a.shape[dim + 1 :])
    ones, lines = (before, 1, after), (before, a.shape[dim], after)
    return _times_others(g.reshape(ones), a.reshape(lines)).reshape(a.shape)


def _times_others(g: AnyTensor, a: AnyTensor) -> AnyTensor:
    """The same along the second of three dims. Each factor of one half has a partner in the other half, and the
    products of the pairs are the factors of a line half as long. What is found there for a product is, times the
    partner, what is wanted for a factor. A line of odd length gets a 1 more."""
    before, size, after = a.shape
    if size <= 1:
        return g[:, :size]
    if size % 2:
        one = Tensor.full((1, 1, 1), 1, a.device, a.dtype).expand((before, 1, after))
        return _times_others(g, Tensor.cat([a, one], 1))[:, :size]
    halves = a.reshape((before, 2, size // 2, after))
    products = (halves[:, :1] * halves[:, 1:]).reshape((before, size // 2, after))
    both = _times_others(g, products).reshape((before, 1, size // 2, after))
    return multiply_no_nan(both, halves.flip((1,))).reshape(a.shape)


def _from_mean(a: AnyTensor, dim: int) -> AnyTensor:
    """``a - mean``, by way of the first entry, as in the forward: so a constant is exactly at its mean."""
    shifted = a - a.narrow(dim, 0, 1)
    return shifted - shifted.mean_dim(dim)


def _var(g: AnyTensor, a: AnyTensor, dim: int, correction: int) -> AnyTensor:
    """``2 * (a - mean) / (n - correction)``; NaN where that divides by 0, as the variance is."""
    count = a.shape[dim] - correction
    return scaled_mul(g, _from_mean(a, dim), 2 / count if count > 0 else math.nan)


def _std(g: AnyTensor, a: AnyTensor, out: AnyTensor, dim: int, correction: int) -> AnyTensor:
    """``(a - mean) / std / (n - correction)``, and 0 where std is 0."""
    centred = _from_mean(a, dim)
    return multiply_no_nan(g, centred / out.mask_fill(out == 0, 1.0) / float(a.shape[dim] - correction))


def _norm(g: AnyTensor, a: AnyTensor, out: AnyTensor) -> AnyTensor:
    """``a / norm``, and 0 where the norm is 0."""
    norm = out.mask_fill(out == 0, 1.0).reshape((1,) * a.rank)
    return multiply_no_nan(g.reshape(norm.shape), a / norm)


# ``g * a`` times the second derivative of a function, of which ``a`` was multiplied by the first one


def _tanh_bend(g: AnyTensor, a: AnyTensor, out: AnyTensor) -> AnyTensor:
    return scaled_mul(multiply_no_nan(g, a), out, -2.0)


def _sigmoid_bend(g: AnyTensor, a: AnyTensor, out: AnyTensor) -> AnyTensor:
    return multiply_no_nan(multiply_no_nan(g, a), 1.0 - out * 2.0)


def _softplus_bend(g: AnyTensor, a: AnyTensor, b: AnyTensor) -> AnyTensor:
    return sigmoid_backward(multiply_no_nan(g, a), sigmoid(b))


def _silu_bend(g: AnyTensor, a: AnyTensor, b: AnyTensor) -> AnyTensor:
    """That of silu is ``s * (1 - s) * (2 + b * (1 - 2 * s))`` with ``s = sigmoid(b)``."""
    s = sigmoid(b)
    return multiply_no_nan(multiply_no_nan(g, a), s * (1.0 - s) * (b * (1.0 - s * 2.0) + 2.0))


def _gelu_bend(g: AnyTensor, a: AnyTensor, b: AnyTensor) -> AnyTensor:
    """That of gelu is ``2 - b * b`` times the height of the bell curve at ``b``."""
    height = (b * b * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
    return multiply_no_nan(multiply_no_nan(g, a), height * (2.0 - b * b))


def _without(g: AnyTensor, parts: tuple[slice, ...]) -> AnyTensor:
    return g.slice_assign(parts, _zeros(g[parts].shape, g))


def _chosen(g: AnyTensor, mask: AnyTensor) -> AnyTensor:
    return _zeros(g.shape, g).mask_where(mask, g)


def _add_windows(g: AnyTensor, a_shape: Shape, dim: int, step: int, dilation: int) -> AnyTensor:
    return g._ask("add_windows", dim, a_shape[dim], step, dilation)


def _windows(g: AnyTensor, a_shape: Shape, dim: int, step: int, dilation: int) -> AnyTensor:
    return g._ask("unfold", dim, a_shape[-1], step, dilation)


def _unpermute(g: AnyTensor, axes: tuple[int, ...]) -> AnyTensor:
    return g.permute(*sorted(range(len(axes)), key=axes.__getitem__))


# A convolution is linear in both operands: its derivatives are of its own family (see `tinyburn.backend.convolution`).


def _conv_input(g: AnyTensor, a_shape: Shape, weight: AnyTensor, options: ConvOptions) -> AnyTensor:
    return g._ask("conv_transpose", weight, a_shape[2:], options)


def _conv_weight(g: AnyTensor, weight_shape: Shape, a: AnyTensor, options: ConvOptions) -> AnyTensor:
    return a._ask("conv_weight_backward", g, weight_shape[2:], options)


# fmt: off
RULES: dict[str, tuple[Derivative | None, ...]] = {
    # two operands
    "add":             (lambda g: g,                                  lambda g: g),
    "sub":             (lambda g: g,                                  lambda g: -g),
    "mul":             (multiply_no_nan,                              lambda g, a: multiply_no_nan(g, a)),
    "div":             (_over,                                        lambda g, b, out: multiply_no_nan(g, -(out / b))),
    "remainder":       (lambda g: g,                                  _divisor),
    "powf":            (_base,                                        _exponent),
    "maximum":         (lambda g, a, b: _winner(g, a, b),             lambda g, a, b: _winner(g, b, a)),
    "minimum":         (lambda g, a, b: _winner(g, -a, -b),           lambda g, a, b: _winner(g, -b, -a)),
    "atan2":           (lambda g, a, b: _turn(g, b, a),               lambda g, a, b: _turn(-g, a, b)),
    "hypot":           (lambda g, a, out: _leg(g, a, out),            lambda g, b, out: _leg(g, b, out)),
    "fmod":            (lambda g: g,                                  _divisor),
    "matmul":          (lambda g, b: g @ b.mT,                        _right_matrix),
    "mask_where":      (lambda g, mask: g.mask_fill(mask, 0), None,   _chosen),
    "multiply_no_nan": (multiply_no_nan,                              _second_factor),
    "scaled_mul":      (lambda g, b, scale: scaled_mul(g, b, scale),  lambda g, a, scale: _second_factor(g, a) * scale),
    "squared_difference": (squared_difference_backward,
                           lambda g, a, b: squared_difference_backward(g, b, a)),
    "add_scaled":      (lambda g: g,                                  lambda g, scale: g * scale),
    "linear":          (linear_input, linear_weight, linear_bias),
    "conv":            (_conv_input, _conv_weight),
    "conv_transpose":  (lambda g, weight, options: g._ask("conv", weight, options),
                        lambda g, weight_shape, a, options: _conv_weight(a, weight_shape, g, options)),
    "conv_weight_backward": (lambda g, a_shape, b, options: _conv_input(b, a_shape, g, options),
                             lambda g, a, options: a._ask("conv", g, options)),
    # one operand
    "neg":             (lambda g: -g,),
    "abs":             (lambda g, a: multiply_no_nan(g, a.sign()),),
    "sign":            (lambda g: _zeros(g.shape, g),),
    "floor":           (lambda g: _zeros(g.shape, g),),
    "ceil":            (lambda g: _zeros(g.shape, g),),
    "round":           (lambda g: _zeros(g.shape, g),),
    "exp":             (lambda g, out: multiply_no_nan(g, out),),
    "log":             (lambda g, a: _over(g, a),),
    "log2":            (lambda g, a: _over(g, a * math.log(2)),),
    "log10":           (lambda g, a: _over(g, a * math.log(10)),),
    "log1p":           (lambda g, a: _over(g, a + 1.0),),
    "sqrt":            (lambda g, out: multiply_no_nan(g, 0.5 / out),),
    "sin":             (lambda g, a: multiply_no_nan(g, a.cos()),),
    "cos":             (lambda g, a: multiply_no_nan(g, -a.sin()),),
    "sinh":            (lambda g, a: multiply_no_nan(g, a.cosh()),),
    "cosh":            (lambda g, a: multiply_no_nan(g, a.sinh()),),
    "tan":             (lambda g, out: multiply_no_nan(g, out * out + 1.0),),
    "asin":            (lambda g, a: multiply_no_nan(g, _on_circle(a)),),
    "acos":            (lambda g, a: multiply_no_nan(g, -_on_circle(a)),),
    "atan":            (lambda g, a: multiply_no_nan(g, 1.0 / (a * a + 1.0)),),
    "asinh":           (lambda g, a: multiply_no_nan(g, 1.0 / a.hypot(1.0)),),
    "acosh":           (lambda g, a: multiply_no_nan(g, 1.0 / ((a - 1.0).sqrt() * (a + 1.0).sqrt())),),
    "atanh":           (lambda g, a: multiply_no_nan(g, 1.0 / ((1.0 - a) * (a + 1.0))),),
    "trunc":           (lambda g: _zeros(g.shape, g),),
    "tanh":            (tanh_backward,),
    "erf":             (lambda g, a: multiply_no_nan(g, (-a * a).exp() * (2 / math.sqrt(math.pi))),),
    "powf_scalar":     (lambda g, a, exponent: _power(g, a, exponent),),
    "clamp_min":       (lambda g, a, low: g.mask_fill(a < low, 0),),
    "clamp_max":       (lambda g, a, high: g.mask_fill(a > high, 0),),
    "clamp":           (clamp_backward,),
    "relu":            (relu_backward,),
    "leaky_relu":      (leaky_relu_backward,),
    "sigmoid":         (sigmoid_backward,),
    "silu":            (silu_backward,),
    "gelu":            (gelu_backward,),
    "softplus":        (softplus_backward,),
    "softmax":         (softmax_backward,),
    "log_softmax":     (log_softmax_backward,),
    "standardize":     (standardize_backward, None, None),
    "cast":            (lambda g, a_dtype: g.cast(a_dtype),),
    # the derivatives of functions, which are functions themselves
    "relu_backward":       (relu_backward, None),
    "extreme_backward":    (lambda g, b, out: extreme_backward(g, b, out),           None, None),
    "leaky_relu_backward": (lambda g, b, slope: leaky_relu_backward(g, b, slope),    None),
    "clamp_backward":      (lambda g, b, low, high: clamp_backward(g, b, low, high), None),
    "tanh_backward":       (tanh_backward,                            _tanh_bend),
    "sigmoid_backward":    (sigmoid_backward,                         _sigmoid_bend),
    "silu_backward":       (lambda g, b: silu_backward(g, b),         _silu_bend),
    "gelu_backward":       (lambda g, b: gelu_backward(g, b),         _gelu_bend),
    "softplus_backward":   (lambda g, b: softplus_backward(g, b),     _softplus_bend),
    "log_softmax_backward": (lambda g, out, dim: g - multiply_no_nan(g, out.exp()).sum_dim(dim),
                             lambda g, a, out, dim: -multiply_no_nan(multiply_no_nan(g, a.sum_dim(dim)), out.exp())),
    "squared_difference_backward": (lambda g, b, out: squared_difference_backward(g, b, out),
                            lambda g, a: scaled_mul(g, a, 2.0),       lambda g, a: scaled_mul(g, a, -2.0)),
    # reductions
    "sum":             (lambda g, a_shape: _spread(g, a_shape),),
    "mean":            (lambda g, a_shape: _spread(g * (1.0 / math.prod(a_shape)), a_shape),),
    "max":             (_extreme_of_all,),
    "min":             (_extreme_of_all,),
    "sum_dims":        (lambda g, a_shape: g.expand(a_shape),),
    "mean_dims":       (lambda g, a_shape, dims: (g * (1.0 / reduced_count(a_shape, dims))).expand(a_shape),),
    "max_dims":        (_extreme,),
    "min_dims":        (_extreme,),
    "prod_dim":        (_factors,),
    "var":             (_var,),
    "std":             (_std,),
    "norm":            (_norm,),
    # scans
    "cumsum":          (scan_rules.cumsum,),
    "cumprod":         (scan_rules.cumprod,),
    "cummax":          (scan_rules.cumulative_extreme,),
    "cummin":          (scan_rules.cumulative_extreme,),
    "logcumsumexp":    (scan_rules.logcumsumexp,),
    # movement
    "reshape":         (lambda g, a_shape: g.reshape(a_shape),),
    "permute":         (_unpermute,),
    "expand":          (lambda g: g,),
    "flip":            (lambda g, dims: g.flip(dims),),
    "cat":             (lambda g, which, places: g[places[which]],),
    "slice":           (lambda g, a_shape, parts: _zeros(a_shape, g).slice_assign(parts, g),),
    "unfold":          (_add_windows,),
    "add_windows":     (_windows,),
    "slice_assign":    (_without,                                     lambda g, parts: g[parts]),
    "gather":          (lambda g, a_shape, dim, indices: _zeros(a_shape, g).scatter(dim, indices, g), None),
    "scatter":         (lambda g: g, None,                            lambda g, dim, indices: g.gather(dim, indices)),
    "select":          (lambda g, a_shape, dim, indices: _zeros(a_shape, g).select_assign(dim, indices, g), None),
    "select_assign":   (lambda g: g, None,                            lambda g, dim, indices: g.select(dim, indices)),
}
# fmt: on


Saved: TypeAlias = tuple[Any, ...]


class Rule:
    """One derivative of the table, and how to get what it names.

    Attributes:
        parameters: those of the operation.
        names: what it saves, in order; the shape and dtype of its own operand need no saving, the node has them.
        places: where these stand among the operation's arguments, followed by its result.
        operation: the name of the operation that it is, and nothing else besides; empty for all others.
        makes_new: whether what it gives surely lies in a buffer of its own, and not in that of ``g``.
    """

    __slots__ = (
        "_derivative",
        "_in_place",
        "_own",
        "_tensors",
        "makes_new",
        "names",
        "operation",
        "parameters",
        "places",
    )

    is_exclusive = True
    """Whether what it gives is seen by nobody else, if it does not lie in the buffer of ``g``."""

    def __init__(self, operation: Operation, at: int, derivative: Derivative) -> None:
        self._derivative = derivative
        self.parameters = operation.parameters
        parameters = (*operation.parameters, "out")
        own, which = operation.parameters[at], operation.tensors.index(at)
        known: dict[str, Callable[[Any], Any]] = {
            f"{own}_shape": _shape,
            f"{own}_dtype": _dtype,
            "which": lambda _: which,
        }
        asked = tuple(signature(derivative).parameters)[1:]
        self._own = tuple(known[name] for name in asked if name in known)
        self.names = asked[len(self._own) :]
        unknown = [name for name in self.names if name not in parameters]
        if unknown:
            offered = (*known, *parameters)
            raise TypeError(f"a rule of {operation.name} asks for {unknown}; it has {offered}, in this order")
        self.places = tuple(parameters.index(name) for name in self.names)
        tensors = {*(operation.parameters[tensor] for tensor in operation.tensors), "out"}
        self._tensors = tuple(name in tensors for name in self.names)
        self.operation: str = getattr(derivative, "operation", "")
        self.makes_new = bool(self.operation) and OPERATIONS[self.operation].view == "never"
        self._in_place = bool(self.operation) and OPERATIONS[self.operation].in_place

    def __repr__(self) -> str:
        return f"Rule(saves {', '.join(self.names) or 'nothing'})"

    def tensors(self, saved: Sequence[Any]) -> list[tuple[str, Array]]:
        """What the saved keep alive, which is what costs memory, with the names of the operands."""
        rows = zip(self.names, self._tensors, saved, strict=True)
        return [(name, value) for name, is_tensor, value in rows if is_tensor and type(value) not in NUMBERS]

    def gradient(self, g: AnyTensor, saved: Sequence[Any], parent: Any, is_spare: bool) -> AnyTensor:
        """The gradient of the operand whose node is ``parent``.

        ``is_spare`` says that nobody will look at ``g`` any more, so that its memory can be used.
        """
        if self.operation:
            backend: type[Backend] = g.device.backend
            if is_spare and self._in_place:
                return g._new(backend.into(g.primitive, self.operation, g.primitive, *saved))
            return g._new(getattr(backend, self.operation)(g.primitive, *saved))
        if not (saved or self._own):
            return self._derivative(g)
        arguments = [read(parent) for read in self._own] if self._own else []
        for value, is_tensor in zip(saved, self._tensors):  # noqa: B905  # equally long by construction
            arguments.append(g._new(value) if is_tensor and type(value) not in NUMBERS else value)
        return self._derivative(g, *arguments)


_shape = attrgetter("shape")
_dtype = attrgetter("dtype.name")


def rules_of(name: str, count: int = 0) -> list[tuple[int, Rule]]:
    """The rules of an operation, each with the position of its operand; empty if it has none.

    ``count`` is how many arguments a call has; only an operation of any number of tensors needs it.
    """
    operation = OPERATIONS[name].taking(count)
    derivatives = RULES.get(name, ())
    if OPERATIONS[name].repeats:
        derivatives *= len(operation.tensors)
    pairs = zip(operation.tensors, derivatives, strict=True) if derivatives else ()
    return [(at, Rule(operation, at, derivative)) for at, derivative in pairs if derivative is not None]
