"""Repeat, roll and pad are NumPy's, on every backend and for every kind; a result is one new buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import BASES, AnyTensor, UnderTest, assert_close, const, ints, mask, params, plain
from tinyburn import Device, DTypeMismatch, ShapeError, Traced
from tinyburn.backend import Kind

X = np.arange(24.0).reshape(2, 3, 4)

CASES: dict[str, tuple[Callable[[AnyTensor], AnyTensor], Callable[[Any], Any]]] = {
    "repeat": (lambda x: x.repeat((2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
    "repeat no time": (lambda x: x.repeat((1, 0, 1)), lambda a: a[:, :0]),
    "repeat_dim": (lambda x: x.repeat_dim(-2, 3), lambda a: np.concatenate([a, a, a], 1)),
    "roll": (lambda x: x.roll((1, -2), (0, -1)), lambda a: np.roll(a, (1, -2), (0, -1))),
    "roll beyond the end": (lambda x: x.roll((-7,), (2,)), lambda a: np.roll(a, -7, 2)),
    "roll nothing": (lambda x: x.roll((0, 3), (0, 1)), lambda a: a),
    "roll_dim": (lambda x: x.roll_dim(2, -2), lambda a: np.roll(a, 2, 1)),
    "pad": (lambda x: x.pad(((2, 1), (0, 3)), 1), lambda a: np.pad(a, ((0, 0), (2, 1), (0, 3)), constant_values=1)),
    "pad nothing": (lambda x: x.pad(()), lambda a: a),
    "reflect": (lambda x: x.pad(((2, 1), (1, 3)), "reflect"), lambda a: np.pad(a, ((0, 0), (2, 1), (1, 3)), "reflect")),
    "edge": (lambda x: x.pad(((2, 0), (1, 3)), "edge"), lambda a: np.pad(a, ((0, 0), (2, 0), (1, 3)), "edge")),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_numpys(name: str, device: Device[Any]) -> None:
    ours, numpys = CASES[name]
    assert_close(ours(const(X, device)).to_numpy(), numpys(X))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("pad", "pad nothing")])
def test_ints_and_masks_stay_what_they_are(name: str, base: UnderTest) -> None:
    ours, numpys = CASES[name]
    device, truths = base.device(), X % 3 == 0
    assert (ours(ints(X, device)).to_numpy() == numpys(X.astype(int))).all()
    assert (ours(mask(truths, device)).to_numpy() == numpys(truths)).all()


def test_a_mask_is_padded_with_a_truth_value(base: UnderTest) -> None:
    x = mask([True, False], base.device())
    assert x.pad(((1, 1),), True).to_numpy().tolist() == [True, True, False, True]
    with pytest.raises(DTypeMismatch, match="truth value"):
        x.pad(((1, 1),), 0.5)


sides = st.tuples(st.integers(0, 3), st.integers(0, 3))


@pytest.mark.parametrize("base", params(BASES))
@given(
    shape=st.tuples(*[st.integers(0, 4)] * 3), pads=st.lists(sides, max_size=3), mode=st.sampled_from(["c", "r", "e"])
)
def test_any_padding_is_numpys(base: UnderTest, shape: Any, pads: Any, mode: str) -> None:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    x = const(values, base.device())
    widths = [(0, 0)] * (3 - len(pads)) + pads
    sized = list(zip(shape, widths, strict=True))
    if mode == "c":
        assert_close(x.pad(pads, -1.0).to_numpy(), np.pad(values, widths, constant_values=-1.0))
    elif mode == "r" and all(max(pair) < size or not any(pair) for size, pair in sized):
        assert_close(x.pad(pads, "reflect").to_numpy(), np.pad(values, widths, "reflect"))
    elif mode == "e" and all(size or not any(pair) for size, pair in sized):
        assert_close(x.pad(pads, "edge").to_numpy(), np.pad(values, widths, "edge"))
    elif mode != "c":
        with pytest.raises(ShapeError, match="pad"):
            x.pad(pads, "reflect" if mode == "r" else "edge")


@pytest.mark.parametrize("base", params(BASES))
@given(shape=st.tuples(*[st.integers(0, 4)] * 3), shifts=st.tuples(*[st.integers(-9, 9)] * 3))
def test_any_roll_is_numpys(base: UnderTest, shape: Any, shifts: Any) -> None:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    assert_close(const(values, base.device()).roll(shifts, (0, 1, 2)).to_numpy(), np.roll(values, shifts, (0, 1, 2)))


@pytest.mark.parametrize("name", ["repeat", "repeat_dim", "roll", "pad", "reflect", "edge"])
def test_a_result_is_one_buffer(name: str, base: UnderTest) -> None:
    """Of all dims together; but for repeat along several dims, and the number that fills a padding."""
    device: Any = base.inside(Traced).device()
    x, log = const(X, device), device.log
    before = len(log.events)
    result = CASES[name][0](x)
    sizes = [event[2] for event in log.events[before:] if event[0] == Kind.ALLOC]
    whole = result.payload_bytes
    assert sizes == {"repeat": [2 * x.payload_bytes, whole], "pad": [x.dtype.bytes, whole]}.get(name, [whole])
    assert device.memory_usage().bytes_in_use == x.payload_bytes + whole


def test_a_dim_of_size_one_is_repeated_without_memory(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device()
    x = const(np.ones((3, 1)), device)
    assert x.repeat((1, 1000)).shape == (3, 1000)
    assert device.memory_usage().number_allocs == 1


WRONG: dict[str, tuple[Callable[[AnyTensor], Any], str]] = {
    "too few counts": (lambda x: x.repeat((2, 2)), "2 counts are given for 3 dims"),
    "a negative count": (lambda x: x.repeat_dim(0, -1), "-1 is not a whole number of 0 or more"),
    "a dim that is not there": (lambda x: x.repeat_dim(3, 2), "dim 3 does not exist"),
    "shifts without dims": (lambda x: x.roll((1, 2), (0,)), "2 shifts are given for 1 dims"),
    "a dim twice": (lambda x: x.roll((1, 2), (0, -3)), "named twice"),
    "PyTorch's flat padding": (lambda x: x.pad((1, 1)), "write \\(\\(before, after\\),\\)"),
    "too many pairs": (lambda x: x.pad(((1, 1),) * 4), "at most 3"),
    "a negative padding": (lambda x: x.pad(((-1, 0),)), "-1 is not a whole number"),
    "mirrored too far": (lambda x: x.pad(((3, 0), (0, 4)), "reflect"), "dim 1 has 3 entries, so it can mirror 2"),
    "mirrored too far, both": (lambda x: x.pad(((3, 0), (0, 4)), "reflect"), "dim 2 has 4 entries, so it can mirror 3"),
    "an edge of nothing": (lambda x: x[:, :0].pad(((1, 0), (0, 0)), "edge"), "dim 1 has no entry"),
    "another mode": (lambda x: x.pad(((1, 1),), "wrap"), "there is no mode 'wrap'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ShapeError, match=words):
        call(const(X, plain()))
