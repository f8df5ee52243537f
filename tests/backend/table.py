"""One or more rows for every operation of the interface: its arguments, and what NumPy makes of them.

A row's arguments stand in the interface's order. Arrays become primitives; everything else is passed on. Float and
int arrays get the dtypes of the device under test. The reference gets the same arguments in float64 and is written in
NumPy, or in Python's ``math`` where NumPy lacks the function.

A row that names a dtype runs on every backend that has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tinyburn import DType
from tinyburn.backend.convolution import ConvOptions

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Row:
    """``operation(*args)`` must equal ``reference(*args)``."""

    name: str
    args: tuple[Any, ...]
    reference: Callable[..., Any]
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.note}" if self.note else self.name

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that the row itself names."""
        return tuple(str(argument) for argument in self.args if isinstance(argument, DType))


_rng = np.random.default_rng(5)
X = _rng.uniform(-2, 2, (2, 3, 4))
Y = _rng.uniform(-2, 2, (2, 3, 4))
POSITIVE = np.abs(X) + 0.25
WHOLE = np.round(X)  # with ties and zeros
ROW = _rng.uniform(0.5, 2, (1, 1, 4))
COLUMN = _rng.uniform(0.5, 2, (2, 3, 1))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
OTHER = np.array([0.0, 1.0, np.inf, np.inf, -np.inf, np.nan, 2.0])
EMPTY = np.zeros((0, 3))
INTS = np.array([[3, -2, 0], [7, 5, -4]])
MORE_INTS = np.array([[2, 3, -5], [-3, 5, 1]])
MASK = X > 0


def _along(dim: int, indices: Values) -> tuple[Values, ...]:
    grid: list[Values] = list(np.indices(indices.shape))
    grid[dim] = indices
    return tuple(grid)


def _assigned(a: Values, parts: Any, b: Values) -> Values:
    out = a.copy()
    out[parts] = b
    return out


def _added(a: Values, where: Any, b: Values) -> Values:
    out = a.copy()
    np.add.at(out, where, b)
    return out


def _softmax(a: Values, dim: int) -> Values:
    weights = np.exp(a - a.max(axis=dim, keepdims=True))
    return np.asarray(weights / weights.sum(axis=dim, keepdims=True))


def _softmax_slope(g: Values, out: Values, dim: int) -> Values:
    return np.asarray(out * (g - (g * out).sum(axis=dim, keepdims=True)))


def _log_softmax_slope(g: Values, out: Values, dim: int) -> Values:
    return np.asarray(g - np.exp(out) * g.sum(axis=dim, keepdims=True))


def _standard_slope(g: Values, out: Values, c: Values, dims: tuple[int, ...]) -> Values:
    product = (g * out).mean(axis=dims, keepdims=True)
    return np.asarray((g - g.mean(axis=dims, keepdims=True) - out * product) * c)


def _normalization_rows() -> list[Row]:
    standard = lambda a, b, c, dims: (a - b) * c  # noqa: E731
    rows = [
        Row("softmax_backward", (X, _softmax(Y, 1), 1), _softmax_slope),
        Row("log_softmax_backward", (X, np.log(_softmax(Y, 2)), 2), _log_softmax_slope),
        Row("softmax_backward", (EMPTY, EMPTY, 1), lambda g, out, dim: g, "empty"),
        Row("log_softmax_backward", (EMPTY, EMPTY, 1), lambda g, out, dim: g, "empty"),
    ]
    for dims in ((2,), (0, 1)):
        mean, scale = X.mean(axis=dims, keepdims=True), 1 / X.std(axis=dims, keepdims=True)
        note = f"dims{dims}".replace(" ", "")
        rows.append(Row("standardize", (X, mean, scale, dims), standard, note))
        rows.append(Row("standardize_backward", (Y, (X - mean) * scale, scale, dims), _standard_slope, note))
    return rows


def _share_below(a: Values) -> Values:
    return np.asarray((1 + np.vectorize(math.erf, otypes=[float])(a / math.sqrt(2))) / 2)


def _silu_slope(b: Values) -> Values:
    s = 1 / (1 + np.exp(-b))
    return np.asarray(s * (1 + b * (1 - s)))


def _gelu_slope(b: Values) -> Values:
    return np.asarray(_share_below(b) + b * np.exp(-b * b / 2) / math.sqrt(2 * math.pi))


def _no_nan(a: Any, slope: Any) -> Values:
    """A gradient times a slope, but 0 where it is 0."""
    return np.asarray(np.where(a == 0, 0, a * slope))


def _full(function: Callable[..., Any]) -> Callable[[Values], Values]:
    return lambda a: np.reshape(function(a), (1,))


_BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "remainder": lambda a, b: a - b * np.floor(a / b),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lower": np.less,
    "lower_equal": np.less_equal,
}
_INT_BINARY = ("add", "sub", "mul", "maximum", "minimum", "equal", "not_equal", "greater", "lower_equal")
_UNARY: dict[str, Any] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "is_nan": np.isnan,
    "is_inf": np.isinf,
    "is_finite": np.isfinite,
    "trunc": np.trunc,
    "tan": np.tan,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "relu": lambda a: np.maximum(a, 0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "softplus": lambda a: np.logaddexp(a, 0),
    "silu": lambda a: a / (1 + np.exp(-a)),
    "gelu": lambda a: a * _share_below(a),
}
_ON_A_PART: dict[str, Any] = {
    **{"log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt},
    **{"asin": np.arcsin, "acos": np.arccos, "acosh": np.arccosh, "atanh": np.arctanh},
}
"""Functions that are real on a part of the numbers."""
_BACKWARD: dict[str, Any] = {
    "tanh_backward": lambda a, out: _no_nan(a, 1 - out * out),
    "sigmoid_backward": lambda a, out: _no_nan(a, out * (1 - out)),
    "silu_backward": lambda a, b: _no_nan(a, _silu_slope(b)),
    "gelu_backward": lambda a, b: _no_nan(a, _gelu_slope(b)),
    "softplus_backward": lambda a, b: _no_nan(a, 1 / (1 + np.exp(-b))),
}
_REDUCTIONS: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}


def _binary_rows() -> list[Row]:
    rows = []
    for name, ufunc in _BINARY.items():
        rows.append(Row(name, (WHOLE, np.round(Y) + 0.25), ufunc))
        rows.append(Row(name, (ROW, COLUMN), ufunc, "broadcast"))
        rows.append(Row(name, (X, 1.5), ufunc, "number-right"))
        rows.append(Row(name, (EMPTY, np.ones((1, 3))), ufunc, "empty"))
        if name != "remainder":
            rows.append(Row(name, (SPECIAL, OTHER), ufunc, "special"))
        if name != "fmod":
            rows.append(Row(name, (1.5, POSITIVE), ufunc, "number-left"))
    rows += [Row(name, (INTS, MORE_INTS), _BINARY[name], "int") for name in _INT_BINARY]
    rows.append(Row("remainder", (INTS, MORE_INTS), lambda a, b: a % b, "int"))
    return rows


def _truth_rows() -> list[Row]:
    other = Y > 0.5
    functions = {"bool_and": np.logical_and, "bool_or": np.logical_or, "bool_xor": np.logical_xor}
    rows = [Row(name, (MASK, other), function) for name, function in functions.items()]
    rows += [Row(name, (MASK[:1], other[:, :1]), function, "broadcast") for name, function in functions.items()]
    for truth in (True, False):
        rows += [Row(name, (MASK, truth), function, f"{truth}-right") for name, function in functions.items()]
        rows += [Row(name, (truth, MASK), function, f"{truth}-left") for name, function in functions.items()]
    return rows


def _unary_rows() -> list[Row]:
    rows = [Row(name, (X,), function) for name, function in _UNARY.items()]
    rows += [Row(name, (EMPTY,), function, "empty") for name, function in _UNARY.items()]
    rows += [Row(name, (SPECIAL,), function, "special") for name, function in _UNARY.items()]
    rows += [Row(name, (INTS,), _UNARY[name], "int") for name in ("neg", "abs", "sign")]
    for name, function in _ON_A_PART.items():
        inside = X * 0.45 if name in ("asin", "acos", "atanh") else POSITIVE + 1 if name == "acosh" else POSITIVE
        rows += [Row(name, (inside,), function), Row(name, (SPECIAL,), function, "special")]
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    return [*rows, Row("round", (halves,), np.round, "half-to-even"), Row("bool_not", (MASK,), np.logical_not)]


def _fused_rows() -> list[Row]:
    rows = []
    for name, function in _BACKWARD.items():
        rows += [Row(name, (X, Y), function), Row(name, (ROW, COLUMN), function, "broadcast")]
        rows += [Row(name, (SPECIAL, OTHER), function, "special"), Row(name, (OTHER, SPECIAL), function, "special-too")]
        rows.append(Row(name, (EMPTY, np.ones((1, 3))), function, "empty"))
    within = lambda a, b, low, high: np.where((b < low) | (b > high), 0, a)  # noqa: E731
    rows += [
        Row("clamp_backward", (X, WHOLE, -1.0, 1.0), within, "at-its-bounds"),
        Row("clamp_backward", (SPECIAL, OTHER, 0.0, 2.0), within, "special"),
        Row("clamp_backward", (ROW, COLUMN, 1.0, math.inf), within, "broadcast"),
        Row("clamp_backward", (EMPTY, EMPTY, 0.0, 1.0), within, "empty"),
    ]
    bent = lambda a, b, slope: np.where(b < 0, a * slope, a)  # noqa: E731
    for slope in (0.01, 1.0, 0.0, -0.5, 2.0):
        leaky = lambda a, slope: bent(a, a, slope)  # noqa: E731
        singles = ((X, ""), (SPECIAL, "special"), (EMPTY, "empty"))
        rows += [Row("leaky_relu", (a, slope), leaky, f"{slope}-{note}") for a, note in singles]
        pairs = ((X, Y, ""), (SPECIAL, OTHER, "special"), (ROW, COLUMN, "broadcast"))
        rows += [Row("leaky_relu_backward", (a, b, slope), bent, f"{slope}-{note}") for a, b, note in pairs]
    return rows + _linear_rows()


def _linear_rows() -> list[Row]:
    weight, bias = Y[0].T[:, :2].copy(), ROW[0, 0, :2].copy()
    linear = lambda a, w, b: a @ w + b  # noqa: E731
    scaled = lambda a, b, scale: a + b * scale  # noqa: E731
    return [
        Row("linear", (X[0], weight, bias), linear),
        Row("linear", (X, weight, bias), linear, "rank3"),
        Row("linear", (X[np.newaxis], weight, bias), linear, "rank4"),
        Row("linear", (np.ones((2, 0)), np.ones((0, 3)), np.ones(3)), linear, "empty-inner"),
        Row("linear", (EMPTY, np.ones((3, 2)), np.ones(2)), linear, "empty-batch"),
        Row("linear_input", (X[0], weight.T), lambda g, w: g @ w.T),
        Row("linear_input", (X, weight.T), lambda g, w: g @ w.T, "rank3"),
        Row("linear_weight", (X[0], Y[0]), lambda g, a: a.T @ g),
        Row("linear_weight", (X, Y[..., :2]), lambda g, a: a.reshape(-1, 2).T @ g.reshape(-1, 4), "rank3"),
        Row("linear_weight", (EMPTY, EMPTY), lambda g, a: a.T @ g, "empty-batch"),
        Row("linear_bias", (X[0],), lambda g: g.sum(0)),
        Row("linear_bias", (X,), lambda g: g.sum((0, 1)), "rank3"),
        *[
            Row("squared_difference", operands, lambda a, b: (a - b) ** 2, note)
            for operands, note in (((X, Y), ""), ((ROW, COLUMN), "broadcast"), ((SPECIAL, OTHER), "special"))
        ],
        Row("extreme_backward", (X, WHOLE, WHOLE.max(2, keepdims=True)), lambda a, b, c: np.where(b == c, a, 0)),
        Row("extreme_backward", (X[:, :1], WHOLE, WHOLE.min(1, keepdims=True)), lambda a, b, c: (b == c) * a, "small"),
        Row(
            "extreme_backward",
            (
                np.array([0.0, 2.0, 2.0, 2.0, 2.0, 2.0]),
                np.array([1, np.nan, np.nan, -np.inf, -np.inf, 1])[:6],
                np.array([np.nan, np.nan, np.nan, -np.inf, np.inf, 1]),
            ),
            lambda a, b, c: np.array([0, np.nan, np.nan, 2, 0, 2]),
            "special",
        ),
        Row("squared_difference_backward", (X, Y, POSITIVE), lambda a, b, c: a * (b - c) * 2),
        Row("squared_difference_backward", (ROW, X, COLUMN), lambda a, b, c: a * (b - c) * 2, "broadcast"),
        Row(
            "squared_difference_backward",
            (SPECIAL, OTHER, SPECIAL),
            lambda a, b, c: np.where(a == 0, 0, a * (b - c) * 2),
            "special",
        ),
        Row("add_scaled", (X, Y, -0.5), scaled),
        Row("add_scaled", (ROW, COLUMN, 2.0), scaled, "broadcast"),
        Row("add_scaled", (SPECIAL, OTHER, 0.0), scaled, "special"),
        Row("add_scaled", (EMPTY, EMPTY, 2.0), scaled, "empty"),
        *_moment_rows(),
    ]


def _moment_rows() -> list[Row]:
    """What optimizers are made of."""
    functions: dict[str, Any] = {
        "weighted_sum": lambda a, b, first, second: a * first + b * second,
        "weighted_square_sum": lambda a, b, first, second: a * first + b * second * b,
        "adaptive_sum": lambda a, b, c, first, second, epsilon: a * first + b * second / (np.sqrt(c) + epsilon),
    }
    rows = []
    for name, function in functions.items():
        others, numbers = ((POSITIVE,), (0.5, -0.25, 0.1)) if name == "adaptive_sum" else ((), (0.5, -0.25))
        column = (COLUMN,) if others else ()
        special, empty = ((SPECIAL,), (EMPTY,)) if others else ((), ())
        rows += [
            Row(name, (X, Y, *others, *numbers), function),
            Row(name, (X, Y, *others, 1.0, *numbers[1:]), function, "first-is-1"),
            Row(name, (ROW, COLUMN, *column, *numbers), function, "broadcast"),
            Row(name, (SPECIAL, OTHER, *special, *numbers), function, "special"),
            Row(name, (EMPTY, EMPTY, *empty, *numbers), function, "empty"),
        ]
    return rows


def _reduction_rows() -> list[Row]:
    rows = []
    for name, function in _REDUCTIONS.items():
        rows.append(Row(name, (X,), _full(function)))
        for dims in ((0,), (2,), (0, 2), (0, 1, 2)):
            reduce = lambda a, dims, function=function: function(a, axis=dims, keepdims=True)  # noqa: E731
            rows.append(Row(f"{name}_dims", (X, dims), reduce, f"dims{dims}".replace(" ", "")))
    rows.append(Row("sum", (EMPTY,), _full(np.sum), "empty"))
    rows.append(Row("sum_dims", (EMPTY, (0,)), lambda a, dims: np.zeros((1, 3)), "empty"))
    rows.append(Row("sum", (INTS,), _full(np.sum), "int"))
    return rows + _place_rows() + _spread_rows() + _scan_rows() + _order_rows()


def _place_rows() -> list[Row]:
    rows = []
    for dim in (0, 2):
        for dtype in (DType.INT32, DType.INT64):
            note = f"dim{dim}-{dtype}"
            rows.append(Row("argmax", (WHOLE, dim, dtype), lambda a, d, _: np.argmax(a, d, keepdims=True), note))
            rows.append(Row("argmin", (WHOLE, dim, dtype), lambda a, d, _: np.argmin(a, d, keepdims=True), note))
    return rows


def _scan_rows() -> list[Row]:
    ufuncs: dict[str, Any] = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
    rows = []
    for name, ufunc in {**ufuncs, "logcumsumexp": np.logaddexp}.items():
        scan = lambda a, d, ufunc=ufunc: ufunc.accumulate(a, d)  # noqa: E731
        rows += [Row(name, (X, dim), scan, f"dim{dim}") for dim in (1, 0)]
        rows.append(Row(name, (EMPTY, 0), scan, "empty"))
        rows.append(Row(name, (SPECIAL, 0), scan, "special"))
        rows.append(Row(name, (np.cos(np.arange(1.0, 141.0)), 0), scan, "long"))
    return rows + [
        Row(name, (INTS, 1), lambda a, d, u=ufunc: u.accumulate(a, d), "int") for name, ufunc in ufuncs.items()
    ]


def _sorting(a: Values, dim: int, descending: bool, _: DType) -> Values:
    """By Python's own sort, which is stable, of one line after another; NaN is the largest."""

    def order(line: Values) -> list[int]:
        keys = [(math.isnan(x), 0.0 if math.isnan(x) else x) for x in line.tolist()]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)  # reversed it is stable too

    return np.apply_along_axis(order, dim, a) if a.size else np.zeros(a.shape, int)


def _order_rows() -> list[Row]:
    special = np.concatenate([SPECIAL, OTHER])
    cases = {"": (X, 2), "ties": (WHOLE, 1), "special": (special, 0), "int": (INTS, 0)}
    cases |= {"empty": (EMPTY, 0), "of-nothing": (EMPTY, 1), "long": (np.round(9 * np.cos(np.arange(150.0))), 0)}
    return [
        Row("argsort", (a, dim, descending, dtype), _sorting, f"{note}-{dtype}-{'down' if descending else 'up'}")
        for note, (a, dim) in cases.items()
        for descending in (False, True)
        for dtype in ((DType.INT32,) if note else (DType.INT32, DType.INT64))
    ]


def _spread_rows() -> list[Row]:
    rows = []
    for dim, correction in ((0, 0), (1, 1), (2, 0), (2, 1)):
        note = f"dim{dim}-correction{correction}"
        rows.append(Row("var", (X, dim, correction), lambda a, d, c: np.var(a, axis=d, ddof=c, keepdims=True), note))
        rows.append(Row("std", (X, dim, correction), lambda a, d, c: np.std(a, axis=d, ddof=c, keepdims=True), note))
    rows += [Row("norm", (X,), _full(np.linalg.norm)), Row("norm", (EMPTY,), _full(np.linalg.norm), "empty")]
    for size in (0, 1, 2, 3, 5, 8):
        column = _rng.uniform(0.5, 1.5, (2, size))
        product = lambda a, d: np.prod(a, axis=d, keepdims=True)  # noqa: E731
        rows.append(Row("prod_dim", (column, 1), product, f"size{size}"))
    rows += [Row("prod", (X,), _full(np.prod)), Row("prod", (EMPTY,), _full(np.prod), "empty")]
    for truths, note in ((MASK, "mixed"), (MASK | True, "true"), (MASK & False, "false"), (MASK[:0], "empty")):
        rows += [Row("any", (truths,), _full(np.any), note), Row("all", (truths,), _full(np.all), note)]
    return rows


def _other_rows() -> list[Row]:
    masked = np.array([[-np.inf, -np.inf], [3.0, 3.0]])
    large = np.array([[1000.0, 1001.0, 1002.0]])
    log_large = np.array([[-2.0, -1.0, 0.0]]) - math.log(math.exp(-2) + math.exp(-1) + 1)
    return [
        Row("powf", (POSITIVE, Y), np.power),
        Row("powf", (np.array([0.0, 0.0, -2.0, 2.0]), np.array([0.0, 2.0, 3.0, -1.0])), np.power, "corners"),
        Row("powf", (2.0, Y), np.power, "number-left"),
        *[Row("powf_scalar", (X, p), np.power, f"{p:g}") for p in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, -2.0)],
        *[Row("powf_scalar", (SPECIAL, p), np.power, f"{p:g}-special") for p in (0.0, 1.0, 2.0, 3.0, -1.0, -2.0)],
        Row("powf_scalar", (POSITIVE, 0.5), np.power, "0.5"),
        Row("powf_scalar", (INTS, 1), np.power, "int-1"),
        Row("powf_scalar", (POSITIVE, 1.5), np.power, "1.5"),
        Row("powf_scalar", (INTS, 3), np.power, "int"),
        Row("clamp_min", (X, -0.5), np.maximum),
        Row("clamp_min", (SPECIAL, 0.0), np.maximum, "special"),
        Row("clamp_min", (INTS, -1), np.maximum, "int"),
        Row("clamp_max", (X, 0.75), np.minimum),
        Row("clamp_max", (SPECIAL, 0.0), np.minimum, "special"),
        Row("clamp_max", (INTS, 4), np.minimum, "int"),
        Row("clamp", (X, -0.5, 0.75), np.clip),
        Row("clamp", (SPECIAL, -0.5, 0.75), np.clip, "special"),
        Row("clamp", (EMPTY, -0.5, 0.75), np.clip, "empty"),
        Row("clamp", (INTS, -1, 4), np.clip, "int"),
        Row("multiply_no_nan", (SPECIAL, OTHER), lambda a, b: np.where(a == 0, 0, a * b)),
        Row("multiply_no_nan", (SPECIAL, math.inf), lambda a, b: np.where(a == 0, 0, a * b), "number"),
        Row("scaled_mul", (X, Y, -1.5), lambda a, b, scale: a * b * scale),
        Row("scaled_mul", (ROW, COLUMN, 2.0), lambda a, b, scale: a * b * scale, "broadcast"),
        Row("relu_backward", (X, np.maximum(Y, 0)), lambda a, out: np.where(out > 0, a, 0)),
        Row("relu_backward", (SPECIAL, np.maximum(OTHER, 0)), lambda a, out: np.where(out == 0, 0, a * np.sign(out))),
        Row("mask_where", (X, MASK, Y), lambda a, m, b: np.where(m, b, a)),
        Row("mask_where", (ROW, MASK[:1], COLUMN), lambda a, m, b: np.where(m, b, a), "broadcast"),
        Row("mask_where", (X, MASK, -math.inf), lambda a, m, b: np.where(m, b, a), "number"),
        Row("matmul", (X[0], Y[0].T), np.matmul),
        Row("matmul", (X, np.swapaxes(Y, 1, 2)), np.matmul, "batch"),
        Row("matmul", (X, np.swapaxes(Y[:1], 1, 2)), np.matmul, "batch-broadcast"),
        Row("matmul", (X[:, np.newaxis], np.swapaxes(Y[:1, np.newaxis], 2, 3)), np.matmul, "batch-of-rank-4-by-one"),
        Row("matmul", (X[:1], np.swapaxes(Y, 1, 2)), np.matmul, "one-by-batch"),
        Row("matmul", (X[:, :1], np.swapaxes(Y[:1], 1, 2)), np.matmul, "batch-of-rows"),
        Row("matmul", (INTS[:, np.newaxis], MORE_INTS.T[np.newaxis]), np.matmul, "batch-of-ints"),
        Row("matmul", (np.ones((0, 2, 3)), np.ones((1, 3, 4))), np.matmul, "batch-of-nothing"),
        Row("matmul", (np.ones((2, 3, 0)), np.ones((1, 0, 4))), np.matmul, "batch-with-empty-inner"),
        Row("matmul", (EMPTY, np.ones((3, 2))), np.matmul, "empty-batch"),
        Row("matmul", (np.ones((2, 0)), np.ones((0, 3))), np.matmul, "empty-inner"),
        Row("softmax", (X, 1), _softmax),
        Row("softmax", (masked, 1), lambda a, d: np.array([[0.0, 0.0], [0.5, 0.5]]), "masked-row"),
        Row("softmax", (np.ones((2, 0)), 1), lambda a, d: a, "empty"),
        Row("log_softmax", (X, 2), lambda a, d: np.log(_softmax(a, d))),
        Row("log_softmax", (large, 1), lambda a, d: log_large, "large"),
        *_normalization_rows(),
        *[Row("cast", (X, dtype), lambda a, d: a.astype(str(d)), str(dtype)) for dtype in DType if dtype != "uint8"],
        *[
            Row("cast", (values, dtype), lambda a, d: a.astype(str(d)), f"{dtype}-from-{source}")
            for source, values in (("int", INTS), ("bool", MASK))
            for dtype in (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.BOOL)
        ],
        Row("cast", (SPECIAL, DType.BOOL), lambda a, d: a != 0, "bool-special"),  # NaN and inf are not 0
    ]


def _movement_rows() -> list[Row]:
    part = (slice(0, 2, 1), slice(1, 3, 1), slice(0, 4, 3))
    nothing = (slice(0, 2, 1), slice(1, 1, 1), slice(0, 4, 1))
    repeated = np.array([[[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]]])
    rows_of = np.array([2, 0, 0, 1])
    far = np.array([1, 1, 0])
    return [
        Row("reshape", (X, (4, 6)), np.reshape),
        Row("reshape", (X, (24,)), np.reshape, "flat"),
        Row("reshape", (np.arange(6.0), (2, 3)), np.reshape, "from-rank-1"),
        Row("reshape", (EMPTY, (3, 0, 5)), np.reshape, "empty"),
        Row("permute", (X, (2, 0, 1)), np.transpose),
        Row("expand", (ROW, (2, 3, 4)), np.broadcast_to),
        Row("expand", (np.array([[3.0]]), (2, 3)), np.broadcast_to, "single"),
        Row("expand", (np.array([[3.0]]), (1, 0)), np.broadcast_to, "to-nothing"),
        Row("flip", (X, (0,)), np.flip),
        Row("flip", (X, (0, 2)), np.flip, "two-dims"),
        Row("flip", (X, ()), np.flip, "no-dim"),
        Row("flip", (EMPTY, (0, 1)), np.flip, "empty"),
        *_cat_rows(),
        Row("slice", (X, part), lambda a, parts: a[parts]),
        Row("slice", (X, nothing), lambda a, parts: a[parts], "nothing"),
        Row("slice_assign", (X, part, np.ones((2, 2, 2))), _assigned),
        *_window_rows(),
        *_conv_rows(),
        Row("gather", (X, 0, repeated), lambda a, d, i: a[_along(d, i)]),
        Row("gather", (X, 2, repeated[:, :2, :3]), lambda a, d, i: a[_along(d, i)], "smaller"),
        Row("scatter", (X, 0, repeated, Y[:1]), lambda a, d, i, b: _added(a, _along(d, i), b), "repeated"),
        Row("scatter", (X, 2, repeated, Y[:1]), lambda a, d, i, b: _added(a, _along(d, i), b), "repeated-in-a-line"),
        Row("select", (X, 1, rows_of), lambda a, d, i: np.take(a, i, d)),
        Row("select", (X, 0, np.zeros(0, dtype=int)), lambda a, d, i: np.take(a, i, d), "nothing"),
        Row("select_assign", (X, 0, far, np.ones((3, 3, 4))), lambda a, d, i, b: _added(a, i, b), "repeated"),
        Row("select_assign", (X, 1, rows_of, np.ones((2, 4, 4))), lambda a, d, i, b: _added(a, (slice(None), i), b)),
    ]


def _windows(a: Values, dim: int, size: int, step: int, dilation: int) -> Values:
    """By their definition, one element after another."""
    count = max((a.shape[dim] - (size - 1) * dilation - 1) // step + 1, 0)
    elements = [np.take(a, [i * step + j * dilation for i in range(count)], dim) for j in range(size)]
    return np.stack(elements, -1)


def _windows_added(a: Values, dim: int, length: int, step: int, dilation: int) -> Values:
    out = np.zeros((*a.shape[:dim], length, *a.shape[dim + 1 : -1]))
    for window in range(a.shape[dim]):
        for at in range(a.shape[-1]):
            np.moveaxis(out, dim, 0)[window * step + at * dilation] += np.take(a[..., at], window, dim)
    return out


def _window_rows() -> list[Row]:
    line, cube = _rng.uniform(-2, 2, 9), _rng.uniform(-2, 2, (2, 7, 3))
    rows = []
    for note, a, dim, size, step, dilation in (
        ("", cube, 1, 3, 1, 1),
        ("apart", cube, 1, 2, 3, 1),
        ("dilated", cube, 1, 3, 2, 2),
        ("one", line, 0, 1, 1, 1),
        ("whole", line, 0, 9, 2, 1),
        ("every-second", line, 0, 1, 2, 5),
        ("none", line, 0, 5, 1, 3),
        ("last-dim", cube, 2, 2, 1, 1),
        ("empty", EMPTY, 1, 2, 1, 1),
        ("int", INTS, 1, 2, 1, 1),
    ):
        rows.append(Row("unfold", (a, dim, size, step, dilation), _windows, note))
        windows = _windows(a, dim, size, step, dilation)
        rows.append(Row("add_windows", (windows, dim, a.shape[dim], step, dilation), _windows_added, note))
    return rows


def _conv(a: Values, weight: Values, options: ConvOptions) -> Values:
    """By its definition, one element after another."""
    pairs = ((0, 0), (0, 0), *options.padding)
    a = np.pad(a, pairs)
    rows, columns, *sizes = weight.shape
    counts = [
        (length - (size - 1) * apart - 1) // step + 1
        for length, size, step, apart in zip(a.shape[2:], sizes, options.stride, options.dilation, strict=True)
    ]
    out = np.zeros((a.shape[0], rows, *counts))
    for row in range(rows):
        first = row // (rows // options.groups) * columns
        for at in np.ndindex(*counts):
            starts = [i * step for i, step in zip(at, options.stride, strict=True)]
            places = [
                slice(start, start + (size - 1) * apart + 1, apart)
                for start, size, apart in zip(starts, sizes, options.dilation, strict=True)
            ]
            window = a[(slice(None), slice(first, first + columns), *places)]
            out[(slice(None), row, *at)] = (window * weight[row]).sum(tuple(range(1, weight.ndim)))
    return out


def _linear_map(function: Callable[[Values], Values], shape: tuple[int, ...]) -> Values:
    """The matrix of a linear function of arrays of a shape: its derivative is the transposed matrix."""
    units = np.eye(math.prod(shape)).reshape(-1, *shape)
    return np.stack([function(unit).ravel() for unit in units], 1)


def _conv_transposed(a: Values, weight: Values, lengths: tuple[int, ...], options: ConvOptions) -> Values:
    shape = (a.shape[0], weight.shape[1] * options.groups, *lengths)
    return np.asarray((_linear_map(lambda x: _conv(x, weight, options), shape).T @ a.ravel()).reshape(shape))


def _conv_by_weight(a: Values, b: Values, sizes: tuple[int, ...], options: ConvOptions) -> Values:
    shape = (b.shape[1], a.shape[1] // options.groups, *sizes)
    return np.asarray((_linear_map(lambda x: _conv(a, x, options), shape).T @ b.ravel()).reshape(shape))


def _conv_rows() -> list[Row]:
    rows = []
    for note, lengths, channels, sizes, options in (
        ("", (4, 5), (2, 4), (2, 3), ConvOptions((1, 1), ((1, 0), (1, 1)), (1, 1), 2)),
        ("strides", (5, 4), (2, 2), (2, 2), ConvOptions((2, 1), ((0, 1), (0, 0)), (1, 2), 1)),
        ("line", (6,), (1, 2), (3,), ConvOptions((1,), ((0, 0),), (2,), 1)),
        ("one-place", (3, 2), (2, 1), (1, 1), ConvOptions((1, 1), ((0, 0), (0, 0)), (1, 1), 1)),
        ("volume", (3, 2, 3), (1, 2), (2, 1, 2), ConvOptions((1, 1, 2), ((0, 0), (1, 0), (1, 1)), (1, 1, 1), 1)),
    ):
        a = _rng.uniform(-2, 2, (2, channels[0], *lengths))
        weight = _rng.uniform(-2, 2, (channels[1], channels[0] // options.groups, *sizes))
        b = _conv(a, weight, options) / 4
        rows.append(Row("conv", (a, weight, options), _conv, note))
        rows.append(Row("conv_transpose", (b, weight, lengths, options), _conv_transposed, note))
        rows.append(Row("conv_weight_backward", (a, b, sizes, options), _conv_by_weight, note))
    return rows


def _cat_rows() -> list[Row]:
    """The reference is ``np.concatenate``; a place is where a part lies in the whole."""
    parts_of = {
        "dim0": (0, (X, Y)),
        "dim1": (1, (X, Y[:, :1], X[:, :2])),
        "dim2": (2, (X[:, :, :0], Y, X[:, :, 1:])),
        "one": (1, (X,)),
        "int": (0, (INTS, MORE_INTS, INTS[:1])),
        "bool": (2, (MASK, ~MASK)),
        "empty": (0, (EMPTY, EMPTY)),
    }
    rows = []
    for note, (dim, parts) in parts_of.items():
        ends = np.cumsum([0, *[part.shape[dim] for part in parts]]).tolist()
        whole = [slice(0, size, 1) for size in parts[0].shape]
        places = tuple((*whole[:dim], slice(start, stop, 1), *whole[dim + 1 :]) for start, stop in pairwise(ends))
        rows.append(Row("cat", (places, *parts), lambda _, *parts, dim=dim: np.concatenate(parts, dim), note))
    return rows


ROWS = [
    *_binary_rows(),
    *_truth_rows(),
    *_unary_rows(),
    *_fused_rows(),
    *_reduction_rows(),
    *_other_rows(),
    *_movement_rows(),
]
FLOAT_ROWS = [row for row in ROWS if any(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in row.args)]
