"""Products, diagonals and norms against NumPy; and grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, assert_close, const, grads_of, ints, plain, second_grads_of
from tinyburn import Autodiff, ConfigError, Device, DTypeMismatch, NdArray, ShapeError, Tensor, Traced, grid, linalg

X = 1.5 * np.sin(1.7 * np.arange(24.0) + 0.3).reshape(2, 3, 4)
NORMS = [0, 1, 2, 3, 4, 1.5, 0.5, math.inf, -math.inf]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("norm", NORMS)
def test_norms_are_numpys(norm: float, dim: int, device: Device[Any]) -> None:
    found = linalg.vector_norm(const(X, device), norm, dim)
    assert_close(found.to_numpy(), np.linalg.norm(X, norm, dim, keepdims=True), str(device.float_dtype))


@pytest.mark.parametrize("norm", [2, 3, 1.5, 0.5])
def test_no_power_overflows_or_is_lost(norm: float, base: UnderTest) -> None:
    for size in (1e30, 1e-30):
        expected = size * np.linalg.norm([3.0, 4.0], norm)
        found = linalg.vector_norm(const([3.0 * size, 4.0 * size], base.device()), norm, 0).to_numpy()
        np.testing.assert_allclose(found, [expected], rtol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_infinite_and_missing_values(norm: float) -> None:
    for values in ([1.0, math.inf], [math.nan, 1.0], [math.inf, -math.inf]):
        assert_close(linalg.vector_norm(const(values, plain()), norm, 0).to_numpy(), [np.linalg.norm(values, norm)])


def test_the_norm_of_no_element() -> None:
    nothing = Tensor.zeros((2, 0), plain())
    for norm in (0, 1, 2, 3, 0.5):
        assert linalg.vector_norm(nothing, norm, 1).to_numpy().tolist() == [[0], [0]]
    with pytest.raises(ShapeError, match="no elements"):
        linalg.vector_norm(nothing, math.inf, 1)


@pytest.mark.parametrize("norm", [0.5, 1, 1.5, 2, 3, math.inf])
def test_48_norms_at_zero_have_slope_zero(norm: float, base_tracked: Device[Any]) -> None:
    def length(x: AnyTensor) -> AnyTensor:
        return linalg.vector_norm(x, norm, 1)

    found = grads_of(length, [[0.0, 0.0], [0.0, 0.0]], device=base_tracked)[0]
    assert found.tolist() == [[0, 0], [0, 0]]
    beside = grads_of(length, [[0.0, 2.0]], device=base_tracked)[0]
    assert_close(beside, [[0, 1]], str(base_tracked.float_dtype))


def test_the_second_derivative_of_a_length() -> None:
    """That of ``sqrt(x^2 + y^2)`` summed over both directions: ``(y^2 - x * y) / r^3`` and ``(x^2 - x * y) / r^3``."""
    first, second = second_grads_of(lambda x: linalg.l2_norm(x, 0), [3.0, 4.0])
    assert_close(first, [0.6, 0.8])
    assert_close(second, [(16 - 12) / 125, (9 - 12) / 125])


def test_counts_and_distances_of_ints(base: UnderTest) -> None:
    x = ints([[3, -4, 0]], base.device())
    assert linalg.l0_norm(x, 1).to_numpy().tolist() == [[2]]
    assert linalg.l1_norm(x, 1).to_numpy().tolist() == [[7]]
    assert linalg.max_abs_norm(x, 1).to_numpy().tolist() == [[4]]
    assert linalg.min_abs_norm(x, 1).to_numpy().tolist() == [[0]]


def test_angles_and_lengths_of_one(device: Device[Any]) -> None:
    x = const([[3.0, 4.0], [0.0, 0.0]], device)
    assert_close(linalg.vector_normalize(x, 2, 1).to_numpy(), [[0.6, 0.8], [0, 0]], str(device.float_dtype))
    y = const([[4.0, 3.0], [1.0, 0.0]], device)
    assert_close(linalg.cosine_similarity(x, y, 1).to_numpy(), [[24 / 25], [0]], str(device.float_dtype))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3), (3, 0), (2, 0, 2), (1, 1)])
def test_diagonals_are_numpys(shape: tuple[int, ...], device: Device[Any]) -> None:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    expected = np.diagonal(values, axis1=-2, axis2=-1)
    assert_close(linalg.diag(const(values, device)).to_numpy(), expected)
    assert_close(linalg.trace(const(values, device)).to_numpy(), expected.sum(-1)[..., None, None])


def test_a_diagonal_is_a_view() -> None:
    device: Any = Traced[NdArray].device()
    _ = linalg.diag(Tensor.ones((4, 4), device))
    assert device.memory_usage().number_allocs == 1


def test_outer_products(device: Device[Any]) -> None:
    x, y = const(X[:, 0], device), const(X[:, 1, :3], device)
    assert_close(linalg.outer(x, y).to_numpy(), np.einsum("bi,bj->bij", X[:, 0], X[:, 1, :3]))
    found = linalg.outer_dim(const(X[0], device), const(X[1, :2], device), 0)
    assert_close(found.to_numpy(), np.einsum("ik,jk->ijk", X[0], X[1, :2]))


def test_a_matrix_by_a_vector(device: Device[Any]) -> None:
    found = linalg.matvec(const(X, device), const(X[:, 0], device))
    assert_close(found.to_numpy(), np.einsum("bij,bj->bi", X, X[:, 0]))
    assert_close(linalg.matvec(const(X[0], device), const(X[1, 0], device)).to_numpy(), X[0] @ X[1, 0])


WRONG: dict[str, tuple[Callable[[AnyTensor], Any], Any, str]] = {
    "a norm below 0": (lambda x: linalg.vector_norm(x, -1, 0), ConfigError, "p is -1, and must be above 0"),
    "a norm of ints": (lambda x: linalg.vector_norm(x.int(), 2, 0), DTypeMismatch, "takes a float tensor"),
    "the trace of a vector": (lambda x: linalg.trace(x.flatten()), ShapeError, "it needs two dims"),
    "two matrices": (lambda x: linalg.matvec(x, x), ShapeError, "the vector has one less"),
    "outer of two ranks": (lambda x: linalg.outer(x, x.flatten()), ShapeError, "the ranks differ"),
    "no line": (lambda _: grid.meshgrid([]), ShapeError, "a list of 1 to 6 lines"),
    "a matrix as a line": (lambda x: grid.meshgrid([x[0]]), ShapeError, "a line has rank 1"),
    "another indexing": (
        lambda x: grid.meshgrid([x.flatten()], "ij"),  # type: ignore[arg-type]
        ShapeError,
        'use "matrix" or "cartesian"',
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    call, error, words = WRONG[case]
    with pytest.raises(error, match=words):
        call(const(X[0], plain()))


@pytest.mark.parametrize(("ours", "numpys"), [("matrix", "ij"), ("cartesian", "xy")])
@pytest.mark.parametrize("lengths", [(3,), (3, 2), (3, 2, 4), (0, 2)])
@pytest.mark.parametrize("sparse", [False, True])
def test_grids_are_numpys(ours: Any, numpys: Any, lengths: tuple[int, ...], sparse: bool, base: UnderTest) -> None:
    lines = [np.arange(float(length)) + 10 * at for at, length in enumerate(lengths)]
    found = grid.meshgrid([const(line, base.device()) for line in lines], ours, sparse)
    expected = np.meshgrid(*lines, indexing=numpys, sparse=sparse)
    for one, other in zip(found, expected, strict=True):
        assert_close(one.to_numpy(), other)
    if not sparse:
        stacked = grid.meshgrid_stack([const(line, base.device()) for line in lines], ours)
        assert_close(stacked.to_numpy(), np.stack(expected, -1))


def test_a_grid_carries_gradients() -> None:
    x = const([1.0, 2.0], Autodiff[NdArray].device()).require_grad()
    across, down = grid.meshgrid([x, x.detach()])
    found = x.grad((across * down).sum().backward())
    assert found is not None
    assert found.to_numpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_format_stays(dtype: str) -> None:
    x = const(X, plain(dtype))
    made = [
        *(
            x.repeat((2, 1, 1)),
            x.roll((1,), (0,)),
            x.pad(((1, 1),), "edge"),
            x.pad(((1, 1),)),
            x.tril(),
            x.chunk(2, 1)[0],
        ),
        *(
            Tensor.einsum("bij,bkj->bik", x, x),
            x.cross(x, 1),
            x.flatten(1).cov(0, 1),
            linalg.outer(x, x),
            linalg.trace(x),
        ),
        *[linalg.vector_norm(x, norm, 1) for norm in NORMS],
        *(
            linalg.cosine_similarity(x, x, 1),
            grid.meshgrid([x.flatten()])[0],
            x.slice_fill(0, 1.0),
            x.prod_dims((0, 1)),
        ),
    ]
    assert {str(one.dtype) for one in made} == {dtype}
    assert all(np.isfinite(one.to_numpy()).all() for one in made)
