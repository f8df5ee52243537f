"""The memory strip's columns, read from an event log, and the drawing of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from tinyburn.backend import Category, EventLog
from tinyburn.memory.timeline import SETUP, Step, Totals, walk
from tinyburn.text import amount

from . import svg
from .palette import MARKS

ORDER = (
    Category.PARAMETER,
    Category.OPTIMIZER,
    Category.INPUT,
    Category.ACTIVATION,
    Category.GRADIENT,
    Category.OUTPUT,
    Category.TEMPORARY,
    Category.UNKNOWN,
)
"""From the bottom of the stack to its top: what lives longest lies lowest, as a level floor for the rest."""

MAX_COLUMNS = 200  # with more operations, runs of them share a column
MAX_NAMES = 40  # columns that are wide enough for a name below
MAX_PHASES = 60  # that are told apart

LEFT, TOP, WIDTH, HEIGHT = 76, 64, 620, 240
"""The plot inside the picture, in pixels."""
LEGEND_WIDTH = 190


@dataclass(frozen=True)
class Column:
    """One operation, or a run of several, at the moment when most bytes were alive in it.

    Attributes:
        first, last: the numbers of its operations; 0 is what was made before the first one.
        step: the operation of that moment.
        totals: bytes by category at that moment.
    """

    first: int
    last: int
    step: Step
    totals: Totals

    @property
    def total(self) -> int:
        return sum(self.totals)


def columns_of(log: EventLog) -> list[Column]:
    """One column for each operation, in order, after one for what was made before the first.

    Several moments of an operation can be equally large. The last of them counts: by then the result has got its
    category, since a save or a gradient is noted after the allocation.
    """
    moments: list[tuple[Step, Totals]] = []
    current: Step | None = None
    most = 0
    for _, step, totals in walk(log):
        size = sum(totals)
        if step is not current:
            moments.append((step, totals))
        elif size >= most:
            moments[-1] = step, totals
        else:
            continue
        current, most = step, size
    begin = 0 if moments and moments[0][0] is SETUP else 1
    return [Column(number, number, *moment) for number, moment in enumerate(moments, begin)]


def peak_of(columns: Sequence[Column]) -> Column:
    """The first of the largest columns."""
    return max(columns, key=lambda column: column.total)


def phases_of(columns: Sequence[Column]) -> list[list[Column]]:
    """The columns in runs of one phase."""
    return [list(run) for _, run in groupby(columns, key=lambda column: column.step.phase)]


def merged(columns: list[Column], length: int) -> list[Column]:
    """Each run of ``length`` columns as one, which keeps the largest moment.

    A run ends where a phase ends, unless there are so many phases that this would not make the strip shorter.
    """
    if length == 1:
        return columns
    phases = phases_of(columns)
    groups = phases if len(phases) <= MAX_PHASES else [columns]
    runs = [group[start : start + length] for group in groups for start in range(0, len(group), length)]
    largest = [peak_of(run) for run in runs]
    return [
        Column(run[0].first, run[-1].last, column.step, column.totals)
        for run, column in zip(runs, largest, strict=True)
    ]


def run_length(columns: Sequence[Column]) -> int:
    """How many operations share a column, so that `MAX_COLUMNS` are enough for all."""
    return max(1, -(-len(columns) // MAX_COLUMNS))


def present_in(columns: Sequence[Column]) -> list[Category]:
    """The categories that have any bytes anywhere, in the order of the stack."""
    return [category for category in ORDER if any(column.totals[category] for column in columns)]


# Drawing


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
        return LEFT + self.width * place / max(self.count, 1)

    def y(self, size: int) -> float:
        return self.base - HEIGHT * size / self.top


def draw_strip(columns: list[Column], planned: list[Column], title: str) -> str:
    """The whole SVG."""
    length = run_length(columns)
    shown, foreseen = merged(columns, length), merged(planned, length)
    title_lines = wrap(title, 110)
    highest = max((column.total for column in (*shown, *foreseen)), default=0)
    base = TOP + svg.LINE * (len(title_lines) - 1) + HEIGHT
    scale = Scale(len(shown), max(highest, 1), min(WIDTH, max(260, 36 * len(shown))), base)
    names = [column.step.op for column in shown] if len(shown) <= MAX_NAMES else []
    note = [f"each column is the largest of up to {length} operations"] if length > 1 else []
    bottom = base + 34 + 0.71 * max([svg.text_width(name) for name in names], default=0) + svg.LINE * len(note)
    body = [svg.text(12, 22 + svg.LINE * row, line, "ink title") for row, line in enumerate(title_lines)]
    body += _ticks(scale)
    for category in present_in(shown):
        body += _area(category, shown, scale)
    body += _letters(shown, scale)
    body += _plan_line(foreseen, scale)
    body += _phases(shown, scale)
    body += [_name(name, scale.x(place + 0.5), base) for place, name in enumerate(names)]
    body += _peak(shown, scale)
    body += _legend(shown, foreseen, scale)
    body += [svg.text(LEFT, bottom - 8, line, "soft") for line in note]
    width = max(scale.x(scale.count) + LEGEND_WIDTH + 36, 24 + max(len(line) for line in title_lines) * 7.9)
    halo = ".halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
    return svg.page(width, max(bottom, base + 40), title, body, style=halo)


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
    return lines + [svg.text(LEFT - 8, scale.y(size) + 4, short_amount(size), "soft", "end") for size in marks]


def short_amount(size: int) -> str:
    """A round number of bytes in the largest unit that keeps it whole: ``20 kB``, with k for 1 000."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size % 1000 or size == 0 or unit == "TB":
            break
        size //= 1000
    return amount(size).removesuffix("B") + unit


def _area(category: Category, columns: Sequence[Column], scale: Scale) -> list[str]:
    """One shape for each run of columns in which the category has any bytes."""
    shapes = []
    for has_bytes, run in groupby(range(len(columns)), key=lambda place: columns[place].totals[category] > 0):
        places = list(run)
        if has_bytes:
            shapes.append(_outline(category, places, columns, scale))
    letter = MARKS[category].letter
    return [svg.path("".join(shapes), "gap", f'fill="{svg.fill_of(letter)}"')]


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
    """Each category's letter, in the first of its highest places, if that is large enough to hold it."""
    if not columns:
        return []
    across = min(len(columns), max(1, round(14 * scale.count / scale.width)))  # columns under one letter
    drawn = []
    for category in present_in(columns):
        bands = [_band(category, column) for column in columns]
        windows = [bands[start : start + across] for start in range(len(bands) - across + 1)]
        inside = [(max(low for low, _ in window), min(high for _, high in window)) for window in windows]
        start, (low, high) = max(enumerate(inside), key=lambda item: item[1][1] - item[1][0])
        if scale.y(low) - scale.y(high) >= 13:
            middle = (scale.y(low) + scale.y(high)) / 2 + 4
            drawn.append(
                svg.text(scale.x(start + across / 2), middle, MARKS[category].letter, "ink bold gap halo", "middle")
            )
    return drawn


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
    return [wide, svg.path(line, "rule", 'fill="none" stroke-width="1.6" stroke-dasharray="5 3"')]


def _phases(columns: list[Column], scale: Scale) -> list[str]:
    """The axis, a mark where each phase begins, and the phases' names as far as there is room."""
    base, right = scale.base, scale.x(scale.count)
    drawn = [svg.path(f"M{LEFT} {svg.number(base)}H{svg.number(right)}", "rule")]
    phases = phases_of(columns)
    if len(phases) > MAX_PHASES:
        return [*drawn, svg.text(LEFT, base + 17, f"{len(phases)} phases, too many to name", "soft")]
    place = 0
    for run in phases:
        start, end = scale.x(place), scale.x(place + len(run))
        drawn.append(
            svg.path(f"M{svg.number(start)} {svg.number(scale.base - HEIGHT)}V{svg.number(base + 22)}", "line")
        )
        name = run[0].step.phase
        name = name if svg.text_width(name) < end - start - 4 else name[0]
        if svg.text_width(name) < end - start:
            drawn.append(svg.text((start + end) / 2, base + 16, name, "soft bold", "middle"))
        place += len(run)
    return drawn


def _name(name: str, x: float, base: float) -> str:
    """An operation's name below its column, leaning so that neighbours do not touch."""
    return f'<g transform="translate({svg.number(x)} {svg.number(base + 34)}) rotate(-45)">{svg.text(0, 0, name, "ink", "end")}</g>'


def _peak(columns: list[Column], scale: Scale) -> list[str]:
    """A line through the column of the peak, and what happened there above it."""
    if not any(column.total for column in columns):
        return []
    peak = peak_of(columns)
    x = scale.x(columns.index(peak) + 0.5)
    roof = scale.base - HEIGHT
    label = f"peak {amount(peak.total)} at {peak.step}"
    half = svg.text_width(label) / 2
    middle = max(LEFT + half, min(x, scale.x(scale.count) + LEGEND_WIDTH - half))
    line = f"M{svg.number(x)} {svg.number(roof - 8)}V{svg.number(scale.base)}"
    return [svg.path(line, "rule", 'stroke-width="1.2"'), svg.text(middle, roof - 12, label, "ink bold", "middle")]


def _legend(columns: Sequence[Column], planned: Sequence[Column], scale: Scale) -> list[str]:
    """The categories in the order of the stack, with their bytes at the peak."""
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
        drawn.append(
            svg.path(f"M{svg.number(left)} {svg.number(y - 4)}h28", "rule", 'stroke-width="1.6" stroke-dasharray="5 3"')
        )
        drawn.append(svg.text(left + 34, y, "planned", "ink"))
        drawn.append(svg.text(left + LEGEND_WIDTH, y, amount(peak_of(planned).total), "ink", "end"))
    return drawn
