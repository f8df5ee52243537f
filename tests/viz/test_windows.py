"""The windows of a convolution: as many as a layer makes, counted by hand, and drawn where they lie."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.examples import texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import ConfigError, Meta, Tensor, nn
from tinyburn.viz import windows
from tinyburn.viz.windows import MOST, Dim


def test_the_example_of_the_lesson_by_hand() -> None:
    """8 rows, 3 at a time, 2 further each time: they begin at rows 0, 2 and 4, and row 7 is in none."""
    picture = windows((8, 8), 3, stride=2, window=6)
    assert picture.title == (
        "A window of 3 x 3 with stride 2 fits into 8 x 8 at 3 x 3 = 9 places; in no window: row 7, column 7"
    )
    assert picture.text.splitlines() == [
        "         image  padding  window  stride  output",
        "rows         8        0       3       2       3",
        "columns      8        0       3       2       3",
        "",
        "Rows, and columns too: (8 - 3) / 2 = 2.5, rounded down 2; + 1 = 3",
        "Window 6 of 9 makes row 1, column 2 of the output: rows 2 to 4 and columns 4 to 6",
    ]


def test_padding_and_two_sizes_by_hand() -> None:
    """The first window of 3 x 2 begins a row above the image: two of its six places are padding."""
    picture = windows((8, 6), (3, 2), stride=(1, 2), padding=(1, 0))
    title = "A window of 3 x 2 with stride 1 x 2 fits into 8 x 6 with padding 1 x 0 at 8 x 3 = 24 places"
    assert picture.title == title
    assert picture.text.splitlines()[4:] == [
        "Rows: (8 + 2 * 1 - 3) / 1 = 7; + 1 = 8",
        "Columns: (6 - 2) / 2 = 2; + 1 = 3",
        "Window 1 of 24 makes row 0, column 0 of the output: rows -1 to 1 and columns 0 to 1; "
        "2 of its 6 places are padding",
    ]


numbers = st.integers(1, 5)


@given(st.tuples(st.integers(1, 14), st.integers(1, 14)), st.tuples(numbers, numbers), numbers, st.integers(0, 3))
def test_there_are_as_many_as_a_layer_makes(
    lengths: tuple[int, int], sizes: tuple[int, int], stride: int, padding: int
) -> None:
    if any(length + 2 * padding < size for length, size in zip(lengths, sizes, strict=True)):
        return
    padded = nn.PaddingConfig2d.Explicit(padding, padding)
    layer = nn.Conv2dConfig((1, 1), sizes, stride=stride, padding=padded).init(Meta.device())
    rows, columns = layer(Tensor.zeros((1, 1, *lengths), Meta.device())).shape[2:]
    picture = windows(lengths, sizes, stride=stride, padding=padding, window=rows * columns)
    assert f"at {rows} x {columns} = {rows * columns} places" in picture.title
    assert f"makes row {rows - 1}, column {columns - 1} of the output" in picture.text
    assert_readable(picture)


@given(st.integers(1, 14), st.integers(1, 5), st.integers(1, 7), st.integers(0, 3))
def test_a_place_is_left_out_if_no_window_has_it(length: int, size: int, stride: int, padding: int) -> None:
    """Window by window, in place of the formula."""
    dim = Dim(length, size, stride, padding)
    covered, begin = set(), -padding
    while begin + size <= length + padding:
        covered |= {*range(begin, begin + size)}
        begin += stride
    assert dim.left_out == [place for place in range(length) if place not in covered]


def frames(svg: str, style: str) -> list[list[float]]:
    """The rectangles of a style in the drawing of the image, in cells of 22 pixels: column, row, width, height."""
    found = re.findall(rf'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" class="{style} rule"/>', svg)
    cells = [[float(number) / 22 for number in each] for each in found]
    return [each for each in cells if each[2] >= 2]


def test_the_window_and_the_next_ones_are_drawn_where_they_lie() -> None:
    """Window 2 of three a row begins in column 2; the next ones are 2 to the right, and 1 below."""
    svg = windows((8, 8), (2, 4), stride=(1, 2), window=2).svg
    assert frames(svg, "window") == [[2, 0, 4, 2]]
    assert frames(svg, "next") == [[4, 0, 4, 2], [2, 1, 4, 2]]
    last = windows((8, 8), (2, 4), stride=(1, 2), window=21).svg
    assert frames(last, "window") == [[4, 6, 4, 2]]
    assert frames(last, "next") == []


def test_what_is_not_there_has_no_key() -> None:
    plain, all_of_it = windows((4, 4), 2, window=9), windows((4, 4), 3, stride=2, padding=1)
    assert not {"padding", "in no window", "the next ones, right and below"} & {*texts(plain)}
    assert {"padding", "the next ones, right and below"} <= {*texts(all_of_it)}
    assert "in no window" in texts(windows((4, 4), 1, stride=2))
    assert texts(all_of_it).count("0") >= 6 * 6 - 4 * 4 - 1, "the padding, but where the W stands"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: windows(8, 3), "lengths are 8, and must be rows and columns"),  # type: ignore[arg-type]
        (lambda: windows((8, 0), 3), "lengths is 0"),
        (lambda: windows((8, 8), (3, 3, 3)), "kernel_size has 3 numbers"),
        (lambda: windows((8, 8), 3, stride=0), "stride is 0"),
        (lambda: windows((8, 8), 3, padding=-1), "padding is -1"),
        (lambda: windows((2, 8), 5, padding=1), "there are 4 rows with the padding, and a window has 5"),
        (lambda: windows((MOST, MOST), 3, padding=1), "there are 22 rows with the padding, and 20 can be drawn"),
        (lambda: windows((8, 8), 3, window=37), "window is 37, and there are 36"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        call()


def test_the_largest_picture_is_small_enough() -> None:
    assert len(windows((MOST, MOST), 1).html) < 100_000
    assert len(windows((2, 2), 1, padding=9).html) < 100_000


def test_the_same_bytes_in_every_process() -> None:
    script = "from tinyburn import viz; picture = viz.windows((8, 8), 3, stride=2, padding=1, window=3)"
    first, second = outputs_of_two_processes(script)
    assert first == second
