"""Masks by position, one-hot rows, and masks gathered along a dim, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, assert_close, const, ints, mask, plain
from tinyburn import Bool, Device, DTypeMismatch, Meta, NdArray, ShapeError, Tensor, Traced
from tinyburn.backend import Kind
from tinyburn.backend.log import Category

SHAPES = [(3, 3), (2, 4), (4, 2), (0, 3), (3, 0), (2, 3, 3)]


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_triangles_are_numpys(shape: tuple[int, ...], offset: int, base: UnderTest) -> None:
    device, ones = base.device(), np.ones(shape)
    x = const(1.0 + np.arange(ones.size).reshape(shape), device)
    values = x.to_numpy()
    assert_close(x.tril(offset).to_numpy(), np.tril(values, offset))
    assert_close(x.triu(offset).to_numpy(), np.triu(values, offset))
    assert (Tensor.tril_mask(shape, offset, device).to_numpy() == (np.tril(ones, offset) == 0)).all()
    assert (Tensor.triu_mask(shape, offset, device).to_numpy() == (np.triu(ones, offset) == 0)).all()
    line = np.tril(np.triu(ones, offset), offset)
    assert (Tensor.diag_mask(shape, offset, device).to_numpy() == (line == 0)).all()


def test_a_mask_is_made_for_mask_fill(any_device: Device[Any]) -> None:
    hidden = Tensor.tril_mask((2, 3, 3), 0, any_device)
    scores = Tensor.zeros((2, 3, 3), any_device).mask_fill(hidden, -1.0)
    assert scores.shape == hidden.shape == (2, 3, 3)
    if any_device.backend.has_values:
        assert scores.to_numpy()[0].tolist() == [[0, -1, -1], [0, 0, -1], [0, 0, 0]]


def test_triangles_of_ints_and_masks(base: UnderTest) -> None:
    device = base.device()
    assert ints([[1, 2], [3, 4]], device).tril().to_numpy().tolist() == [[1, 0], [3, 4]]
    assert mask([[True, True], [True, True]], device).triu(1).to_numpy().tolist() == [[False, True], [False, False]]


def test_what_a_mask_is_made_of_is_no_input() -> None:
    device: Any = Traced[NdArray].device()
    x = Tensor.ones((4, 4), device)
    before = len(device.log.events)
    _ = x.tril()
    inputs = [event for event in device.log.events[before:] if event[0] == Kind.ALLOC and event[3] == Category.INPUT]
    moved = [event for event in device.log.events[before:] if event[0] == Kind.RECATEGORISE]
    assert len(inputs) == len(moved) == 2
    assert {event[2] for event in moved} == {Category.TEMPORARY}


def test_one_hot_rows(base: UnderTest) -> None:
    device = base.device()
    found = ints([[0, 2], [1, 1]], device).one_hot(3)
    assert found.dtype == device.int_dtype
    assert (found.to_numpy() == np.eye(3)[[[0, 2], [1, 1]]]).all()
    floats = const([2.0, 0.0], device).one_hot(3)
    assert floats.dtype == device.float_dtype
    assert_close(floats.to_numpy(), np.eye(3)[[2, 0]])
    assert ints(np.zeros(0), device).one_hot(3).shape == (0, 3)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot_with_other_numbers(axis: int, base: UnderTest) -> None:
    found = ints([[0, 2]], base.device()).one_hot_fill(3, 5, -1, axis)
    expected = np.moveaxis(np.where(np.eye(3)[[[0, 2]]] == 1, 5, -1), -1, axis)
    assert (found.to_numpy() == expected).all()
    assert const([1.0], base.device()).one_hot_fill(2, 0.9, 0.05, -1).to_numpy().tolist() == [
        [pytest.approx(0.05), pytest.approx(0.9)]
    ]


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0), (1, 1)])
@pytest.mark.parametrize("dim", [0, -1])
def test_masks_gathered_along_a_dim(shape: tuple[int, ...], dim: int, device: Device[Any]) -> None:
    truths = np.arange(np.prod(shape)).reshape(shape) % 2 == 0
    x = mask(truths, device)
    assert (x.any_dim(dim).to_numpy() == truths.any(dim, keepdims=True)).all()
    assert (x.all_dim(dim).to_numpy() == truths.all(dim, keepdims=True)).all()
    assert x.any_dim(dim).shape == truths.any(dim, keepdims=True).shape


WRONG: dict[str, tuple[Callable[[AnyTensor], Any], str]] = {
    "a triangle of a vector": (lambda x: x.flatten().tril(), "it needs two dims"),
    "the mask of a vector": (lambda x: Tensor.tril_mask((3,), 0, x.device), "has 2 to 6 dims"),
    "a class outside": (lambda x: ints([0, 3], x.device).one_hot(3), "run from 0 to 3, and there are 3"),
    "a class below 0": (lambda x: ints([-1], x.device).one_hot(3), "classes are 0 to 2"),
    "no class": (lambda x: ints([0], x.device).one_hot(0), "0 is not a number of classes"),
    "too many dims": (lambda x: ints(np.zeros((1,) * 6), x.device).one_hot(2), "rank 7"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ShapeError, match=words):
        call(const(np.ones((2, 3)), plain()))


def test_of_another_kind_is_refused() -> None:
    x: Any = const(np.ones((2, 3)), plain())
    with pytest.raises(DTypeMismatch, match="any_dim takes a bool tensor"):
        x.any_dim(0)
    with pytest.raises(DTypeMismatch, match="one_hot takes a number tensor"):
        (x > 0).one_hot(2)
    with pytest.raises(DTypeMismatch, match=r"the diagonal 0\.5"):
        Tensor.tril_mask((2, 2), 0.5, Meta.device())  # type: ignore[arg-type]


def test_the_type_in_brackets_is_checked() -> None:
    device = plain()
    assert Tensor[NdArray, 2, Bool].tril_mask((3, 3), 0, device).shape == (3, 3)
    with pytest.raises(ShapeError, match="the type says rank 3"):
        Tensor[NdArray, 3, Bool].tril_mask((3, 3), 0, device)
    with pytest.raises(DTypeMismatch, match="the type says Bool"):
        Tensor[NdArray, 2, Bool].cartesian_grid((3,), device)
