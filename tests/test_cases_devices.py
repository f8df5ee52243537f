"""Cases from public bug reports, section H: what goes wrong on a GPU first; see test_cases.py for what the ids mean.

Row 82, the same losses everywhere, is in module/test_training.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import BASES, NDARRAY, UnderTest, ints, params
from tinyburn import Autodiff, BackendUnavailable, Meta, Tensor

SPECIAL = np.array([1.0, np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38], dtype="float32")


# 79. NaN and inf on the way in, out, and through what only moves values


def test_79_nan_and_inf_survive_the_way_in_and_out(base: UnderTest) -> None:
    x = Tensor.from_data(SPECIAL, base.device())
    assert x.is_nan().to_numpy().tolist() == [False, True, False, False, False, False, False]
    assert x.is_inf().to_numpy().tolist() == [False, False, True, True, False, False, False]
    assert x.to_numpy().tobytes() == SPECIAL.tobytes()


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFFC12345], ids=hex)
def test_79_every_nan_is_one(bits: int, base: UnderTest) -> None:
    """A NaN is any number whose exponent bits are all set, and whose fraction is not 0; the sign does not matter."""
    values = np.array([bits], dtype="uint32").view("float32")
    x = Tensor.from_data(values, base.device())
    assert x.is_nan().to_numpy().tolist() == [True]
    assert (x == x).to_numpy().tolist() == [False]
    assert (x != x).to_numpy().tolist() == [True]
    assert np.isnan((x * 0.0).to_numpy()).all()


MOVES: dict[str, Any] = {
    "reshape of a permuted": lambda x: x.unsqueeze().transpose().expand((7, 2)).transpose().reshape((14,))[:7],
    "slice": lambda x: x[1:],
    "slice assign": lambda x: x.zeros_like().slice_assign(slice(0, 7), x),
    "gather": lambda x: x.gather(0, ints([6, 5, 4, 3, 2, 1, 0], x.device)),
    "select": lambda x: x.select(0, ints([1, 2, 3], x.device)),
    "mask": lambda x: x.zeros_like().mask_where(x.is_nan().bool_not(), x),
}


@pytest.mark.parametrize("name", MOVES)
def test_79_a_move_changes_no_bit(name: str, base: UnderTest) -> None:
    moved = [MOVES[name](Tensor.from_data(SPECIAL, device)).to_numpy() for device in (NDARRAY.device(), base.device())]
    assert moved[0].tobytes() == moved[1].tobytes()


# 80. Constants that no shader text can hold


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 1e-45, 3.4028235e38], ids=repr)
def test_80_inf_and_nan_as_constants(value: float, base: UnderTest) -> None:
    """As a tensor, and as the number beside one."""
    device = base.device("float32")
    wanted = np.full((4,), value, dtype="float32")
    assert Tensor.full((4,), value, device).to_numpy().tobytes() == wanted.tobytes()
    ones = Tensor.ones((4,), device)
    np.testing.assert_array_equal((ones * value).to_numpy(), wanted)
    np.testing.assert_array_equal(ones.mask_fill(ones > 0, value).to_numpy(), wanted)


def test_80_arithmetic_with_infinity_is_ieee_754s(base: UnderTest) -> None:
    device = base.device()
    big, zero = Tensor.full((1,), math.inf, device), Tensor.zeros((1,), device)
    assert (1.0 / zero).to_numpy().tolist() == [math.inf]
    assert (-1.0 / zero).to_numpy().tolist() == [-math.inf]
    assert (big - 1e30).to_numpy().tolist() == [math.inf]
    for undefined in (big - big, zero / zero, big * zero, (-big).sqrt(), (-big).log()):
        assert undefined.is_nan().to_numpy().tolist() == [True]


# 81. What is not here; backend/test_absence.py takes drivers and packages away


@pytest.mark.parametrize("under_test", params([*BASES, NDARRAY.inside(Autodiff), UnderTest(Meta)]))
def test_81_a_device_that_is_not_here(under_test: UnderTest) -> None:
    with pytest.raises(BackendUnavailable, match="hint"):
        under_test.backend.device("gpu:7")
