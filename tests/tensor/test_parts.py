"""Parts of a tensor along a dim, places in several dims, and dims that move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, assert_close, const, ints, mask, plain
from tinyburn import Autodiff, BackendMismatch, Device, DTypeMismatch, Meta, NdArray, ShapeError, Tensor, Traced

X = np.arange(24.0).reshape(2, 3, 4)


def sizes(parts: tuple[AnyTensor, ...], dim: int) -> list[int]:
    return [part.shape[dim] for part in parts]


@pytest.mark.parametrize(
    ("size", "chunks", "expected"),
    [(6, 3, [2, 2, 2]), (5, 4, [2, 2, 1]), (5, 2, [3, 2]), (2, 5, [1, 1]), (0, 3, [0, 0, 0]), (4, 1, [4])],
)
def test_chunks_are_pytorchs(size: int, chunks: int, expected: list[int]) -> None:
    x = Tensor.zeros((size, 2), plain())
    assert sizes(x.chunk(chunks, -2), 0) == expected


@pytest.mark.parametrize(("size", "each", "expected"), [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (0, 2, [0]), (2, 9, [2])])
def test_splits_are_pytorchs(size: int, each: int, expected: list[int]) -> None:
    assert sizes(Tensor.zeros((2, size), plain()).split(each, 1), 1) == expected


def test_parts_put_together_are_the_whole(device: Device[Any]) -> None:
    x = const(X, device)
    for parts in (x.chunk(3, 2), x.split(3, 2), x.split_with_sizes([1, 0, 3], 2), tuple(x.iter_dim(2))):
        assert_close(Tensor.cat(list(parts), 2).to_numpy(), X)


def test_parts_take_no_memory(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device()
    x = const(X, device)
    _ = x.chunk(2, 1), x.split(2, 2), x.movedim(0, 2), x.unsqueeze_dims((0, 1)), x.slice_dim(1, slice(0, 2))
    assert device.memory_usage().number_allocs == 1


def test_one_entry_after_another(device: Device[Any]) -> None:
    assert [part.shape for part in const(X, device).iter_dim(1)] == [(2, 1, 4)] * 3
    assert list(const(X, device)[:, :0].iter_dim(1)) == []


def test_slices_along_one_dim(device: Device[Any]) -> None:
    x = const(X, device)
    assert_close(x.slice_dim(-1, slice(None, None, -2)).to_numpy(), X[:, :, ::-2])
    assert_close(x.slice_dim(1, -1).to_numpy(), X[:, 2:])


@pytest.mark.parametrize("index", [(0,), (..., slice(1, 3)), (slice(None), -1, slice(None, None, -2)), (slice(0, 0),)])
def test_a_part_is_filled(index: Any, device: Device[Any]) -> None:
    expected = X.copy()
    expected[index] = 9.0
    assert_close(const(X, device).slice_fill(index, 9.0).to_numpy(), expected)


def test_take_puts_the_dims_of_the_indices_in_place(device: Device[Any]) -> None:
    where = [[0, 2], [1, 1]]
    assert_close(const(X, device).take(1, ints(where, device)).to_numpy(), np.take(X, where, 1))
    assert const(X, device).take(2, ints(np.zeros((0, 3)), device)).shape == (2, 3, 0, 3)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_places_in_several_dims(k: int, device: Device[Any]) -> None:
    rows = np.array([[1, 0, 3], [0, 2, 1], [1, 0, 3]])[:, :k]
    x, where = const(X, device), ints(rows, device)
    expected = X[tuple(rows.T)]
    assert_close(x.gather_nd(where).to_numpy(), expected)
    added = X.copy()
    np.add.at(added, tuple(rows.T), np.ones(expected.shape))
    assert_close(x.scatter_nd(where, const(np.ones(expected.shape), device)).to_numpy(), added)


def test_where_a_mask_is_true(device: Device[Any]) -> None:
    truths = X % 5 == 0
    found = mask(truths, device).argwhere()
    assert found.dtype == device.int_dtype
    assert found.to_numpy().tolist() == np.argwhere(truths).tolist()
    for ours, numpys in zip(mask(truths, device).nonzero(), np.nonzero(truths), strict=True):
        assert ours.to_numpy().tolist() == numpys.tolist()
    assert [part.shape for part in (const(X, device) < 0).nonzero()] == [(0,)] * 3


def test_a_shape_that_depends_on_values_needs_values() -> None:
    x = Tensor.zeros((3,), Meta.device())
    with pytest.raises(BackendMismatch, match="shapes only"):
        (x > 0).argwhere()
    with pytest.raises(DTypeMismatch, match="bool"):
        const(X, plain()).nonzero()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (-1, 0)), ([2, 0], [0, 1]), ((), ()), (1, 1)]
)
def test_dims_move_as_numpys_do(source: Any, destination: Any, device: Device[Any]) -> None:
    assert_close(const(X, device).movedim(source, destination).to_numpy(), np.moveaxis(X, source, destination))


def test_dims_are_added_and_taken_away() -> None:
    x = const(X, plain())
    assert x.unsqueeze_dims((0, 2, -1)).shape == (1, 2, 1, 3, 4, 1)
    assert x.unsqueeze_dims((0, 2)).squeeze_dims((2, 0)).shape == X.shape
    assert x[0:1, :, 0:1].squeeze_dims().shape == (3,)
    assert Tensor.ones((1, 1), plain()).squeeze_dims().shape == (1,)
    assert x.squeeze_dims().shape == X.shape


@pytest.mark.parametrize(
    ("start", "end", "shape"), [(0, -1, (24,)), (1, 2, (2, 12)), (0, 1, (6, 4)), (1, 1, (2, 3, 4)), (-2, -1, (2, 12))]
)
def test_some_dims_as_one(start: int, end: int, shape: tuple[int, ...]) -> None:
    assert_close(const(X, plain()).flatten(start, end).to_numpy(), X.reshape(shape))
    assert Tensor.zeros((0, 3, 4), plain()).flatten(1).shape == (0, 12)


WRONG: dict[str, tuple[Callable[[AnyTensor], Any], str]] = {
    "no chunk": (lambda x: x.chunk(0, 0), "0 is not a whole number of 1 or more"),
    "parts of nothing": (lambda x: x.split(0, 0), "0 is not a whole number of 1 or more"),
    "sizes that are too few": (lambda x: x.split_with_sizes([1, 1], 1), "add up to 2, and dim 1 has 3"),
    "a negative size": (lambda x: x.split_with_sizes([4, -1], 1), "a size is negative"),
    "take too many dims": (lambda x: x.take(0, ints(np.zeros((1,) * 5), x.device)), "rank 7"),
    "an index outside": (lambda x: x.gather_nd(ints([[0, 3]], x.device)), "dim 1 has size 3"),
    "more indices than dims": (lambda x: x.gather_nd(ints([[0] * 4], x.device)), "names that many of 3 dims"),
    "values of another shape": (lambda x: x.scatter_nd(ints([[0]], x.device), x), "the places \\(1, 3, 4\\)"),
    "dims to fewer places": (lambda x: x.movedim((0, 1), (0,)), "2 dims cannot go to 1 places"),
    "too many new dims": (lambda x: x.unsqueeze_dims((0, 1, 2, 3)), "rank 7"),
    "a dim that is not one": (lambda x: x.squeeze_dims((0, 1)), "dim 0 has size 2, not 1"),
    "no dim left": (lambda x: x[0, 0, 0].squeeze_dims((0, 1, 2)), "there is no rank 0"),
    "flattened backwards": (lambda x: x.flatten(2, 1), "dim 2 comes after dim 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ShapeError, match=words):
        call(const(X, plain()))


def test_places_are_no_part_of_the_graph() -> None:
    x = const([1.0, -1.0], Autodiff[NdArray].device()).require_grad()
    (where,) = (x > 0).nonzero()
    grads = (x.select(0, where) * 3.0).sum().backward()
    found = x.grad(grads)
    assert found is not None
    assert found.to_numpy().tolist() == [3.0, 0.0]


def test_38_rows_that_are_taken_twice_add_up(base_tracked: Device[Any]) -> None:
    """An embedding by `take`: a row that comes twice gets both gradients, and the indices get none."""
    table = const(np.zeros((3, 2)), base_tracked).require_grad()
    weights = const([[[1.0], [2.0]], [[5.0], [0.0]]], base_tracked)
    found = table.grad((table.take(0, ints([[1, 1], [0, 2]], base_tracked)) * weights).sum().backward())
    assert found is not None
    assert found.to_numpy().tolist() == [[5, 5], [3, 3], [0, 0]]


def test_24_an_empty_batch_is_cut_rolled_and_padded(base_tracked: Device[Any]) -> None:
    x = const(np.zeros((0, 3)), base_tracked).require_grad()
    y = Tensor.cat(list(x.chunk(2, 1)), 1).roll((1,), (0,)).pad(((0, 0), (1, 1)), "reflect").repeat((2, 1))
    assert y.shape == (0, 5)
    found = x.grad(y.sum().backward())
    assert found is not None
    assert found.shape == (0, 3)
