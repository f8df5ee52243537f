"""The windows with controls: each state is a drawing of its own, and never a window that is not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.viz.examples import texts
from tests.widgets.controls import control, frame_of, names_of, title_of
from tinyburn import ConfigError, viz, widgets


def test_each_control_is_in_the_picture() -> None:
    found = widgets.windows((8, 6), 3)
    assert names_of(found) == [
        "Filter size",
        "Stride",
        "Padding",
        "Previous window",
        "Next window",
        "Window",
        "or slide",
    ]
    assert frame_of(found) == viz.windows((8, 6), 3).html
    control(found, "Filter size").value = 2
    control(found, "Stride").value = 3
    control(found, "Padding").value = 1
    control(found, "Next window").click()
    assert frame_of(found) == viz.windows((8, 6), 2, stride=3, padding=1, window=2).html


def test_when_fewer_windows_fit_the_last_of_them_is_shown() -> None:
    """36 windows become 9, and are 36 again."""
    found = widgets.windows()
    control(found, "Window").value = 36
    control(found, "Stride").value = 2
    assert (control(found, "Window").value, found.controls.row[-1].max) == (9, 9)
    assert frame_of(found) == viz.windows((8, 8), 3, stride=2, window=9).html
    control(found, "Next window").click()
    assert control(found, "Window").value == 9
    control(found, "Stride").value = 1
    control(found, "Next window").click()
    assert frame_of(found) == viz.windows((8, 8), 3, window=10).html
    control(found, "Previous window").click()
    assert "36 places" in title_of(found)
    assert control(found, "Window").value == 9


def test_the_still_picture_shows_what_stride_and_padding_change() -> None:
    """8 - 3 + 1 = 6, five halves rounded down and 1 is 3, and 8 + 2 - 3 + 1 = 8."""
    still = widgets.windows().still
    outputs = "6 x 6 with stride 1, padding 0; 3 x 3 with stride 2, padding 0; 8 x 8 with stride 1, padding 1"
    assert still.title == f"From 8 x 8 by a filter of 3 x 3: {outputs}"
    assert "stride 4, padding 2" in texts(widgets.windows(stride=4, padding=2).still)


def test_the_largest_image_can_be_drawn_with_the_most_padding() -> None:
    found = widgets.windows((14, 14), 1)
    control(found, "Padding").value = 99
    assert "20 x 20 = 400 places" in title_of(found)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: widgets.windows(8), "lengths are 8"),  # type: ignore[arg-type]
        (lambda: widgets.windows((8, 15)), "columns is 15, and must be a whole number from 1 to 14"),
        (lambda: widgets.windows((8, 4), 5), "kernel_size is 5, and must be a whole number from 1 to 4"),
        (lambda: widgets.windows(stride=0), "stride is 0"),
        (lambda: widgets.windows(padding=4), "padding is 4"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        call()
