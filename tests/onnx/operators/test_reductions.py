"""Reductions, scans and products: old versions, empty sets, extremes, and gradients.

Expected values are NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import assert_close

from .support import NUMBERS, check_gradient, computed

REDUCTIONS: dict[str, Any] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceProd": np.prod,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceL1": lambda x, **how: np.abs(x).sum(**how),
    "ReduceL2": lambda x, **how: np.sqrt((x * x).sum(**how)),
    "ReduceLogSum": lambda x, **how: np.log(x.sum(**how)),
    "ReduceLogSumExp": lambda x, **how: np.log(np.exp(x).sum(**how)),
    "ReduceSumSquare": lambda x, **how: (x * x).sum(**how),
}
POSITIVE = np.abs(NUMBERS) + 0.5


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, (1,), (0, -1)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_are_an_attribute_at_first_and_an_input_later(name: str, axes: Any, keepdims: int) -> None:
    expected = REDUCTIONS[name](POSITIVE, axis=axes, keepdims=bool(keepdims))
    given = {} if axes is None else {"axes": axes}
    assert_close(computed(11, name, POSITIVE, keepdims=keepdims, **given), expected)
    assert_close(computed(18, name, POSITIVE, axes, keepdims=keepdims), expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_along_no_axis_each_element_is_reduced_by_itself(name: str) -> None:
    expected = REDUCTIONS[name](POSITIVE[..., None], axis=-1)
    assert_close(computed(18, name, POSITIVE, noop_with_empty_axes=1), expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_of_rank_0(name: str) -> None:
    assert_close(computed(18, name, 2.0), REDUCTIONS[name](np.array(2.0)))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients(name: str) -> None:
    check_gradient(18, name, POSITIVE, [0, 2], keepdims=0)


def test_of_no_element() -> None:
    nothing = np.zeros((2, 0))
    found = {name: computed(20, name, nothing, [1], keepdims=0)[0] for name in REDUCTIONS if name != "ReduceMean"}
    least = {"ReduceMax": -np.inf, "ReduceMin": np.inf, "ReduceProd": 1.0}
    assert found == {name: least.get(name, -np.inf if "Log" in name else 0.0) for name in found}
    assert computed(20, "ReduceMax", np.zeros(0, np.int32)).tolist() == [-(2**31)]
    assert not computed(20, "ReduceMax", np.zeros(0, bool))[0]


def test_whole_numbers_keep_their_dtype() -> None:
    x = np.arange(-7, 5, dtype=np.int32).reshape(3, 4)
    for name, expected in (("ReduceSum", [-22, -6, 10]), ("ReduceMean", [-5, -1, 2])):
        found = computed(18, name, x, [1], keepdims=0)
        assert (found.dtype, found.tolist()) == (np.int32, expected)


def test_no_exponential_and_no_square_overflows() -> None:
    assert_close(computed(18, "ReduceLogSumExp", [1000.0, 1000.0]), [1000 + np.log(2)])
    assert computed(18, "ReduceLogSumExp", [-np.inf, -np.inf]).tolist() == [-np.inf]
    assert computed(18, "ReduceLogSumExp", [np.inf, 0.0]).tolist() == [np.inf]
    assert_close(computed(18, "ReduceL2", [3e200, 4e200]) / 1e200, [5.0])


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_scans(exclusive: int, reverse: int) -> None:
    """The standard's example, with 1, 2, 3."""
    sums = {(0, 0): [1, 3, 6], (1, 0): [0, 1, 3], (0, 1): [6, 5, 3], (1, 1): [5, 3, 0]}
    products = {(0, 0): [1, 2, 6], (1, 0): [1, 1, 2], (0, 1): [6, 6, 3], (1, 1): [6, 3, 1]}
    how = {"exclusive": exclusive, "reverse": reverse}
    assert computed(14, "CumSum", [1, 2, 3], 0, **how).tolist() == sums[exclusive, reverse]
    assert computed(26, "CumProd", [1, 2, 3], 0, **how).tolist() == products[exclusive, reverse]
    check_gradient(26, "CumProd", NUMBERS, 1, **how)


def test_hardmax_once_took_all_dims_together() -> None:
    x = np.array([[[1.0, 2.0], [2.0, 0.0]]])
    assert computed(11, "Hardmax", x).tolist() == [[[0.0, 1.0], [0.0, 0.0]]]
    assert computed(13, "Hardmax", x, axis=1).tolist() == [[[0.0, 1.0], [1.0, 0.0]]]


@pytest.mark.parametrize("p", [1, 2])
def test_normalized_vectors(p: int) -> None:
    x = np.concatenate([NUMBERS, np.zeros((1, 3, 4))])
    lengths = np.linalg.norm(x, p, axis=1, keepdims=True)
    assert_close(computed(22, "LpNormalization", x, axis=1, p=p), x / np.where(lengths == 0, 1, lengths))
    check_gradient(22, "LpNormalization", NUMBERS, axis=1, p=p)


def test_determinants() -> None:
    x = np.random.default_rng(3).standard_normal((2, 2, 5, 5))
    assert_close(computed(22, "Det", x), np.linalg.det(x))
    assert_close(computed(22, "Det", [[0.0, 2.0], [3.0, 0.0]]), np.array(-6.0))
    assert computed(22, "Det", [[1.0, 2.0], [2.0, 4.0]]).tolist() == 0.0
    check_gradient(22, "Det", x[0])


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij, bjk -> bik", [(2, 3, 4), (2, 4, 5)]),
        ("bij,ji", [(2, 3, 4), (4, 3)]),
        ("bA,ba", [(2, 3), (2, 4)]),
        ("...ij,...jk->...ki", [(2, 3, 4), (1, 4, 2)]),
        ("...ii->...i", [(2, 3, 3)]),
        (",i->i", [(), (3,)]),
        ("ij->", [(2, 3)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    operands = [np.random.default_rng(4).standard_normal(shape) for shape in shapes]
    assert_close(computed(12, "Einsum", *operands, equation=equation), np.einsum(equation, *operands))
