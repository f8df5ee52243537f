"""Picture 4, the memory strip: bytes alive by category, operation by operation, with the peak marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import ceil
from textwrap import wrap

from tinyburn.backend import Category
from tinyburn.backend.log import EventLog
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.measure import MemoryReport, check_report
from tinyburn.memory.operations import bytes_by_operation
from tinyburn.memory.timeline import Step, Totals

from .axes import Axes
from .cards import cut, cut_left
from .picture import Picture
from .svg import LINE, MARKS, Tip, fill_of, number, page, path, text, text_width, tip_texts, xy

MAX_ROWS = 60
"""Of the table of operations; a longer one is folded."""
MAX_COLUMNS = 240  # with more operations, runs of them share a column
MAX_PHASES = 60  # that are told apart
MAX_NAMES = 40  # that have room below the columns
_NAME_WIDTH = 13.0  # pixels between two of them
_LONGEST = 24  # characters of a name
MAX_LABEL = 100  # characters of the peak's label

ORDER = (
    *(Category.PARAMETER, Category.OPTIMIZER, Category.INPUT, Category.ACTIVATION),
    *(Category.GRADIENT, Category.COMMUNICATION, Category.OUTPUT, Category.TEMPORARY, Category.UNKNOWN),
)
"""From the bottom of the stack to its top: what lives longest lies lowest, as a level floor for the rest."""

LEFT, TOP, WIDTH, HEIGHT = 76, 64, 524, 240
"""The plot inside the picture, in pixels. With the legend it fits into a cell of a usual window, beside the sidebar."""
_LEGEND_WIDTH = 190
_DASHES = 'fill="none" stroke-width="1.6" stroke-dasharray="5 3"'
"""How a plan's line is drawn."""
_HALO = ".halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"


def memory(report: MemoryReport, plan: MemoryReport | None = None, *, room: int = 0) -> Picture:
    """The strip of a measured job.

    A pure function of the event logs: it takes time in proportion to their length.

    Args:
        report: the job.
        plan: a prediction, drawn as a line over it.
        room: bytes for which there is room on the axis, if the peak is below them: so that several strips can be
            compared by eye.
    """
    check_report("viz.memory", report)
    columns = columns_of(report.events)
    planned = columns_of(plan.events) if plan else []
    title = _title(columns, planned)
    return Picture(title, _text(columns, planned), _svg(columns, planned, title, room))


# The columns: an event log, read operation by operation and made short enough to draw


@dataclass
class Column:
    """One operation, or a run of several, at the moment when most bytes were alive in it.

    Attributes:
        first, last: the numbers of its operations; 0 is what was made before the first one.
        step: the operation of that moment.
        totals: bytes by category at that moment.
        has_gradient: whether a gradient was alive at any moment of it.
    """

    first: int
    last: int
    step: Step
    totals: Totals
    has_gradient: bool = False

    @property
    def total(self) -> int:
        """Bytes of all categories."""
        return sum(self.totals)


def columns_of(log: EventLog) -> list[Column]:
    """One column for each operation, in order, after one for what was made before the first."""
    found = bytes_by_operation(log)
    return [Column(one.number, one.number, one.step, one.totals, one.has_gradient) for one in found]


def peak_of(columns: Sequence[Column]) -> Column:
    """The first of the largest columns."""
    return max(columns, key=lambda column: column.total)


def phases_of(columns: Sequence[Column]) -> list[list[Column]]:
    """The columns in runs of one phase."""
    return [list(run) for _, run in groupby(columns, key=lambda column: column.step.phase)]


def present_in(columns: Sequence[Column]) -> list[Category]:
    """The categories that have any bytes anywhere, in the order of the stack."""
    return [category for category in ORDER if any(column.totals[category] for column in columns)]


def run_length(columns: Sequence[Column]) -> int:
    """How many operations share a column, so that `MAX_COLUMNS` are enough for all."""
    return max(1, -(-len(columns) // MAX_COLUMNS))


def merged(columns: list[Column], length: int) -> list[Column]:
    """Each run of ``length`` columns as one, which keeps the largest moment.

    A run ends where a phase ends, unless there are so many phases that this would not make the strip shorter.
    """
    if length == 1:
        return columns
    phases = phases_of(columns)
    groups = phases if len(phases) <= MAX_PHASES else [columns]
    runs = [group[start : start + length] for group in groups for start in range(0, len(group), length)]
    return [_joined(run) for run in runs]


def _joined(run: Sequence[Column]) -> Column:
    has_gradient = any(column.has_gradient for column in run)
    return replace(peak_of(run), first=run[0].first, last=run[-1].last, has_gradient=has_gradient)


# The words


def _title(columns: Sequence[Column], planned: Sequence[Column]) -> str:
    """The finding: how much, where, and what the gradients have to do with it."""
    if not any(column.total for column in columns):
        return "Peak 0 B: no tensor had any bytes"
    peak = peak_of(columns)
    finding = f"Peak {amount(peak.total)} at {peak.step}; {_gradients_at(peak, columns)}"
    if not planned:
        return finding
    foreseen = peak_of(planned).total
    return f"{finding}; planned: {'the same' if foreseen == peak.total else amount(foreseen)}"


def _gradients_at(peak: Column, columns: Sequence[Column]) -> str:
    if peak.totals[Category.GRADIENT]:
        return f"{amount(peak.totals[Category.GRADIENT])} of it are gradients"
    alive = [column.first for column in columns if column.has_gradient]
    if not alive:
        return "no gradient is ever alive"
    return "no gradient is alive yet" if alive[0] >= peak.first else "no gradient is alive then"


def _text(columns: Sequence[Column], planned: Sequence[Column]) -> str:
    """The same content as tables: operation by operation, then the peak."""
    if not columns:
        return "The log is empty: no operation ran and no tensor was made."
    kept = kept_rows(columns)
    lines = ["Bytes alive in each operation, at its largest moment:", _operations(columns, kept)]
    if len(kept) < len(columns):
        lines.append(f"{thousands(len(columns))} rows, of which {len(kept)} are shown: the ends, the peak, the phases.")
    peak = peak_of(columns)
    rows = [(MARKS[each].letter, MARKS[each].name, amount(peak.totals[each])) for each in present_in([peak])]
    rows.append(("", "total", amount(peak.total)))
    lines += ["", f"At the peak, {peak.step}:", table(("", "category", "bytes"), rows)]
    if planned:
        peak = peak_of(planned)
        lines += ["", f"The plan has its peak, {amount(peak.total)}, at {peak.step}."]
    return "\n".join(lines)


def kept_rows(columns: Sequence[Column]) -> list[int]:
    """Which rows the table has room for: around the peak, at both ends, and on both sides of a phase's border."""
    count = len(columns)
    if count <= MAX_ROWS:
        return list(range(count))
    peak = columns.index(peak_of(columns))
    borders = [row for row in range(1, count) if columns[row].step.phase != columns[row - 1].step.phase]
    sides = [row - offset for row in borders for offset in (1, 0)]
    wanted = dict.fromkeys([*range(peak - 6, peak + 7), *range(3), *range(count - 3, count), *sides])
    return sorted([row for row in wanted if 0 <= row < count][:MAX_ROWS])


def _operations(columns: Sequence[Column], kept: list[int]) -> str:
    present = present_in(columns)
    rows: list[list[str]] = []
    for before, row in pairwise([-1, *kept]):
        if row > before + 1:
            left_out = columns[before + 1 : row]
            most = thousands(peak_of(left_out).total)
            rows.append(["", "", f"… {thousands(len(left_out))} more, at most", *[""] * len(present), most])
        column = columns[row]
        rows.append(_row(column, present))
    return table(_header(present), rows)


def _header(present: Sequence[Category]) -> tuple[str, ...]:
    return ("", "phase", "operation", *(MARKS[category].name for category in present), "total")


def _row(column: Column, present: Sequence[Category]) -> list[str]:
    """What the table says of a column."""
    sizes = [thousands(size) for size in (*[column.totals[category] for category in present], column.total)]
    return [str(column.first), column.step.phase, str(column.step), *sizes]


# The drawing: columns of stacked categories, the phases below, the peak and the plan over them


def _svg(columns: list[Column], planned: list[Column], title: str, room: int) -> str:
    """The whole picture."""
    length = run_length(max(columns, planned, key=len))
    shown, foreseen = merged(columns, length), merged(planned, length)
    titles = wrap(title, 110)
    axes = _axes(shown, foreseen, TOP + HEIGHT + LINE * (len(titles) - 1), room)
    names = names_of(shown, axes)
    below = axes.base + 34 + max([0.71 * text_width(name) for name, _ in names], default=0)
    notes = _notes(shown, length, axes)
    body = [text(12, 22 + LINE * row, line, "ink title") for row, line in enumerate(titles)]
    body += _plot(shown, foreseen, axes)
    body += [_name(name, x, axes.base) for name, x in names]
    body += _legend(shown, foreseen, axes)
    body += [text(LEFT, below + LINE * row + 10, note, "soft") for row, note in enumerate(notes)]
    wide = [12 + 7.9 * len(line) for line in titles] + [LEFT + text_width(note) for note in notes]
    width = 12 + max(axes.right + 24 + _LEGEND_WIDTH, *wide)
    return page(width, below + LINE * len(notes) + 12, title, body, style=_HALO, tips=_tips(shown, axes))


def _tips(columns: Sequence[Column], axes: Axes) -> list[Tip]:
    """Each column's row of the table, as far as the table has room for all."""
    if len(columns) > MAX_ROWS:
        return []
    rows = [_row(column, present_in(columns)) for column in columns]
    texts = tip_texts(_header(present_in(columns)), rows)
    wide = axes.x(1) - axes.x(0)
    return [Tip(axes.x(at), axes.roof, wide, axes.height, words) for at, words in enumerate(texts)]


def _axes(columns: Sequence[Column], planned: Sequence[Column], base: float, room: int) -> Axes:
    """Room for the larger of the two peaks, or for more; a few columns are wider than many, and never more than the
    plot."""
    highest = max((column.total for column in (*columns, *planned)), default=0)
    width = min(WIDTH, max(260, 36 * len(columns)))
    return Axes(len(columns), max(highest, room, 1), LEFT, base, width, HEIGHT)


def _plot(columns: list[Column], planned: Sequence[Column], axes: Axes) -> list[str]:
    """Everything over the columns, from the back to the front."""
    return [
        *(_ticks(axes) if present_in([*columns, *planned]) else []),
        *(area_of(category, columns, axes) for category in present_in(columns)),
        *_plan_line(planned, axes),
        *_phases(columns, axes),
        *_peak(columns, axes),
        *_letters(columns, axes),
    ]


def _notes(columns: Sequence[Column], length: int, axes: Axes) -> list[str]:
    """What a reader has to know about the columns and the names below them."""
    if not columns:
        return ["no operation ran and no tensor was made"]
    notes = [f"each column is the largest of up to {length} operations"] if length > 1 else []
    phases = phases_of(columns)
    if len(phases) > MAX_PHASES:
        return [*notes, f"the names of {len(phases)} phases are left out"]
    names = {run[0].step.phase: None for run in phases[:-1] if _label(run, axes) != run[0].step.phase}
    return [*notes, " · ".join(f"{name[0]} {name}" for name in names)] if names else notes


def _ticks(axes: Axes) -> list[str]:
    """The axis of bytes, and a faint line at each of its numbers."""
    marks = axes.marks()
    lines = [path(f"M{xy(LEFT - 4, y)}H{number(axes.right)}", "line", 'stroke-opacity=".45"') for y, _ in marks]
    return lines + [text(LEFT - 8, y + 4, label, "soft", "end") for y, label in marks]


def area_of(category: Category, columns: Sequence[Column], axes: Axes) -> str:
    """A shape for each run of columns in which the category has any bytes."""
    runs = groupby(range(len(columns)), key=lambda index: columns[index].totals[category] > 0)
    shapes = [_outline(category, list(run), columns, axes) for has_bytes, run in runs if has_bytes]
    return path("".join(shapes), "gap", f'fill="{fill_of(MARKS[category].letter)}" stroke-width=".5"')


def _outline(category: Category, run: list[int], columns: Sequence[Column], axes: Axes) -> str:
    """Along the upper edge to the right, and back along the lower edge."""
    bands = [(index, *_band(category, columns[index])) for index in run]
    upper = "".join(f"V{number(axes.y(high))}H{number(axes.x(index + 1))}" for index, _, high in bands)
    lower = "".join(f"V{number(axes.y(low))}H{number(axes.x(index))}" for index, low, _ in reversed(bands))
    return f"M{xy(axes.x(run[0]), axes.y(bands[0][1]))}{upper}{lower}Z"


def _band(category: Category, column: Column) -> tuple[int, int]:
    """Where a category begins and ends in the stack, in bytes."""
    low = sum(column.totals[below] for below in ORDER[: ORDER.index(category)])
    return low, low + column.totals[category]


def _letters(columns: Sequence[Column], axes: Axes) -> list[str]:
    """Each category's letter where it is widest and high, if there is room enough to hold it."""
    across = max(1, round(14 * axes.count / axes.width))  # columns under one letter
    drawn = []
    for category in present_in(columns):
        bands = [_band(category, column) for column in columns]
        windows = [bands[start : start + across] for start in range(len(bands) - across + 1)]
        inside = [(max(low for low, _ in window), min(high for _, high in window)) for window in windows]
        start = _middle_of_widest([high - low for low, high in inside])
        low, high = map(axes.y, inside[start] if inside else (0, 0))
        if low - high >= 13:
            x, letter = axes.x(start + across / 2), MARKS[category].letter
            drawn.append(text(x, (low + high) / 2 + 4, letter, "ink bold gap halo", "middle"))
    return drawn


def _middle_of_widest(heights: list[int]) -> int:
    """The middle of the longest run that has at least three quarters of the greatest height."""
    limit = max(heights, default=0) * 3
    runs = [list(run) for high, run in groupby(range(len(heights)), lambda at: heights[at] * 4 >= limit) if high]
    longest = max(runs, key=len, default=[0])
    return longest[len(longest) // 2]


def _plan_line(planned: Sequence[Column], axes: Axes) -> list[str]:
    """The plan's total over its own operations, from edge to edge of the plot."""
    if not planned:
        return []
    own = replace(axes, count=len(planned))
    steps = [f"V{number(own.y(column.total))}H{number(own.x(index))}" for index, column in enumerate(planned, start=1)]
    line = f"M{xy(LEFT, own.base)}{''.join(steps)}V{number(own.base)}"
    return [path(line, "gap", 'fill="none" stroke-width="4"'), path(line, "rule", _DASHES)]


def _phases(columns: Sequence[Column], axes: Axes) -> list[str]:
    """The axis, a mark where each phase begins, and the phases' names as far as there is room."""
    drawn = [path(f"M{xy(LEFT, axes.base)}H{number(axes.right)}", "rule")]
    phases = phases_of(columns)
    start = 0
    for run in phases if len(phases) <= MAX_PHASES else []:
        drawn.append(path(f"M{xy(axes.x(start), axes.roof)}V{number(axes.base + 22)}", "line"))
        middle = axes.x(start + len(run) / 2)
        if run is phases[-1]:  # there is room on its right
            drawn.append(text(axes.x(start) + 4, axes.base + 16, run[0].step.phase, "soft bold"))
        else:
            drawn.append(text(middle, axes.base + 16, _label(run, axes), "soft bold", "middle"))
        start += len(run)
    return drawn


def _label(run: Sequence[Column], axes: Axes) -> str:
    """A phase's name, or its first letter where there is no room for more."""
    phase = run[0].step.phase
    return phase if text_width(phase) + 3 < axes.x(len(run)) - axes.x(0) else phase[0]


def names_of(columns: Sequence[Column], axes: Axes) -> list[tuple[str, float]]:
    """The names below the columns, each with its x: operations where they have room, else the modules they ran in."""
    if len(columns) <= MAX_NAMES:
        return [(cut(column.step.op, _LONGEST), axes.x(at + 0.5)) for at, column in enumerate(columns)]
    least = ceil(_NAME_WIDTH * axes.count / axes.width)
    found: list[tuple[str, float]] = []
    start = 0
    for phase in phases_of(columns):
        runs = _module_runs(phase, least)
        found += [(cut_left(name, _LONGEST), axes.x(start + (first + end) / 2)) for name, first, end in runs]
        start += len(phase)
    return found


def _module_runs(columns: Sequence[Column], least: int) -> list[tuple[str, int, int]]:
    """Neighbours that ran in one module, ``least`` of them or more: its path, and where the run begins and ends.

    Of modules inside modules it takes the deepest of which most have so many.
    """
    inside = sum(bool(column.step.path) for column in columns)
    wide: list[tuple[str, int, int]] = []
    for depth in range(max(column.step.path.count(".") + 1 for column in columns), 0, -1):
        runs: list[tuple[str, int, int]] = []
        for path_, run in groupby(enumerate(columns), key=lambda pair: _shortened(pair[1].step.path, depth)):
            places = [at for at, _ in run]
            runs.append((path_, places[0], places[-1] + 1))
        wide = [run for run in runs if run[0] and run[2] - run[1] >= least]
        if 2 * sum(end - first for _, first, end in wide) >= inside:
            break
    return wide


def _shortened(path_: str, depth: int) -> str:
    """The first names of a module's path."""
    return ".".join(path_.split(".")[:depth])


def _name(name: str, x: float, base: float) -> str:
    """A name below its columns, leaning so that neighbours do not touch."""
    return f'<g transform="translate({xy(x + 4, base + 34)}) rotate(-45)">{text(0, 0, name, "ink", "end")}</g>'


def _peak(columns: list[Column], axes: Axes) -> list[str]:
    """A line through the column of the peak, and what happened there above it."""
    if not any(column.total for column in columns):
        return []
    peak = peak_of(columns)
    x = axes.x(columns.index(peak) + 0.5)
    label = f"peak {amount(peak.total)} at {peak.step}"
    label = label if len(label) <= MAX_LABEL else f"peak {amount(peak.total)}"  # the title has the rest
    half = text_width(label) / 2
    middle = max(LEFT + half, min(x, axes.right + _LEGEND_WIDTH - half))
    line = path(f"M{xy(x, axes.roof - 8)}V{number(axes.base)}", "rule", 'stroke-width="1.2"')
    return [line, text(middle, axes.roof - 12, label, "ink bold", "middle")]


def _legend(columns: Sequence[Column], planned: Sequence[Column], axes: Axes) -> list[str]:
    """The categories in the order of the stack, with their bytes at the peak."""
    if not present_in([*columns, *planned]):
        return []
    left, y = axes.right + 24, axes.roof + 10
    drawn = [text(left, y, "bytes at the peak", "soft")]
    for category in reversed(present_in(columns)):
        y += 22
        mark, size = MARKS[category], peak_of(columns).totals[category]
        drawn.append(path(f"M{xy(left, y - 11)}h14v14h-14z", "gap", f'fill="{fill_of(mark.letter)}"'))
        drawn.append(text(left + 20, y, mark.letter, "ink bold"))
        drawn.append(text(left + 34, y, mark.name))
        drawn.append(text(left + _LEGEND_WIDTH, y, amount(size), "ink", "end"))
    if planned:
        y += 24
        drawn.append(path(f"M{xy(left, y - 4)}h28", "rule", _DASHES))
        drawn.append(text(left + 34, y, "planned"))
        drawn.append(text(left + _LEGEND_WIDTH, y, amount(peak_of(planned).total), "ink", "end"))
    return drawn
