"""The Jacobian card: every slope by backward, and by small steps beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor
from tests.viz.examples import texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, Device, Meta, NdArray, Tensor, activation
from tinyburn.base.errors import BackendMismatch, ConfigError
from tinyburn.viz import jacobian
from tinyburn.viz.cells import digits
from tinyburn.viz.jacobian import slopes_of


def device(dtype: str = "float64") -> Device[Any]:
    return Autodiff[NdArray].device(float_dtype=dtype)


def test_softmax_has_the_slopes_of_the_textbook() -> None:
    """s_i (1 if i = j else 0) - s_i s_j, with NumPy."""
    x = np.array([[1.0, 2.0, 0.5, -1.0]])
    s = np.exp(x[0]) / np.exp(x[0]).sum()
    found = slopes_of(lambda x: activation.softmax(x, 1), Tensor.from_data(x, device()))
    np.testing.assert_allclose(found.exact, np.diag(s) - np.outer(s, s), rtol=1e-12)
    np.testing.assert_allclose(found.by_steps, found.exact, atol=1e-9)
    assert found.difference < 1e-9


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 3e-3), ("float64", 1e-9)])
def test_a_matrix_is_its_own_jacobian(dtype: str, tolerance: float) -> None:
    matrix = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 4.0]])
    weight = Tensor.from_data(matrix.T.tolist(), device(dtype))
    found = slopes_of(lambda x: x @ weight, Tensor.from_data([[0.3, -0.7]], weight.device))
    np.testing.assert_allclose(found.exact, matrix)
    np.testing.assert_allclose(found.by_steps, matrix, atol=tolerance)


def test_a_result_that_does_not_depend_on_x_has_slopes_of_zero() -> None:
    found = slopes_of(lambda x: Tensor.ones((1, 2), x.device), Tensor.ones((1, 3), device()))
    assert found.exact.shape == (2, 3)
    assert not found.exact.any()
    assert not found.by_steps.any()
    assert "they agree to" in jacobian(lambda x: x * 0.0, Tensor.ones((1, 2), device())).title


def test_a_slope_that_is_wrong_is_told() -> None:
    """At a kink the two sides differ: relu's slope at 0 is taken as 0, and steps to both sides see one half."""
    title = jacobian(activation.relu, Tensor.zeros((1, 1), device())).title
    assert title.endswith("they differ by 5e-01")


def test_inf_and_nan_are_said_and_shown() -> None:
    picture = jacobian(lambda x: x.sqrt(), Tensor.from_data([[0.0, 2.0]], device()))
    assert picture.title.endswith("1 by backward are inf or NaN")
    assert "inf" in texts(picture)
    assert_readable(picture)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 12), (0, 3)], ids=str)
def test_any_shape_is_readable(shape: tuple[int, ...]) -> None:
    picture = jacobian(lambda x: x.tanh(), Tensor.full(shape, 0.5, device()))
    assert_readable(picture)
    assert ("the first 8 and 8 are shown" in picture.text) == (shape == (1, 12))


def untouched(x: AnyTensor) -> Any:
    return x


@pytest.mark.parametrize(
    ("function", "x", "error", "word"),
    [
        (untouched, Tensor.ones((1, 2), NdArray.device()), BackendMismatch, "Autodiff"),
        (untouched, Tensor.ones((1, 2), Autodiff[Meta].device()), BackendMismatch, "with values"),
        (untouched, [1.0], BackendMismatch, "Autodiff"),
        (untouched, Tensor.ones((100, 1), device()), ConfigError, "10000 slopes"),
        (lambda x: 1.0, Tensor.ones((1, 2), device()), ConfigError, "returned float"),
    ],
    ids=["no-autodiff", "no-values", "no-tensor", "too-many", "no-result"],
)
def test_what_cannot_be_drawn(function: Any, x: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        jacobian(function, x)


def test_digits_fit_into_a_cell() -> None:
    values = [0.0, -0.0, 0.1234, -12.5, 1e-9, 123456.0]
    assert [digits(value) for value in values] == ["0", "0", "0.123", "-12", "1e-09", "1.2e+05"]


_SCRIPT = """
from tinyburn import Autodiff, NdArray, Tensor, viz
x = Tensor.from_data([[0.5, -1.0]], Autodiff[NdArray].device(float_dtype="float64"))
picture = viz.jacobian(lambda x: x * x, x)
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
