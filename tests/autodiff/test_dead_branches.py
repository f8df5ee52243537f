"""A gradient of 0 stays 0 through every operation, whatever its operands are: what does not count has slope 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import dtype_on
from tests.backend.table import ROWS, Row
from tests.support import AnyTensor, UnderTest, leaf
from tinyburn import Autodiff, Device, Tensor
from tinyburn.backend.operations import OPERATIONS


def floats(row: Row) -> list[int]:
    """The positions of the float tensors among the arguments of a row."""
    return [at for at, x in enumerate(row.args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


PRODUCTS = ("matmul", "linear", "linear_input", "linear_weight", "conv", "conv_transpose", "conv_weight_backward")
"""A matrix product adds products up: a 0 times inf among them is NaN, whatever it is added to."""

# The first row of each operation that can have a gradient.
FIRST = {
    row.name: row
    for row in reversed(ROWS)
    if OPERATIONS[row.name].result in ("like", "dtype") and row.name not in PRODUCTS and floats(row)
}


def call(row: Row, operands: dict[int, AnyTensor], device: Device[Any]) -> AnyTensor:
    """The operation of a row, with some arguments put in the place of its own."""
    made: list[Any] = []
    for at, x in enumerate(row.args):
        if at in operands:
            made.append(operands[at].primitive)
        elif isinstance(x, np.ndarray):
            made.append(Tensor.from_data(x, device, dtype=dtype_on(device, x)).primitive)
        else:
            made.append(x)
    return Tensor._around(getattr(device.backend, row.name)(*made), device)


@pytest.mark.parametrize("dead", [np.inf, -np.inf, np.nan, 0.0, 3e38])
@pytest.mark.parametrize("name", FIRST)
def test_a_gradient_of_zero_stays_zero(name: str, dead: float, base: UnderTest) -> None:
    """First and second order, with each operand spoiled alone, and with all of them."""
    row = FIRST[name]
    if not base.has(*row.dtypes):
        pytest.skip(f"{base.name} does not have {row.dtypes}")
    device: Any = base.inside(Autodiff).inside(Autodiff).device()
    for spoiled in (floats(row), *([at] for at in floats(row))):
        values = {at: np.full_like(row.args[at], dead) if at in spoiled else row.args[at] for at in floats(row)}
        inner = {at: leaf(x, device.inner) for at, x in values.items()}
        outer = {at: Tensor.from_inner(x, device).require_grad() for at, x in inner.items()}
        result = call(row, outer, device)
        grads = result.backward(result.inner().detach().zeros_like())
        for first in (g for x in outer.values() if (g := x.grad(grads)) is not None):
            assert_zero(first)
            if first.primitive.is_tracked:
                seconds = first.backward(retain_graph=True)
                for second in (g for x in inner.values() if (g := x.grad(seconds)) is not None):
                    assert_zero(second)


def assert_zero(gradient: AnyTensor) -> None:
    assert (gradient.to_numpy() == 0).all()
