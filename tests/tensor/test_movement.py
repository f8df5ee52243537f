"""Shapes and parts: slices keep the rank, views and copies cannot be told apart by their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import (
    BASES,
    AnyTensor,
    UnderTest,
    Values,
    assert_close,
    const,
    gradient_of,
    ints,
    mask,
    params,
    params_with_dtype,
    plain,
)
from tinyburn import Autodiff, BackendMismatch, Device, DTypeMismatch, Meta, ShapeError, Tensor, Traced
from tinyburn.backend import Kind

X = np.arange(24.0).reshape(2, 3, 4)


def x_on(device: Device[Any]) -> AnyTensor:
    return const(X, device)


def kept_rank(values: Values, index: Any) -> Values:
    """NumPy's result, with each int as a slice of length 1."""
    parts = index if isinstance(index, tuple) else (index,)
    ranged = tuple(slice(p, p + 1 or None) if isinstance(p, int) else p for p in parts)
    return values[ranged]


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(None),
        slice(1, None),
        slice(0, 0),
        slice(5, 9),
        slice(2, 1),
        (0, 1),
        (slice(None), -1),
        (Ellipsis, 2),
        (0, Ellipsis),
        (Ellipsis, slice(0, 4, 2)),
        (slice(None, None, 2), slice(-2, None), slice(1, 4, 3)),
        Ellipsis,
        (0, 1, 2),
        (0, Ellipsis, 1, 2),
    ],
    ids=repr,
)
def test_a_slice_is_numpys_and_keeps_the_rank(index: Any, device: Device[Any]) -> None:
    part = x_on(device)[index]
    assert part.rank == 3
    assert_close(part.to_numpy(), kept_rank(X, index))
    assert_close((part * 1.0).to_numpy(), kept_rank(X, index))


def test_numpy_integers_are_integers() -> None:
    index: Any = (np.int64(1), np.int8(-1))
    assert_close(x_on(plain())[index].to_numpy(), X[1:2, -1:])


@st.composite
def slices(draw: Any) -> tuple[slice, ...]:
    bounds = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(1, 3) | st.integers(-3, -1)
    return tuple(slice(draw(bounds), draw(bounds), draw(step)) for _ in range(draw(st.integers(0, 3))))


@pytest.mark.parametrize("base", params(BASES))
@given(index=slices())
def test_any_slice_is_numpys(index: tuple[slice, ...], base: UnderTest) -> None:
    assert_close(x_on(base.device())[index].to_numpy(), X[index])
    shapes_only = Tensor.zeros((2, 3, 4), Meta.device())[index]
    assert shapes_only.shape == X[index].shape


@pytest.mark.parametrize("base", params(BASES))
@given(index=slices())
def test_any_part_is_replaced_as_numpy_does(index: tuple[slice, ...], base: UnderTest) -> None:
    device = base.device()
    values = -1.0 - np.arange(X[index].size).reshape(X[index].shape)
    expected = X.copy()
    expected[index] = values
    assert_close(x_on(device).slice_assign(index, const(values, device)).to_numpy(), expected)


@pytest.mark.parametrize("dims", [(), (0,), (-1,), (0, 2), (2, 1, 0)])
def test_flip_is_numpys(dims: tuple[int, ...], device: Device[Any]) -> None:
    flipped = x_on(device).flip(dims)
    assert_close(flipped.to_numpy(), np.flip(X, dims))
    assert_close((flipped * 1.0).to_numpy(), np.flip(X, dims))
    assert_close(flipped.flip(dims).to_numpy(), X)


def test_flip_and_a_negative_step_take_no_memory(base: UnderTest) -> None:
    """They are views: the backend makes no second buffer, and the log has none."""
    device: Any = base.inside(Traced).device()
    x = const(X, device)
    _ = x.flip((0, 2)), x[::-1], x[:, 2:0:-1]
    assert device.memory_usage().number_allocs == 1


@pytest.mark.parametrize("dims", [(3,), (0, 0), (0, -3), 1, "a"])
def test_flip_of_other_dims_is_refused(dims: Any) -> None:
    with pytest.raises(ShapeError, match="flip"):
        x_on(plain()).flip(dims)


# Several tensors in one


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_cat_is_numpys_concatenate(dim: int, device: Device[Any]) -> None:
    other = np.flip(X, dim)[tuple(slice(0, 1) if axis == dim % 3 else slice(None) for axis in range(3))]
    parts = [x_on(device), const(other, device), x_on(device)]
    assert_close(Tensor.cat(parts, dim).to_numpy(), np.concatenate([X, other, X], dim))
    assert_close(Tensor.cat(tuple(parts[:1]), dim).to_numpy(), X)


@pytest.mark.parametrize("dim", [0, 1, 3, -1, -4])
def test_stack_is_numpys(dim: int, device: Device[Any]) -> None:
    stacked = Tensor.stack([x_on(device), x_on(device) * 2, x_on(device).flip((1,))], dim)
    assert_close(stacked.to_numpy(), np.stack([X, X * 2, np.flip(X, 1)], dim))


def test_cat_keeps_ints_and_masks(device: Device[Any]) -> None:
    assert Tensor.cat([ints([1, 2], device), ints([3], device)], 0).to_numpy().tolist() == [1, 2, 3]
    joined = Tensor.cat([mask([True], device), mask([False], device)], 0)
    assert joined.to_numpy().tolist() == [True, False]


@pytest.mark.parametrize("together", [Tensor.cat, Tensor.stack])
def test_together_they_take_one_buffer(together: Any, base: UnderTest) -> None:
    """By the promise of every operation: the result, and no other."""
    device: Any = base.inside(Traced).device()
    parts = [x_on(device) for _ in range(4)]
    before = len(device.log.events)
    whole = together(parts, 1)
    made = [event for event in device.log.events[before:] if event[0] == Kind.ALLOC]
    assert [event[2] for event in made] == [whole.payload_bytes]


def test_each_part_gets_its_part_of_the_gradient_and_nothing_is_saved(base: UnderTest) -> None:
    device: Any = base.inside(Traced).inside(Autodiff).device()
    x, y = const([[1.0, 2.0]], device).require_grad(), const([[3.0]], device).require_grad()
    whole = Tensor.cat([x, y, x], 1)
    assert not [event for event in device.inner.log.events if event[0] == Kind.SAVE]
    grads = whole.backward(const([[1.0, 2.0, 3.0, 4.0, 5.0]], device.inner))
    assert_close(gradient_of(x, grads), [[1.0 + 4.0, 2.0 + 5.0]])
    assert_close(gradient_of(y, grads), [[3.0]])


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (lambda x: [], ShapeError, "the list is empty"),
    "no list": (lambda x: x, DTypeMismatch, "not a list of tensors"),
    "numbers": (lambda x: [x, 1.0], DTypeMismatch, "float is not a tensor"),
    "dtypes": (lambda x: [x, x.int()], DTypeMismatch, "dtypes differ"),
    "ranks": (lambda x: [x, x.flatten()], ShapeError, "ranks differ"),
    "sizes": (lambda x: [x, x[:, :2, :3]], ShapeError, "dim 2 is 4 in one and 3 in the other"),
    "devices": (lambda x: [x, Tensor.zeros((2, 3, 4), Meta.device())], BackendMismatch, "backends differ"),
}


@pytest.mark.parametrize("together", [Tensor.cat, Tensor.stack])
@pytest.mark.parametrize("case", REFUSED)
def test_tensors_that_do_not_fit_are_refused(together: Any, case: str) -> None:
    make, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        together(make(x_on(plain())), 1)


def test_a_dim_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ShapeError, match="cat\n"):
        Tensor.cat([x_on(plain())], 3)
    with pytest.raises(ShapeError, match="stack\n"):
        Tensor.stack([x_on(plain())], 4)


@pytest.mark.parametrize(
    "index",
    [2, -3, (0, 3), (0, 0, 0, 0), slice(0, 3, 0), True, None, 1.0, "a", [0, 1],
     np.array([0]), (Ellipsis, Ellipsis), slice(1.5, None), slice("a", None)],
    ids=repr,
)  # fmt: skip
def test_other_indices_are_refused(index: Any) -> None:
    with pytest.raises(ShapeError):
        x_on(plain())[index]


def test_a_refused_index_names_the_way_out() -> None:
    index: Any = x_on(plain()).int()
    with pytest.raises(ShapeError, match=r"gather\(\) or select\(\)"):
        x_on(plain())[index]


@pytest.mark.parametrize("base", params(BASES))
@given(axes=st.permutations(range(3)), shape=st.sampled_from([(24,), (6, 4), (-1, 2), (1, 24, 1), (2, 2, 2, 3)]))
def test_reshape_after_permute_is_row_major(axes: list[int], shape: tuple[int, ...], base: UnderTest) -> None:
    found = x_on(base.device()).permute(*axes).reshape(shape)
    assert_close(found.to_numpy(), X.transpose(axes).reshape(shape))


@pytest.mark.parametrize("shape", [(5,), (-1, -1), (7, -1), (0, -1), (), (-2, 12), (1,) * 6 + (24,)])
def test_impossible_reshapes(shape: Any) -> None:
    with pytest.raises(ShapeError):
        x_on(plain()).reshape(shape)


def test_reshape_of_nothing() -> None:
    x = Tensor.zeros((0, 3), plain())
    assert x.reshape((3, 0)).shape == (3, 0)
    assert x.flatten().shape == (0,)
    with pytest.raises(ShapeError, match="-1"):
        x.reshape((0, -1))


def test_dims_come_and_go(device: Device[Any]) -> None:
    x: Any = const([1.0, 2.0], device)
    assert x.unsqueeze().shape == (1, 2)
    assert x.unsqueeze(4).shape == (1, 1, 1, 2)
    assert x.unsqueeze(1).shape == (2,)
    assert [x.unsqueeze_dim(dim).shape for dim in (0, 1, -1, -2)] == [(1, 2), (2, 1), (2, 1), (1, 2)]
    assert x.unsqueeze_dim(1).squeeze(1).shape == (2,)
    assert x.unsqueeze_dim(0).squeeze(-2).shape == (2,)
    for call in (
        lambda: x.squeeze(0),
        lambda: x.unsqueeze().squeeze(1),
        lambda: const([1.0], device).squeeze(0),
        lambda: x.unsqueeze(7),
        lambda: x.unsqueeze().unsqueeze(1),
        lambda: x.unsqueeze_dim(2),
    ):
        with pytest.raises(ShapeError):
            call()


def test_dims_change_places(device: Device[Any]) -> None:
    x: Any = x_on(device)
    assert_close(x.permute(2, 0, 1).to_numpy(), X.transpose(2, 0, 1))
    assert_close(x.permute(-1, 0, 1).to_numpy(), X.transpose(2, 0, 1))
    assert_close(x.swap_dims(0, -1).to_numpy(), X.swapaxes(0, 2))
    assert_close(x.transpose().to_numpy(), X.swapaxes(1, 2))
    assert_close(x.mT.to_numpy(), X.swapaxes(1, 2))
    for call in (
        lambda: x.permute(0, 1),
        lambda: x.permute(0, 0, 1),
        lambda: x.permute(0, -3, 1),
        lambda: x.permute(0, 1, 3),
        lambda: x.swap_dims(0, 3),
        lambda: const([1.0], device).transpose(),
    ):
        with pytest.raises(ShapeError):
            call()


def test_expand(any_device: Device[Any]) -> None:
    x = Tensor.ones((1, 3), any_device)
    assert x.expand((2, 3)).shape == (2, 3)
    assert x.expand((-1, 3)).shape == (1, 3)
    assert x.expand((0, -1)).shape == (0, 3)
    assert isinstance(x.expand([2, 3]).shape, tuple)  # type: ignore[arg-type]
    for wrong in ((2, 4), (3,), (2, 1, 3), (-2, 3), (2, -3)):
        with pytest.raises(ShapeError):
            x.expand(wrong)


def test_narrow_and_slice_assign(device: Device[Any]) -> None:
    x = x_on(device)
    assert_close(x.narrow(1, 1, 2).to_numpy(), X[:, 1:3])
    assert_close(x.narrow(-1, 0, 0).to_numpy(), X[..., :0])
    for dim, start, length in ((1, 2, 2), (1, -1, 1), (3, 0, 1), (0, 0, 3)):
        with pytest.raises(ShapeError):
            x.narrow(dim, start, length)
    expected = X.copy()
    expected[:, 1:2, ::2] = 7
    part = Tensor.full((2, 1, 2), 7, device)
    assert_close(x.slice_assign((slice(None), 1, slice(None, None, 2)), part).to_numpy(), expected)
    assert_close(x.to_numpy(), X)
    with pytest.raises(ShapeError, match="the part has"):
        x.slice_assign(0, part)


def test_gather_and_scatter(device: Device[Any]) -> None:
    x: Any = const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device)
    picks: Any = ints([[2, 0], [2, 1]], device)
    assert x.gather(0, picks).to_numpy().tolist() == [[5, 2], [5, 4]]
    assert x.gather(1, ints([[1, 1, 0]], device)).to_numpy().tolist() == [[2, 2, 1]]
    added = x.scatter(0, picks, const([[10.0, 20.0], [30.0, 40.0]], device))
    assert added.to_numpy().tolist() == [[1, 22], [3, 44], [45, 6]]
    assert x.gather(0, ints(np.zeros((0, 2)), device)).shape == (0, 2)
    calls: list[Callable[[], object]] = [
        lambda: x.gather(0, ints([0], device)),
        lambda: x.gather(0, ints([[0, 0, 0]], device)),
        lambda: x.gather(2, picks),
        lambda: x.scatter(0, picks, const([[1.0, 2.0]], device)),
    ]
    for call in calls:
        with pytest.raises(ShapeError):
            call()


def test_select_and_select_assign(device: Device[Any]) -> None:
    x: Any = const([[1.0, 2.0], [3.0, 4.0]], device)
    assert x.select(0, ints([1, 1, 0], device)).to_numpy().tolist() == [[3, 4], [3, 4], [1, 2]]
    assert x.select(-1, ints([1], device)).to_numpy().tolist() == [[2], [4]]
    assert x.select(0, ints([], device)).shape == (0, 2)
    twice = x.select_assign(0, ints([1, 1], device), const([[1.0, 1.0], [2.0, 2.0]], device))
    assert twice.to_numpy().tolist() == [[1, 2], [6, 7]]
    calls: list[Callable[[], object]] = [
        lambda: x.select(2, ints([0], device)),
        lambda: x.select(0, ints([2], device)).to_numpy(),  # a GPU says so when the values are read
        lambda: x.select_assign(0, ints([0], device), const([[1.0, 1.0], [2.0, 2.0]], device)),
        lambda: x.select(0, ints([[0]], device)),
    ]
    for call in calls:
        with pytest.raises(ShapeError):
            call()


@pytest.mark.parametrize(("under_test", "dtype"), params_with_dtype("int64", "int32", "bool", "float16"))
def test_movement_works_for_every_kind(under_test: UnderTest, dtype: str) -> None:
    device = under_test.device()
    values = (X % 2).astype(dtype)
    x: AnyTensor = Tensor.from_data(values, device)
    assert_close(x.permute(2, 0, 1)[1:].reshape((-1,)).to_numpy(), values.transpose(2, 0, 1)[1:].reshape(-1))
    assert_close(x.select(1, ints([2, 0], device)).to_numpy(), values[:, [2, 0]])
    assert x.unsqueeze().dtype == dtype


def test_reductions_keep_their_dim_and_full_ones_have_one_element(any_device: Device[Any]) -> None:
    x: Any = Tensor.ones((2, 3), any_device)
    for name in ("sum", "mean", "max", "min", "prod", "norm"):
        assert getattr(x, name)().shape == (1,)
    for name in ("sum_dim", "mean_dim", "max_dim", "min_dim", "prod_dim", "argmax", "argmin", "var", "std", "std_bias"):
        assert getattr(x, name)(0).shape == (1, 3)
        assert getattr(x, name)(-1).shape == (2, 1)
    assert x.sum_dims((0, -1)).shape == (1, 1)
    with pytest.raises(ShapeError, match="twice"):
        x.sum_dims((0, -2))


def test_extremes_with_their_places(device: Device[Any]) -> None:
    x: Any = const([[1.0, 5.0, 5.0], [7.0, -1.0, 0.0]], device)
    largest, place = x.max_dim_with_indices(1)
    assert largest.to_numpy().tolist() == [[5], [7]]
    assert (place.to_numpy().tolist(), place.dtype) == ([[1], [0]], device.int_dtype)
    assert x.argmin(0).to_numpy().tolist() == [[0, 1, 1]]
