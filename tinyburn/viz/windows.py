"""The windows of a convolution: which places of an image each of them covers, and how many there are.

The image is a grid with its padding around it. One window is hatched, and so is the place of the output that it makes;
a dot stands where each window begins. What no window covers is crossed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.base.text import table
from tinyburn.nn.geometry import PerDim, number_problems, per_dim

from .cards import Key, sheet
from .formula import listed
from .picture import Picture
from .svg import number, path, rect, text, xy

MOST = 20
"""Rows or columns of an image, with its padding."""
_CELL = 22.0
_LABELS = 24.0  # the numbers of rows and columns
_GAP = 64.0  # between the two grids, for an arrow
_HATCH = (
    '<pattern id="window" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V6" class="line" stroke-width="2.4"/></pattern>'
)
_STYLE = (
    ".grid{stroke-width:.7;fill:none}.around{stroke-width:1;stroke-dasharray:3 3;fill:none}"
    ".window{fill:url(#window);stroke-width:2.6}.next{stroke-width:1.6;stroke-dasharray:6 3;fill:none}"
    ".begin{stroke-width:5;stroke-linecap:round}.cross{stroke-width:1.2}"
    ".halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
)


def windows(
    lengths: tuple[int, int], kernel_size: PerDim, *, stride: PerDim = 1, padding: PerDim = 0, window: int = 1
) -> Picture:
    """The windows of a filter on an image.

    Args:
        lengths: rows and columns of the image.
        kernel_size: rows and columns of the filter. A number stands for both, here and below.
        stride: how far a window begins from the one before.
        padding: rows above and below the image, and columns left and right of it, which are 0.
        window: the one that is shown, from 1 on, in the order in which one reads.

    Raises ConfigError for numbers that make no sense, an image too large to draw, or a window that is not there.
    """
    _check(lengths, kernel_size, stride, padding)
    given = (lengths, *[per_dim(each, 2) for each in (kernel_size, stride, padding)])
    rows, columns = (Dim(*numbers) for numbers in zip(*given, strict=True))
    count = rows.count * columns.count
    if not (is_count(window) and 1 <= window <= count):
        raise ConfigError("viz.windows", f"window is {window!r}, and there are {count}", hint="the first one is 1")
    at = divmod(window - 1, columns.count)
    title = _title(rows, columns)
    return Picture(title, _text(rows, columns, at), _drawing(title, rows, columns, at))


def _check(lengths: Any, kernel_size: PerDim, stride: PerDim, padding: PerDim) -> None:
    """Raises ConfigError, with every reason."""
    hint = "write viz.windows((8, 8), 3, stride=2, padding=1)"
    if not (isinstance(lengths, tuple) and len(lengths) == 2):
        raise ConfigError("viz.windows", f"lengths are {lengths!r}, and must be rows and columns", hint=hint)
    reasons = number_problems({"lengths": lengths, "kernel_size": kernel_size, "stride": stride}, 2)
    reasons += number_problems({"padding": padding}, 2, least=0)
    if not reasons:
        for name, length, size, around in zip(
            ("rows", "columns"), lengths, per_dim(kernel_size, 2), per_dim(padding, 2), strict=True
        ):
            padded = f"{length + 2 * around} {name} with the padding"
            reasons += [f"there are {padded}, and {MOST} can be drawn"] if length + 2 * around > MOST else []
            reasons += [f"there are {padded}, and a window has {size}"] if length + 2 * around < size else []
    if reasons:
        raise ConfigError("viz.windows", reasons, hint=hint)


@dataclass(frozen=True)
class Dim:
    """One of the two dims: rows or columns. Places are counted from the first one of the padding.

    Attributes:
        length: of the image.
        size: of a window.
        stride: from the begin of one to that of the next.
        padding: on either side.
    """

    length: int
    size: int
    stride: int
    padding: int

    @property
    def padded(self) -> int:
        """The length with its padding."""
        return self.length + 2 * self.padding

    @property
    def count(self) -> int:
        """How many windows fit: the length of the output."""
        return (self.padded - self.size) // self.stride + 1

    def begin(self, window: int) -> int:
        """The first place of a window."""
        return window * self.stride

    def is_padding(self, place: int) -> bool:
        """Whether a place is outside the image."""
        return not self.padding <= place < self.padding + self.length

    @cached_property
    def left_out(self) -> list[int]:
        """The places of the image that are in no window, counted as the image's."""
        covered = {self.begin(window) + place for window in range(self.count) for place in range(self.size)}
        return [
            place - self.padding for place in range(self.padded) if place not in covered and not self.is_padding(place)
        ]

    @property
    def formula(self) -> str:
        """The number of windows with its numbers."""
        around = f" + 2 * {self.padding}" if self.padding else ""
        room = self.padded - self.size
        divided = f"({self.length}{around} - {self.size}) / {self.stride} = {room / self.stride:.3g}"
        rounded = f", rounded down {room // self.stride}" if room % self.stride else ""
        return f"{divided}{rounded}; + 1 = {self.count}"


# The words


def _title(rows: Dim, columns: Dim) -> str:
    steps = _pair(rows.stride, columns.stride) if rows.stride != columns.stride else str(rows.stride)
    around = _pair(rows.padding, columns.padding) if rows.padding != columns.padding else str(rows.padding)
    with_padding = f" with padding {around}" if rows.padding or columns.padding else ""
    image = f"{_pair(rows.length, columns.length)}{with_padding}"
    places = f"{_pair(rows.count, columns.count)} = {rows.count * columns.count} places"
    said = f"A window of {_pair(rows.size, columns.size)} with stride {steps} fits into {image} at {places}"
    missed = _left_out(rows, columns)
    return f"{said}; in no window: {missed}" if missed else said


def _pair(one: int, other: int) -> str:
    return f"{one} x {other}"


def _left_out(rows: Dim, columns: Dim) -> str:
    pairs = (("row", rows.left_out), ("column", columns.left_out))
    named = [f"{noun}{'s' if len(left) > 1 else ''} {listed([*map(str, left)])}" for noun, left in pairs if left]
    return ", ".join(named)


def _formulas(rows: Dim, columns: Dim) -> list[str]:
    if rows == columns:
        return [f"Rows, and columns too: {rows.formula}"]
    return [f"Rows: {rows.formula}", f"Columns: {columns.formula}"]


def _shown(rows: Dim, columns: Dim, at: tuple[int, int]) -> str:
    """What the hatched window is."""
    number_of = at[0] * columns.count + at[1] + 1
    made = f"Window {number_of} of {rows.count * columns.count} makes row {at[0]}, column {at[1]} of the output"
    places = [(dim.begin(one), dim.begin(one) + dim.size) for dim, one in zip((rows, columns), at, strict=True)]
    (top, bottom), (left, right) = places
    inside = sum(
        not rows.is_padding(row) and not columns.is_padding(column)
        for row in range(top, bottom)
        for column in range(left, right)
    )
    zeros = rows.size * columns.size - inside
    covers = f"rows {_span(rows, top, bottom)} and columns {_span(columns, left, right)}"
    return f"{made}: {covers}" + (f"; {zeros} of its {zeros + inside} places are padding" if zeros else "")


def _span(dim: Dim, begin: int, end: int) -> str:
    return f"{begin - dim.padding} to {end - 1 - dim.padding}"


def _text(rows: Dim, columns: Dim, at: tuple[int, int]) -> str:
    cells = [
        (name, *map(str, (dim.length, dim.padding, dim.size, dim.stride, dim.count)))
        for name, dim in (("rows", rows), ("columns", columns))
    ]
    said = [table(("", "image", "padding", "window", "stride", "output"), cells), "", *_formulas(rows, columns)]
    return "\n".join([*said, _shown(rows, columns, at)])


# The drawing


def _drawing(title: str, rows: Dim, columns: Dim, at: tuple[int, int]) -> str:
    wide, high = columns.padded * _CELL, rows.padded * _CELL
    out_wide, out_high = columns.count * _CELL, rows.count * _CELL
    right = _LABELS + wide + _GAP
    below = _LABELS + (high - out_high) / 2  # the output stands beside the middle of the image
    drawn = [_moved(_LABELS, _LABELS, _image(rows, columns, at)), _arrow(_LABELS + wide, _LABELS + high / 2)]
    drawn.append(_moved(right, below, _output(rows, columns, at)))
    size = (right + _LABELS + out_wide, _LABELS + high + 8)
    notes = [*_formulas(rows, columns), _shown(rows, columns, at)]
    return sheet(title, size, drawn, _keys(rows, columns, at), notes, _STYLE, _HATCH)


def _moved(x: float, y: float, drawn: Sequence[str]) -> str:
    return "\n".join([f'<g transform="translate({xy(x, y)})">', *drawn, "</g>"])


def _arrow(x: float, y: float) -> str:
    return path(f"M{xy(x + 12, y)}h{number(_GAP - 36)}", "line arrow", 'marker-end="url(#arrow)"')


def _image(rows: Dim, columns: Dim, at: tuple[int, int]) -> list[str]:
    """The grid, what no window covers, the window, the next ones, and on top what has to be read."""
    top, left = rows.begin(at[0]), columns.begin(at[1])
    drawn = [*_numbers(rows, columns), *_grid(rows, columns), _crosses(rows, columns)]
    drawn.append(_frame(left, top, columns.size, rows.size, "window rule"))
    drawn += [
        _frame(columns.begin(at[1] + right), rows.begin(at[0] + down), columns.size, rows.size, "next rule")
        for down, right in ((0, 1), (1, 0))
        if at[0] + down < rows.count and at[1] + right < columns.count
    ]
    middle = (top + (rows.size - 1) / 2, left + (columns.size - 1) / 2)
    drawn += [_letter(column, row, "0") for row, column in _padding(rows, columns) if (row, column) != middle]
    return [*drawn, _dots(rows, columns), _letter(middle[1], middle[0], "W", "ink bold gap halo")]


def _output(rows: Dim, columns: Dim, at: tuple[int, int]) -> list[str]:
    out = [Dim(dim.count, 1, 1, 0) for dim in (rows, columns)]
    marked = [_frame(at[1], at[0], 1, 1, "window rule"), _letter(at[1], at[0], "W", "ink bold gap halo")]
    return [*_numbers(*out), *_grid(*out), *marked]


def _frame(column: int, row: int, wide: int, high: int, style: str) -> str:
    return rect(column * _CELL, row * _CELL, wide * _CELL, high * _CELL, style)


def _letter(column: float, row: float, letter: str, style: str = "soft gap halo") -> str:
    return text((column + 0.5) * _CELL, (row + 0.5) * _CELL + 4, letter, style, "middle")


def _numbers(rows: Dim, columns: Dim) -> list[str]:
    """The numbers of rows and columns, as the image counts them: its padding has none."""
    above = [text((columns.padding + at + 0.5) * _CELL, -6, str(at), "soft", "middle") for at in range(columns.length)]
    return above + [
        text(-5, (rows.padding + at + 0.5) * _CELL + 4, str(at), "soft", "end") for at in range(rows.length)
    ]


def _grid(rows: Dim, columns: Dim) -> list[str]:
    """The cells of the image, and around them the edge of the padding."""
    x, y = columns.padding * _CELL, rows.padding * _CELL
    wide, high = columns.length * _CELL, rows.length * _CELL
    down = "".join(f"M{xy(x + at * _CELL, y)}v{number(high)}" for at in range(columns.length + 1))
    across = "".join(f"M{xy(x, y + at * _CELL)}h{number(wide)}" for at in range(rows.length + 1))
    drawn = [path(down + across, "line grid")]
    if rows.padding or columns.padding:
        drawn.insert(0, _frame(0, 0, columns.padded, rows.padded, "line around"))
    return drawn


def _padding(rows: Dim, columns: Dim) -> Iterator[tuple[int, int]]:
    """The places of the padding."""
    for row in range(rows.padded):
        for column in range(columns.padded):
            if rows.is_padding(row) or columns.is_padding(column):
                yield row, column


def _crosses(rows: Dim, columns: Dim) -> str:
    """A cross on each place of the image that is in no window."""
    places = [
        (row, column)
        for row in range(rows.length)
        for column in range(columns.length)
        if row in rows.left_out or column in columns.left_out
    ]
    corners = [((columns.padding + column) * _CELL + 7, (rows.padding + row) * _CELL + 7) for row, column in places]
    return path("".join(f"M{xy(x, y)}l8 8m0 -8l-8 8" for x, y in corners), "line cross")


def _dots(rows: Dim, columns: Dim) -> str:
    """A dot in the first place of each window."""
    begins = [
        (columns.begin(right) * _CELL + 5, rows.begin(down) * _CELL + 5)
        for down in range(rows.count)
        for right in range(columns.count)
    ]
    return path("".join(f"M{xy(x, y)}h0" for x, y in begins), "rule begin")


def _keys(rows: Dim, columns: Dim, at: tuple[int, int]) -> list[Key]:
    swatch = rect(1, 1, 24, 12, "window rule") + text(13, 11, "W", "ink bold gap halo", "middle")
    keys = [Key(swatch, "the window, and what it makes"), Key(path("M13 7h0", "rule begin"), "a window begins here")]
    if at[0] + 1 < rows.count or at[1] + 1 < columns.count:
        keys.append(Key(rect(1, 1, 24, 12, "next rule"), "the next ones, right and below"))
    if rows.padding or columns.padding:
        keys.append(Key(rect(1, 1, 24, 12, "line around") + text(13, 11, "0", "soft", "middle"), "padding"))
    if rows.left_out or columns.left_out:
        keys.append(Key(path("M9 3l8 8m0 -8l-8 8", "line cross"), "in no window"))
    return keys
