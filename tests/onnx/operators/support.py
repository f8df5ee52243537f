"""What the tests of operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support import AnyTensor, Values, assert_close, const, grads_of, plain, tracked
from tinyburn.onnx import Operators
from tinyburn.onnx.values import Value, host

NUMBERS: Values = np.random.default_rng(0).standard_normal((2, 3, 4))


def computed(opset: int, name: str, *inputs: Any, **attributes: Any) -> Any:
    """The result of an operator, as a NumPy array, for NumPy arrays; a tuple of them if there are several."""
    call = getattr(Operators(opset), name)
    found = call(*[None if each is None else host(np.asarray(each)) for each in inputs], **attributes)
    return tuple(map(_numbers, found)) if isinstance(found, tuple) else _numbers(found)


def _numbers(value: Value) -> Values:
    return value.numbers("a result")


def check_gradient(opset: int, name: str, x: Values, *others: Any, **attributes: Any) -> None:
    """The gradient of the first input against central differences of a weighted sum of the result."""
    call = getattr(Operators(opset), name)
    more = [host(np.asarray(each)) for each in others]
    weights = np.random.default_rng(1).standard_normal(call(host(x), *more, **attributes).shape or (1,))

    def total(each: AnyTensor) -> AnyTensor:
        result: AnyTensor = call(each, *more, **attributes).tensor
        return result.mul(const(weights, each.device)).sum()

    (found,) = grads_of(total, x, device=tracked())
    assert_close(found, slopes(lambda values: total(const(values, plain())).item(), x), tolerance=1e-6)


def slopes(function: Callable[[Values], float], x: Values, step: float = 1e-6) -> Values:
    """The slope of a function at each element, by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        found[at] = (function(x + moved) - function(x - moved)) / (2 * step)
    return found
