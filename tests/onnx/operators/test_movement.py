"""Operators that put elements elsewhere: the versions that the cases of the package onnx leave out, and gradients.

Expected values are NumPy's, or written out from the standard.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinyburn import Meta, Tensor
from tinyburn.base.errors import OnnxError
from tinyburn.onnx import Operators

from .support import NUMBERS, check_gradient, computed


def test_slice_by_attributes_cuts_off_what_lies_beyond() -> None:
    found = computed(9, "Slice", NUMBERS, starts=(1, -3), ends=(3, 2**31 - 1), axes=(1, 2))
    assert np.array_equal(found, NUMBERS[:, 1:3, -3:])


def test_slice_goes_backwards_up_to_the_first() -> None:
    found = computed(13, "Slice", NUMBERS, [3, -1], [-(2**62), -(2**40)], [2, -2], [-2, -1])
    assert np.array_equal(found, NUMBERS[:, ::-1, 3::-2])


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(0, 1, 2, 0, 0, 1), (3, 1, 6, 1, 4, 1)])  # the second is longer than the dims
def test_pad_goes_on_with_what_is_there(mode: Any, pads: tuple[int, ...]) -> None:
    found = computed(19, "Pad", NUMBERS, pads, mode=mode)
    assert np.array_equal(found, np.pad(NUMBERS, list(zip(pads[:3], pads[3:], strict=True)), mode))


def test_a_pad_below_0_takes_away() -> None:
    by_attribute = computed(10, "Pad", NUMBERS, pads=(0, -1, 1, 0, 0, -2), value=2.5)
    expected = np.pad(NUMBERS[:, 1:, :2], [(0, 0), (0, 0), (1, 0)], constant_values=2.5)
    assert np.array_equal(by_attribute, expected)
    assert np.array_equal(computed(18, "Pad", NUMBERS, [-1, 1, 0, -2], 2.5, [1, 2]), expected)


def test_the_last_part_of_a_split_may_be_shorter_and_even_empty() -> None:
    parts = computed(18, "Split", np.arange(5), num_outputs=4, count=4)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4], []]


def test_what_has_rank_0_keeps_it() -> None:
    assert computed(13, "Squeeze", [[3.0]]).shape == ()
    assert computed(13, "Reshape", [3.0], np.zeros(0, np.int64)).shape == ()
    assert computed(13, "Expand", 3.0, np.zeros(0, np.int64)).shape == ()
    assert computed(13, "Flatten", 3.0, axis=0).shape == (1, 1)


def test_space_to_depth_is_the_way_back() -> None:
    x = np.arange(2 * 8 * 2 * 3).reshape(2, 8, 2, 3)
    for mode in ("DCR", "CRD"):
        wide = computed(28, "DepthToSpace", x, blocksize=2, mode=mode)
        assert wide.shape == (2, 2, 4, 6)
        assert np.array_equal(computed(28, "SpaceToDepth", wide, blocksize=2, mode=mode), x)


def test_bits_stay_when_they_are_read_as_another_dtype() -> None:
    x = np.array([1.0, -0.0], np.float32)
    assert np.array_equal(computed(26, "BitCast", x, to=6), x.view(np.int32))
    with pytest.raises(OnnxError, match="number of bits"):
        computed(26, "BitCast", x, to=7)


@pytest.mark.parametrize(
    ("name", "others", "attributes"),
    [
        ("Transpose", [], {"perm": (2, 0, 1)}),
        ("Slice", [[3, 0], [0, 2], [2, 1], [-2, 1]], {}),
        ("Pad", [[0, 1, 3, 1, 0, 1]], {"mode": "reflect"}),
        ("Pad", [[0, -1, 1, 0, 0, -2]], {}),
        ("Expand", [[2, 2, 3, 4]], {}),
        ("Tile", [[2, 1, 3]], {}),
        ("Trilu", [1], {"upper": 0}),
        ("CenterCropPad", [[3, 1, 5]], {}),
        ("ReverseSequence", [[2, 1, 2]], {}),
    ],
)
def test_gradients(name: str, others: list[Any], attributes: dict[str, Any]) -> None:
    check_gradient(19, name, NUMBERS, *others, **attributes)


def test_gradient_of_blocks_put_back() -> None:
    check_gradient(19, "Col2Im", NUMBERS.reshape(1, 4, 6), [3, 4], [2, 2])


def test_shapes_are_enough_where_no_number_is_asked_for() -> None:
    x = Tensor.zeros((2, 3, 4), Meta.device())
    op = Operators(21)
    shape = op.Concat(op.Shape(x, start=0, end=1), op.constant([-1], "int64"), axis=0)
    assert op.Reshape(x, shape).shape == (2, 12)


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(OnnxError, match=r"axis 3[\s\S]*rank 3"):
        computed(21, "Squeeze", NUMBERS, [3])
    with pytest.raises(OnnxError, match="longer than 1"):
        computed(21, "Squeeze", NUMBERS, [0])
    with pytest.raises(OnnxError, match="the limit is"):
        computed(21, "Expand", 1.0, [2**20, 2**20])
    with pytest.raises(OnnxError, match="the mode is 'mirror'"):
        computed(21, "Pad", NUMBERS, [1, 0, 0, 0, 0, 0], mode="mirror")
