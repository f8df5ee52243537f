"""The windows of a convolution as a widget: another filter, stride or padding, and each window in turn."""

from __future__ import annotations

from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.viz import Picture
from tinyburn.viz import windows as drawn_windows
from tinyburn.viz.stacked import stacked
from tinyburn.viz.windows import Dim

from .checks import count_problems
from .controls import number, step_buttons, with_slider
from .live import Controls, Live

MOST_LENGTH, MOST_STRIDE, MOST_PADDING = 14, 5, 3


def windows(lengths: tuple[int, int] = (8, 8), kernel_size: int = 3, *, stride: int = 1, padding: int = 0) -> Live:
    """`viz.windows` with numbers for the size of the filter, the stride, the padding, and the window that is shown.

    Args:
        lengths: rows and columns of the image, from 1 to 14.
        kernel_size, stride, padding: at the start, the same for rows and columns.

    Raises ConfigError for an argument that makes no sense.
    """
    largest = _check(lengths, kernel_size, stride, padding)

    def draw(kernel_size: int, stride: int, padding: int, window: int) -> Picture:
        return drawn_windows(lengths, kernel_size, stride=stride, padding=padding, window=window)

    def controls(widgets: Any) -> Controls:
        kernel = number(widgets, "Filter size", kernel_size, 1, largest)
        step = number(widgets, "Stride", stride, 1, MOST_STRIDE)
        around = number(widgets, "Padding", padding, 0, MOST_PADDING)
        window, slider = with_slider(widgets, number(widgets, "Window", 1, 1, 1))

        def count(_: object = None) -> None:
            """There are no more windows than fit, and the one that is shown is one of them."""
            dims = [Dim(length, kernel.value, step.value, around.value) for length in lengths]
            window.max = dims[0].count * dims[1].count

        for each in (kernel, step, around):
            each.observe(count, "value")
        count()
        row = [kernel, step, around, *step_buttons(widgets, window, "window"), window, slider]
        return Controls(row, {"kernel_size": kernel, "stride": step, "padding": around, "window": window})

    return Live(_still(lengths, kernel_size, stride, padding), draw, controls)


def _check(lengths: Any, kernel_size: Any, stride: Any, padding: Any) -> int:
    """The largest filter that fits without padding. Raises ConfigError, with every reason."""
    is_pair = isinstance(lengths, tuple) and len(lengths) == 2
    reasons = [] if is_pair else [f"lengths are {lengths!r}, and must be rows and columns"]
    if is_pair:
        reasons += count_problems(1, MOST_LENGTH, rows=lengths[0], columns=lengths[1])
    largest = MOST_LENGTH if reasons else min(lengths)
    reasons += count_problems(1, largest, kernel_size=kernel_size) + count_problems(1, MOST_STRIDE, stride=stride)
    reasons += count_problems(0, MOST_PADDING, padding=padding)
    if reasons:
        raise ConfigError("widgets.windows", reasons, hint="write widgets.windows((8, 8), 3, stride=2, padding=1)")
    return largest


def _still(lengths: tuple[int, int], kernel_size: int, stride: int, padding: int) -> Picture:
    """What stride and padding change, side by side."""
    states = dict.fromkeys([(stride, padding), (1, 0), (2, 0), (1, 1)])
    pictures, outputs = {}, []
    for step, around in states:
        name = f"stride {step}, padding {around}"
        pictures[name] = drawn_windows(lengths, kernel_size, stride=step, padding=around)
        rows, columns = (Dim(length, kernel_size, step, around).count for length in lengths)
        outputs.append(f"{rows} x {columns} with {name}")
    image = f"{lengths[0]} x {lengths[1]}"
    return stacked(f"From {image} by a filter of {kernel_size} x {kernel_size}: {'; '.join(outputs)}", pictures)
