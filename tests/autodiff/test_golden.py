"""Values and first derivatives of every operation against PyTorch's, stored by tests/golden/operations.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.golden.files import Values
from tests.golden.operations import CASES, DTYPES, FILE, operands, weights
from tests.support import BASES, AnyTensor, UnderTest, const, ints, params_with_dtype
from tinyburn import Autodiff, Tensor, activation

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def zeros_for(x: AnyTensor, columns: int) -> AnyTensor:
    """Indices that all read the first entry of the last dim."""
    return ints(np.zeros((x.shape[0], columns), dtype=int), x.device)


OURS: dict[str, Callable[..., AnyTensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "remainder": lambda x, y: x % y,
    "powf": lambda x, y: x**y,
    "maximum": lambda x, y: x.maximum(y),
    "minimum": lambda x, y: x.minimum(y),
    "mask_where": lambda x, y: x.mask_where(x > 0, y),
    "a tensor with itself": lambda x, y: x * y + y * y,
    **{
        name: lambda x, name=name: getattr(x, name)()  # type: ignore[misc]
        for name in ("neg", "abs", "sign", "exp", "sin", "cos", "sinh", "cosh", "tanh", "erf", "floor", "ceil", "round")
    },
    **{
        name: lambda x, name=name: getattr(x, name)()  # type: ignore[misc]
        for name in ("log", "log1p", "sqrt", "recip", "sum", "mean", "max", "min", "prod", "norm", "transpose")
    },
    "x ** 1.5": lambda x: x**1.5,
    "x ** -2": lambda x: x**-2,
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "2 ** x": lambda x: 2.0**x,
    "1 - x": lambda x: 1.0 - x,
    "x % 0.7": lambda x: x % 0.7,
    "clamp": lambda x: x.clamp(-0.6, 0.7),
    "clamp_min": lambda x: x.clamp_min(-0.6),
    "relu": activation.relu,
    "leaky_relu": activation.leaky_relu,
    "sigmoid": activation.sigmoid,
    "silu": activation.silu,
    "gelu": activation.gelu,
    "softplus": activation.softplus,
    "softplus(2)": lambda x: activation.softplus(x, 2.0),
    "softmax(-1)": lambda x: activation.softmax(x, -1),
    "softmax(0)": lambda x: activation.softmax(x, 0),
    "log_softmax(-1)": lambda x: activation.log_softmax(x, -1),
    "log_softmax(0)": lambda x: activation.log_softmax(x, 0),
    "sum_dim(-1)": lambda x: x.sum_dim(-1),
    "sum_dim(0)": lambda x: x.sum_dim(0),
    "sum_dims(0, -1)": lambda x: x.sum_dims((0, -1)),
    "prod_dim(-2)": lambda x: x.prod_dim(-2),
    "mean_dim(-1)": lambda x: x.mean_dim(-1),
    "max_dim(-1)": lambda x: x.max_dim(-1),
    "min_dim(0)": lambda x: x.min_dim(0),
    "var(-1)": lambda x: x.var(-1),
    "var_bias(0)": lambda x: x.var_bias(0),
    "std(0)": lambda x: x.std(0),
    "std_bias(-1)": lambda x: x.std_bias(-1),
    "x @ y.mT": lambda x, y: x @ y.mT,
    "x.mT @ y": lambda x, y: x.mT @ y,
    "reshape": lambda x: x.flatten() ** 2,
    "transpose": lambda x: x.transpose() ** 2,
    "expand": lambda x: x.unsqueeze().expand((2, *x.shape)) ** 2,
    "flip(-1)": lambda x: x.flip((-1,)) ** 2,
    "x[:, ::2]": lambda x: x[:, ::2] ** 2,
    "x[:, ::-2]": lambda x: x[:, ::-2] ** 2,
    "cat(0)": lambda x, y: Tensor.cat([x, y, x], 0) ** 2,
    "cat(-1)": lambda x, y: Tensor.cat([x, y, x], -1) ** 2,
    "stack(1)": lambda x, y: Tensor.stack([x, y], 1) ** 2,
    "select(-1)": lambda x: x.select(-1, ints([0, 0], x.device)) ** 2,
    "gather(-1)": lambda x: x.gather(-1, zeros_for(x, 2)) ** 2,
    "scatter(-1)": lambda x, y: x.scatter(-1, zeros_for(y, y.shape[1]), y) ** 2,
}

TOLERANCE = {"float32": 3e-6, "float64": 1e-13}


def strided(values: Values, device: Any) -> AnyTensor:
    """A leaf whose elements lie in another order in memory, with gaps, and from the end to the start."""
    spread = np.zeros((2 * values.shape[1], values.shape[0]), values.dtype)
    spread[::2] = values.T[::-1]
    return const(spread, device)[::2].flip((0,)).transpose().detach().require_grad()


def whole(values: Values, device: Any) -> AnyTensor:
    return const(values, device).require_grad()


def test_each_case_is_computed_by_both() -> None:
    assert set(OURS) == set(CASES)


@pytest.mark.parametrize("make", [whole, strided], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype(*DTYPES, backends=BASES))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest, dtype: str, make: Any) -> None:
    device = base.inside(Autodiff).device(dtype)
    names, shapes = CASES[name]
    for shape in shapes:
        inputs = [make(values, device) for values in operands(names, shape, dtype)]
        assert_golden(OURS[name], inputs, GOLDEN[f"{name} {shape} {dtype}"], dtype)


def assert_golden(function: Callable[..., AnyTensor], inputs: list[AnyTensor], golden: Any, dtype: str) -> None:
    """The shape, the value, and the gradient of each input are those of the file."""
    result = function(*inputs)
    assert result.shape == tuple(golden["shape"])
    assert_near(result, golden["value"], dtype)
    grads = (result * const(weights(result.shape, dtype), result.device)).sum().backward()
    for x, expected in zip(inputs, golden["gradients"], strict=True):
        gradient = x.grad(grads)
        assert_near(x.inner().zeros_like() if gradient is None else gradient, expected, dtype)


def assert_near(found: AnyTensor, expected: list[float], dtype: str) -> None:
    wanted = np.array(expected)
    np.testing.assert_allclose(found.to_numpy().ravel(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
