"""What the conformance suite asks of each operation: arguments, in the order of the interface.

The numbers are whole sixteenths between -1.5 and 1.5, so every number format of tinyburn holds them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .convolution import ConvOptions
from .device import Device
from .ndarray import NdArray
from .operations import NUMBERS, OPERATIONS, TENSORS, Operation

Values = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]
Calls = Sequence[Arguments]


@dataclass(frozen=True)
class Case:
    """One call of an operation. Arrays become primitives, in the device's own dtypes; all else is handed on."""

    operation: str
    arguments: Arguments

    @property
    def is_special(self) -> bool:
        """Whether inf or NaN is among the arguments."""
        numbers = [x for x in self.arguments if type(x) in NUMBERS or (isinstance(x, np.ndarray) and x.dtype == float)]
        return not all(np.isfinite(x).all() for x in numbers)

    def __str__(self) -> str:
        parts = [f"{x.shape}" if isinstance(x, np.ndarray) else _text(x) for x in self.arguments]
        kind = " with inf and NaN" if self.is_special else ""
        return f"{self.operation}({', '.join(parts)}){kind}"


def _text(x: Any) -> str:
    if isinstance(x, tuple) and x and isinstance(x[0], slice):
        return f"[{', '.join(f'{part.start}:{part.stop}' for part in x)}]"
    return "..." if isinstance(x, tuple) and any(isinstance(part, tuple) for part in x) else str(x)


def cases(device: Device[Any]) -> Iterator[Case]:
    """Every operation with some arguments; where a dtype is asked for, it is one that the device has."""
    others = _others(device)
    for operation in OPERATIONS.values():
        found = others[operation.name] if operation.name in others else _elementwise(operation)
        found = [*found, *_with_ints(operation.name)]
        yield from (Case(operation.name, arguments) for arguments in found)


def _spread(step: int) -> Values:
    """24 different numbers, none of them 0, in an order that depends on the step."""
    return ((np.arange(24.0) * step) % 24 - 11.5).reshape(2, 3, 4) / 8


A, B, C = _spread(7), _spread(5), _spread(11)  # A and B are equal in two places
POSITIVE = A + 2
HALVES = np.round(2 * A) / 2 + 0.0  # with ties, and with zeros, none of them negative
MASK, OTHER_MASK = A > 0, B > 0.5
INTS, OTHER_INTS = np.array([[3, -2, 0], [7, 5, -4]]), np.array([[2, 3, -5], [-3, 5, 1]])
EMPTY = np.zeros((0, 3))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
OTHER_SPECIAL = np.array([0.0, 1.0, math.inf, math.inf, -math.inf, math.nan, 2.0])
DIM0, DIM1, DIM2 = range(3)


# Elementwise

_INSIDE: dict[str, tuple[Values, ...]] = {
    **dict.fromkeys(("log", "log1p", "log2", "log10", "sqrt", "acosh"), (POSITIVE + 1,)),
    **dict.fromkeys(("asin", "acos", "atanh"), (A / 2,)),
    **dict.fromkeys(("round", "floor", "ceil", "trunc", "sign"), (HALVES,)),
    **dict.fromkeys(("bool_and", "bool_or", "bool_xor"), (MASK, OTHER_MASK)),
    "powf": (POSITIVE, B),
    "bool_not": (MASK,),
    "mask_where": (A, MASK, B),
    "relu_backward": (A, np.maximum(B, 0)),
    "extreme_backward": (A, HALVES, HALVES.max(axis=2, keepdims=True)),
    "adaptive_sum": (A, B, POSITIVE),
}
"""The tensors of operations that are defined for some numbers only, or that are interesting at some."""

_NUMBERS: dict[str, Sequence[float]] = {
    "exponent": (0.0, 1.0, 2.0, 3.0, -1.0),
    **{"scale": (-1.5,), "low": (-0.5,), "high": (0.75,), "slope": (0.25,)},
    **{"first": (0.5,), "second": (-0.25,), "epsilon": (0.125,)},
}
_TAKE_NUMBERS = {
    *("add", "sub", "mul", "div", "powf", "maximum", "minimum", "atan2"),
    *("equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal"),
}
"""A number may stand on either side of these."""
_NOT_SPECIAL = {
    *("bool_not", "bool_and", "bool_or", "bool_xor", "mask_where"),
    *("powf", "remainder", "fmod", "scaled_mul", "extreme_backward", "relu_backward"),
}
"""Those of masks, and those for which the interface leaves open what becomes of inf and NaN, or needs other ones."""


def _elementwise(operation: Operation) -> list[Arguments]:
    """All operands of one shape; operands that broadcast; a number for one of them; nothing; inf and NaN."""
    name, parameters = operation.name, operation.parameters
    count = len([parameter for parameter in parameters if parameter in TENSORS])
    inside = _INSIDE.get(name, (A, B, C)[:count])
    found = [tuple(inside)]
    if count > 1:
        found.append((inside[0][:1, :1], *[x[:, :, :1] for x in inside[1:]]))
    found.append(tuple(np.zeros((0, 3), x.dtype) for x in inside))
    if name not in _NOT_SPECIAL:
        found.append((SPECIAL, OTHER_SPECIAL, SPECIAL)[:count])
    calls = [call for tensors in found for call in _with_numbers(parameters[count:], tensors)]
    return calls + ([(POSITIVE, 1.5), (1.5, POSITIVE)] if name in _TAKE_NUMBERS else [])


def _with_numbers(parameters: Sequence[str], tensors: Arguments) -> list[Arguments]:
    """The tensors, followed by every choice of the other arguments."""
    calls = [tensors]
    for parameter in parameters:
        calls = [(*call, number) for call in calls for number in _NUMBERS[parameter]]
    return calls


_OF_INTS: dict[str, Calls] = {
    **dict.fromkeys(
        ("add", "sub", "mul", "maximum", "minimum", "remainder", "equal", "greater"), ((INTS, OTHER_INTS),)
    ),
    **dict.fromkeys(("neg", "abs", "sign", "sum"), ((INTS,),)),
    **dict.fromkeys(("cumsum", "cummax"), ((INTS, DIM1),)),
    "sum_dims": [(INTS, (DIM1,))],
    "powf_scalar": [(INTS, 3)],
    "matmul": [(INTS, OTHER_INTS.T)],
}


def _with_ints(name: str) -> Calls:
    return _OF_INTS.get(name, ())


# All others


def _others(device: Device[Any]) -> dict[str, Calls]:
    return {
        **_products(),
        **_reductions(device),
        **_along_a_dim(),
        **_movement(device),
        **_indexing(),
        **_convolutions(),
    }


def _products() -> dict[str, Calls]:
    weight, bias = B[0].T[:, :2], C[0, 0, :2]
    return {
        "matmul": [(A[0], B[0].T), (A, np.swapaxes(B, 1, 2)), (A, B[:1].swapaxes(1, 2)), (EMPTY, np.ones((3, 2)))],
        "linear": [(A[0], weight, bias), (A, weight, bias)],
        "linear_input": [(A[0], weight.T), (A, weight.T)],
        "linear_weight": [(A[0], B[0]), (A, B[..., :2])],
        "linear_bias": [(A[0],), (A,)],
    }


def _reductions(device: Device[Any]) -> dict[str, Calls]:
    index = device.int_dtype
    some: Calls = ((A, (DIM0,)), (A, (DIM0, DIM2)), (A, (DIM0, DIM1, DIM2)))
    spread: Calls = ((A, DIM1, 0), (A, DIM2, 1))
    extremes: Calls = ((HALVES, DIM0, index), (HALVES, DIM2, index))
    masks: Calls = ((MASK,), (MASK | True,), (MASK & False,))
    return {
        **dict.fromkeys(("mean_dims", "max_dims", "min_dims"), some),
        "sum_dims": [*some, (EMPTY, (DIM0,))],
        **dict.fromkeys(("sum", "mean", "max", "min", "norm"), ((A,),)),
        "prod": [(POSITIVE / 2,)],
        "prod_dim": [(A, DIM1), (A, DIM2)],
        **dict.fromkeys(("any", "all"), masks),
        **dict.fromkeys(("var", "std"), spread),
        **dict.fromkeys(("argmax", "argmin"), extremes),
        "argsort": [(A, DIM2, False, index), (HALVES, DIM1, True, index)],
    }


def _along_a_dim() -> dict[str, Calls]:
    scans: Calls = ((A, DIM0), (A, DIM2), (SPECIAL, DIM0))
    rows, scale = A[:, :, :1], POSITIVE[:, :, :1]
    return {
        **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"), scans),
        **dict.fromkeys(("softmax", "log_softmax"), scans[:2]),
        "softmax_backward": [(A, POSITIVE / 4, DIM1)],
        "log_softmax_backward": [(A, B, DIM2)],
        "standardize": [(A, rows, scale, (DIM2,))],
        "standardize_backward": [(A, B, scale, (DIM2,))],
    }


def _movement(device: Device[Any]) -> dict[str, Calls]:
    part = (slice(0, 2, 1), slice(1, 3, 1), slice(0, 4, 3))
    halves = ((slice(0, 2, 1), slice(0, 3, 1)), (slice(2, 4, 1), slice(0, 3, 1)))
    return {
        "cast": [
            *[(A, dtype) for dtype in (device.float_dtype, device.int_dtype, "bool")],
            *[(INTS, device.float_dtype), (MASK, device.float_dtype), (MASK, device.int_dtype)],
        ],
        "reshape": [(A, (4, 6)), (A, (24,)), (EMPTY, (3, 0))],
        "permute": [(A, (2, 0, 1))],
        "expand": [(A[:, :1], (2, 3, 4)), (A[:1, :1, :1], (2, 3, 4))],
        "flip": [(A, (DIM0,)), (A, (DIM0, DIM2))],
        "slice": [(A, part)],
        "slice_assign": [(A, part, np.ones((2, 2, 2)))],
        "cat": [(halves, INTS, OTHER_INTS), (halves, A[:, :, 0], B[:, :, 0]), (halves, MASK[:, :, 0], MASK[:, :, 1])],
    }


def _indexing() -> dict[str, Calls]:
    """With an index that comes several times."""
    picked, rows = np.array([[[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]]]), np.array([2, 0, 0, 1])
    return {
        "gather": [(A, DIM0, picked), (A, DIM2, picked[:, :2, :3])],
        "scatter": [(A, DIM0, picked, B[:1]), (A, DIM2, picked, B[:1])],
        "select": [(A, DIM1, rows)],
        "select_assign": [(A, DIM1, rows, np.ones((2, 4, 4)))],
    }


def _convolutions() -> dict[str, Calls]:
    options = ConvOptions((2, 1), ((1, 0), (0, 1)), (1, 2), 2)
    image, weight = _numbered(2, 2, 4, 5), _numbered(4, 1, 2, 3)
    result = _numbered(*OPERATIONS["conv"].shape(image, weight, options))
    windows: Calls = ((A, DIM1, 2, 1, 1), (A, DIM2, 2, 2, 1), (A, DIM2, 2, 1, 2))
    return {
        "conv": [(image, weight, options)],
        "conv_transpose": [(result, weight, image.shape[2:], options)],
        "conv_weight_backward": [(image, result, weight.shape[2:], options)],
        "unfold": windows,
        "add_windows": [
            (NdArray.unfold(a, dim, size, step, apart), dim, a.shape[dim], step, apart)
            for a, dim, size, step, apart in windows
        ],
    }


def _numbered(*shape: int) -> Values:
    return (np.arange(math.prod(shape)) * 7 % 16 - 7.5).reshape(shape) / 8


Maker = Callable[[Values, Any], Any]


def row_major(values: Values, device: Device[Any]) -> Any:
    """A primitive as it usually lies in memory."""
    return device.backend.from_numpy(values, device)


def column_major(values: Values, device: Device[Any]) -> Any:
    """The same values, stored with the dims reversed and then permuted back."""
    axes = tuple(reversed(range(values.ndim)))
    return device.backend.permute(device.backend.from_numpy(values.transpose(axes), device), axes)


LAYOUTS: dict[str, Maker] = {"": row_major, ", columns first": column_major}
"""How operands lie in memory, and what is said of it."""
