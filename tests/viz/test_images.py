"""Images: their pixels, read again by Pillow, their captions, and what there is no room for."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import BackendMismatch, ConfigError, Meta, NdArray, ShapeError, Tensor
from tinyburn.viz import Picture, images
from tinyburn.viz.bitmap import png
from tinyburn.viz.images import MOST_IMAGES

Image = pytest.importorskip("PIL.Image")
DEVICE = NdArray.device(float_dtype="float64")
COUNT = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)


def tensor(values: Any) -> Tensor[NdArray, Any, Any]:
    return Tensor.from_data(np.asarray(values), DEVICE)


def pixels_in(picture: Picture) -> list[Any]:
    """What another library reads from the bitmaps of a picture."""
    found = re.findall(r'href="data:image/png;base64,([^"]+)"', picture.svg)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each)))) for each in found]


shapes = st.tuples(st.integers(1, 300), st.integers(1, 300)) | st.tuples(
    st.integers(1, 60), st.integers(1, 60), st.just(3)
)


@given(shapes.flatmap(lambda shape: hnp.arrays(np.uint8, shape, fill=st.integers(0, 255))))
def test_a_png_is_read_as_it_was_written(pixels: Any) -> None:
    """Also one of more than 65 535 bytes, which is stored in two blocks."""
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)


def test_the_smallest_number_is_black_and_the_largest_white() -> None:
    """By hand: 24 numbers from 0 to 23 over both images, on one scale of 255 steps."""
    picture = images(tensor(COUNT))
    np.testing.assert_array_equal(pixels_in(picture), np.rint(COUNT * 255 / 23))
    assert picture.title == "2 images of 3 x 4, from 0 to 23"
    assert columns(picture, "image", "smallest", "mean", "largest") == [
        ("0", "0", "5.5", "11"),
        ("1", "12", "17.5", "23"),
    ]
    assert {"0: black", "23: white"} <= set(texts(picture))
    assert_readable(picture)


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (1, 1, 3, 4)])
def test_one_grey_image_in_any_shape(shape: tuple[int, ...]) -> None:
    assert images(tensor(COUNT[0].reshape(shape))).svg == images(tensor(COUNT[0])).svg


def test_three_channels_are_red_green_and_blue() -> None:
    values = np.zeros((1, 3, 2, 2))
    values[0, 0, 0, 0] = values[0, 2, 1, 1] = 1.0
    (pixels,) = pixels_in(images(tensor(values)))
    assert pixels[0, 0].tolist() == [255, 0, 0]
    assert pixels[1, 1].tolist() == [0, 0, 255]


def test_wrong_answers_are_counted_framed_and_named() -> None:
    picture = images(tensor(np.zeros((3, 2, 2))), ["cat", "dog", "cat"], ["cat", "cat", "cat"])
    assert picture.title == "3 images of 2 x 2: 1 of 3 wrong"
    assert columns(picture, "label", "answer") == [("cat", "cat"), ("dog", "cat"), ("cat", "cat")]
    assert texts(picture).count("cat, not dog") == 1
    assert picture.svg.count('class="rule wrong"') == 1 + 1  # and in the key
    right = images(tensor(np.zeros((1, 2, 2))), tensor([7]), [7])
    assert right.title == "1 image of 2 x 2: none of 1 wrong"
    assert "rule wrong" not in right.svg


def test_what_there_is_no_room_for_is_said() -> None:
    many = images(tensor(np.zeros((MOST_IMAGES + 5, 2, 2))))
    assert len(pixels_in(many)) == MOST_IMAGES
    assert "5 more images are not shown." in many.text
    large = images(tensor(np.zeros((3, 300, 400))))
    assert "Of every 3 rows and columns one is drawn." in texts(large)
    assert pixels_in(large)[0].shape == (100, 134)
    for picture in (many, large, images(tensor(np.zeros((40, 3, 64, 64))))):
        assert_readable(picture)
        assert len(picture.html) < 100_000


def test_lost_numbers_are_black_and_said() -> None:
    picture = images(tensor([[1.0, np.nan], [np.inf, 2.0]]))
    assert pixels_in(picture)[0].tolist() == [[0, 0], [0, 255]]
    assert "2 inf or NaN are drawn black." in texts(picture)
    assert images(tensor([[np.nan]])).title == "1 image of 1 x 1, from nan to nan"


@pytest.mark.parametrize("shape", [(3,), (2, 2, 3, 3), (0, 3, 3), (1, 1, 1, 3, 3)])
def test_what_is_no_shape_of_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="is no shape of images"):
        images(tensor(np.zeros(shape)))


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="2 images and 1 label"):
        images(tensor(COUNT), ["a"])
    with pytest.raises(ConfigError, match="list is no tensor"):
        images([[1.0]])  # type: ignore[arg-type]
    with pytest.raises(BackendMismatch, match="keeps shapes only"):
        images(Tensor.ones((2, 2), Meta.device()))


_SCRIPT = """
from tests.viz.test_images import COUNT, tensor
from tinyburn import viz
picture = viz.images(tensor(COUNT), ["a", "b"], ["a", "c"])
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
