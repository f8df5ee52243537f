"""The drawing of the memory strip: columns of stacked categories, the phases below, the peak and the plan over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from tinyburn.backend import Category
from tinyburn.base.text import amount

from . import svg
from .columns import MAX_PHASES, ORDER, Column, merged, peak_of, phases_of, present_in, run_length
from .palette import MARKS

MAX_NAMES = 40  # columns that are wide enough for a name below
MAX_LABEL = 100  # characters of the peak's label

LEFT, TOP, WIDTH, HEIGHT = 76, 64, 620, 240
"""The plot inside the picture, in pixels."""
LEGEND_WIDTH = 190
DASHES = 'fill="none" stroke-width="1.6" stroke-dasharray="5 3"'
"""How a plan's line is drawn."""


@dataclass(frozen=True)
class Scale:
    """From columns and bytes to pixels.

    Attributes:
        count: columns in the plot.
        top: bytes at the upper edge, 1 or more.
        width: of the plot.
        base: the y of 0 bytes.
    """

    count: int
    top: int
    width: float
    base: float

    def x(self, place: float) -> float:
        """The left edge of a column."""
        return LEFT + self.width * place / max(self.count, 1)

    def y(self, size: int) -> float:
        """The height of a number of bytes."""
        return self.base - HEIGHT * size / self.top


def draw_strip(columns: list[Column], planned: list[Column], title: str) -> str:
    """The whole SVG."""
    length = run_length(max(columns, planned, key=len))
    shown, foreseen = merged(columns, length), merged(planned, length)
    title_lines = wrap(title, 110)
    scale = _scale_for(shown, foreseen, TOP + HEIGHT + svg.LINE * (len(title_lines) - 1))
    names = [column.step.op for column in shown] if len(shown) <= MAX_NAMES else []
    below = scale.base + 34 + max([0.71 * svg.text_width(name) for name in names], default=0)
    notes = _notes(shown, length, scale)
    body = [svg.text(12, 22 + svg.LINE * row, line, "ink title") for row, line in enumerate(title_lines)]
    body += _plot(shown, foreseen, scale)
    body += [_name(name, scale.x(place + 0.5), scale.base) for place, name in enumerate(names)]
    body += _legend(shown, foreseen, scale)
    body += [svg.text(LEFT, below + svg.LINE * row + 10, note, "soft") for row, note in enumerate(notes)]
    wide = [12 + 7.9 * len(line) for line in title_lines] + [LEFT + svg.text_width(note) for note in notes]
    width = 12 + max(scale.x(scale.count) + 24 + LEGEND_WIDTH, *wide)
    halo = ".halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
    return svg.page(width, below + svg.LINE * len(notes) + 12, title, body, style=halo)


def _scale_for(columns: Sequence[Column], planned: Sequence[Column], base: float) -> Scale:
    """Room for the larger of the two peaks; a few columns are wider than many, and never more than the plot."""
    highest = max((column.total for column in (*columns, *planned)), default=0)
    return Scale(len(columns), max(highest, 1), min(WIDTH, max(260, 36 * len(columns))), base)


def _plot(columns: list[Column], planned: Sequence[Column], scale: Scale) -> list[str]:
    """Everything over the columns, from the back to the front."""
    present = present_in([*columns, *planned])
    return [
        *(_ticks(scale) if present else []),
        *(_area(category, columns, scale) for category in present_in(columns)),
        *_plan_line(planned, scale),
        *_phases(columns, scale),
        *_peak(columns, scale),
        *_letters(columns, scale),
    ]


def _notes(columns: Sequence[Column], length: int, scale: Scale) -> list[str]:
    """What a reader has to know about the columns and the names below them."""
    if not columns:
        return ["no operation ran and no tensor was made"]
    notes = [f"each column is the largest of up to {length} operations"] if length > 1 else []
    phases = phases_of(columns)
    if len(phases) > MAX_PHASES:
        return [*notes, f"the names of {len(phases)} phases are left out"]
    names = {run[0].step.phase: None for run in phases if _label_of(run, scale) != run[0].step.phase}
    return [*notes, " · ".join(f"{name[0]} {name}" for name in names)] if names else notes


def _ticks(scale: Scale) -> list[str]:
    """The axis of bytes: at most five round numbers above 0, and a faint line at each."""
    step = 1
    while scale.top > 5 * step:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2  # 1, 2, 5, 10, 20, 50 ...
    marks = range(0, scale.top + 1, step)
    right = scale.x(scale.count)
    lines = [
        svg.path(f"M{LEFT - 4} {svg.number(scale.y(size))}H{svg.number(right)}", "line", 'stroke-opacity=".45"')
        for size in marks
    ]
    divisor, unit = _unit_of(step)
    labels = [f"{amount(size // divisor).removesuffix('B')}{unit}" if size else "0" for size in marks]
    texts = zip(labels, marks, strict=True)
    return lines + [svg.text(LEFT - 8, scale.y(size) + 4, label, "soft", "end") for label, size in texts]


def _unit_of(step: int) -> tuple[int, str]:
    """The largest unit in which every multiple of ``step`` bytes is whole; k stands for 1 000."""
    divisor, unit = 1, "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if step % (divisor * 1000):
            break
        divisor, unit = divisor * 1000, larger
    return divisor, unit


def _area(category: Category, columns: Sequence[Column], scale: Scale) -> str:
    """A shape for each run of columns in which the category has any bytes."""
    runs = groupby(range(len(columns)), key=lambda place: columns[place].totals[category] > 0)
    shapes = [_outline(category, list(run), columns, scale) for has_bytes, run in runs if has_bytes]
    fill = svg.fill_of(MARKS[category].letter)
    return svg.path("".join(shapes), "gap", f'fill="{fill}" stroke-width=".5"')


def _outline(category: Category, places: list[int], columns: Sequence[Column], scale: Scale) -> str:
    """Along the upper edge to the right, and back along the lower edge."""
    bands = [_band(category, columns[place]) for place in places]
    right = [svg.number(scale.x(place + 1)) for place in places]
    left = [svg.number(scale.x(place)) for place in places]
    upper = "".join(f"V{svg.number(scale.y(high))}H{x}" for x, (_, high) in zip(right, bands, strict=True))
    lower = "".join(f"V{svg.number(scale.y(low))}H{x}" for x, (low, _) in zip(left[::-1], bands[::-1], strict=True))
    return f"M{left[0]} {svg.number(scale.y(bands[0][0]))}{upper}{lower}Z"


def _band(category: Category, column: Column) -> tuple[int, int]:
    """Where a category begins and ends in the stack, in bytes."""
    low = sum(column.totals[below] for below in ORDER[: ORDER.index(category)])
    return low, low + column.totals[category]


def _letters(columns: Sequence[Column], scale: Scale) -> list[str]:
    """Each category's letter in the middle of its widest high place, if that is large enough to hold it."""
    across = max(1, round(14 * scale.count / scale.width))  # columns under one letter
    drawn = []
    for category in present_in(columns):
        bands = [_band(category, column) for column in columns]
        windows = [bands[start : start + across] for start in range(len(bands) - across + 1)]
        inside = [(max(low for low, _ in window), min(high for _, high in window)) for window in windows]
        start = _middle_of_widest([high - low for low, high in inside])
        low, high = inside[start] if inside else (0, 0)
        if scale.y(low) - scale.y(high) >= 13:
            x, y = scale.x(start + across / 2), (scale.y(low) + scale.y(high)) / 2 + 4
            drawn.append(svg.text(x, y, MARKS[category].letter, "ink bold gap halo", "middle"))
    return drawn


def _middle_of_widest(heights: list[int]) -> int:
    """The middle of the longest run of places that have at least three quarters of the greatest height."""
    limit = max(heights, default=0) * 3
    runs = [list(run) for high, run in groupby(range(len(heights)), lambda at: heights[at] * 4 >= limit) if high]
    longest = max(runs, key=len, default=[0])
    return longest[len(longest) // 2]


def _plan_line(planned: Sequence[Column], scale: Scale) -> list[str]:
    """The plan's total over its own operations, from edge to edge of the plot."""
    if not planned:
        return []
    own = Scale(len(planned), scale.top, scale.width, scale.base)
    steps = "".join(
        f"V{svg.number(own.y(column.total))}H{svg.number(own.x(place + 1))}" for place, column in enumerate(planned)
    )
    line = f"M{LEFT} {svg.number(own.base)}{steps}V{svg.number(own.base)}"
    wide = svg.path(line, "gap", 'fill="none" stroke-width="4"')
    return [wide, svg.path(line, "rule", DASHES)]


def _phases(columns: Sequence[Column], scale: Scale) -> list[str]:
    """The axis, a mark where each phase begins, and the phases' names as far as there is room."""
    base = scale.base
    drawn = [svg.path(f"M{LEFT} {svg.number(base)}H{svg.number(scale.x(scale.count))}", "rule")]
    phases = phases_of(columns)
    place = 0
    for run in phases if len(phases) <= MAX_PHASES else []:
        start, middle = scale.x(place), scale.x(place + len(run) / 2)
        drawn.append(svg.path(f"M{svg.number(start)} {svg.number(base - HEIGHT)}V{svg.number(base + 22)}", "line"))
        drawn.append(svg.text(middle, base + 16, _label_of(run, scale), "soft bold", "middle"))
        place += len(run)
    return drawn


def _label_of(run: Sequence[Column], scale: Scale) -> str:
    """A phase's name, or its first letter where there is no room for more."""
    phase = run[0].step.phase
    return phase if svg.text_width(phase) + 3 < scale.x(len(run)) - scale.x(0) else phase[0]


def _name(name: str, x: float, base: float) -> str:
    """An operation's name below its column, leaning so that neighbours do not touch."""
    place = f"translate({svg.number(x + 4)} {svg.number(base + 34)}) rotate(-45)"
    return f'<g transform="{place}">{svg.text(0, 0, name, "ink", "end")}</g>'


def _peak(columns: list[Column], scale: Scale) -> list[str]:
    """A line through the column of the peak, and what happened there above it."""
    if not any(column.total for column in columns):
        return []
    peak = peak_of(columns)
    x = scale.x(columns.index(peak) + 0.5)
    roof = scale.base - HEIGHT
    label = f"peak {amount(peak.total)} at {peak.step}"
    label = label if len(label) <= MAX_LABEL else f"peak {amount(peak.total)}"  # the title has the rest
    half = svg.text_width(label) / 2
    middle = max(LEFT + half, min(x, scale.x(scale.count) + LEGEND_WIDTH - half))
    line = f"M{svg.number(x)} {svg.number(roof - 8)}V{svg.number(scale.base)}"
    return [svg.path(line, "rule", 'stroke-width="1.2"'), svg.text(middle, roof - 12, label, "ink bold", "middle")]


def _legend(columns: Sequence[Column], planned: Sequence[Column], scale: Scale) -> list[str]:
    """The categories in the order of the stack, with their bytes at the peak."""
    if not present_in([*columns, *planned]):
        return []
    left = scale.x(scale.count) + 24
    y = scale.base - HEIGHT + 10
    drawn = [svg.text(left, y, "bytes at the peak", "soft")]
    for category in reversed(present_in(columns)):
        y += 22
        mark = MARKS[category]
        box = f"M{svg.number(left)} {svg.number(y - 11)}h14v14h-14z"
        drawn.append(svg.path(box, "gap", f'fill="{svg.fill_of(mark.letter)}"'))
        drawn.append(svg.text(left + 20, y, mark.letter, "ink bold"))
        drawn.append(svg.text(left + 34, y, mark.name, "ink"))
        size = amount(peak_of(columns).totals[category])
        drawn.append(svg.text(left + LEGEND_WIDTH, y, size, "ink", "end"))
    if planned:
        y += 24
        drawn.append(svg.path(f"M{svg.number(left)} {svg.number(y - 4)}h28", "rule", DASHES))
        drawn.append(svg.text(left + 34, y, "planned", "ink"))
        drawn.append(svg.text(left + LEGEND_WIDTH, y, amount(peak_of(planned).total), "ink", "end"))
    return drawn
