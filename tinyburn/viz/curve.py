"""The curves of a training: what a loss was, epoch by epoch or step by step, and where it turned.

They are drawn as every picture is, and not by a library for plots: so they have the same bytes everywhere, follow
the reader's theme, and say in words what they show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from tinyburn.base.errors import ConfigError
from tinyburn.base.text import table, thousands
from tinyburn.train import History

from .axes import ticks
from .cards import sheet
from .lines import MOST_LINES, STYLES, End, Point, draw_ends, draw_line, draw_markers, draw_zeros
from .picture import Picture
from .scale import Linear, Mark, Powers, Scale, numbers_around, powers_around, three_digits

Column: TypeAlias = Sequence[float | None]
Numbers: TypeAlias = History | Mapping[str, Column] | Column
"""What there is a curve of: a history, columns by their names, or one list of losses."""

MOST_ROWS = 30
"""Of the table; a longer one has only some of its rows."""
_TURN = 0.05
"""A line has turned if it ends further from its best than this share of its way."""
_LEFT, _TOP, _WIDTH, _HEIGHT = 72.0, 14.0, 520.0, 230.0


@dataclass(frozen=True)
class Line:
    """One line: its numbers by the number of the epoch or the step, which begins at 1. Where there was none, it has no
    point."""

    name: str
    points: tuple[Point, ...]

    @property
    def known(self) -> list[Point]:
        """Without NaN and inf."""
        return [point for point in self.points if math.isfinite(point[1])]


def curve(numbers: Numbers, *names: str, log: bool = False) -> Picture:
    """How some numbers went while a model was trained.

    Args:
        numbers: what `Learner.fit` returned; or lists of numbers by their names, such as those of two trainings; or one
            list, such as ``history.losses``. None stands for a number that is not there.
        names: which columns; of a history, else the loss and that of the held-out samples, and otherwise all.
        log: whether the upward axis has powers of ten.

    Raises ConfigError for a column that is not there or has no numbers, and for more lines than can be told apart.
    """
    unit = "epoch" if isinstance(numbers, History) else "step"
    columns = _columns(numbers)
    wanted = names or _usual(numbers, columns)
    _check(columns, wanted)
    lines = [Line(name, _points(columns[name])) for name in wanted]
    title = _title(lines, unit)
    return Picture(title, _text(lines, unit), _drawing(title, lines, unit, log))


def _columns(numbers: Any) -> dict[str, Any]:
    if isinstance(numbers, History):
        return numbers.columns()
    return dict(numbers) if isinstance(numbers, Mapping) else {"loss": numbers}


def _usual(numbers: Numbers, columns: Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(numbers, History):
        return tuple(name for name in ("loss", "valid loss") if name in columns)
    return tuple(columns)


def _check(columns: Mapping[str, Any], names: Sequence[str]) -> None:
    known = [name for name, column in columns.items() if _is_column(column) and name != "epoch"]
    reasons = [f"{name!r} is no column of numbers" for name in names if name not in known]
    if not names:
        reasons.append("there is no number yet")
    if len(names) > MOST_LINES:
        reasons.append(f"{len(names)} lines are more than the {MOST_LINES} that can be told apart")
    if reasons:
        hint = "write viz.curve(history), viz.curve({'mine': losses, 'yours': losses}) or viz.curve(losses)"
        if known:
            hint = f"there are {', '.join(known)}, as in viz.curve(history, {known[0]!r})"
        raise ConfigError("viz.curve", reasons, hint=hint)


def _is_column(column: object) -> bool:
    """Whether it is a list of numbers with at least one in it."""
    if not isinstance(column, Sequence) or isinstance(column, str):
        return False
    are_numbers = all(isinstance(number, int | float | None) for number in column)
    return are_numbers and any(number is not None for number in column)


def _points(column: Column) -> tuple[Point, ...]:
    return tuple((at, float(number)) for at, number in enumerate(column, start=1) if number is not None)


# The words


def _title(lines: Sequence[Line], unit: str) -> str:
    """The finding: what the first two lines did. The others are in the table."""
    last = max(line.points[-1][0] for line in lines)
    said = "; ".join(f"{line.name} {_way(line, unit)}" for line in lines[:2])
    return f"{thousands(int(last))} {unit}{'s' if last > 1 else ''}: {said}"


def _way(line: Line, unit: str) -> str:
    """From where to where, and where it turned."""
    lost = next((point for point in line.points if not math.isfinite(point[1])), None)
    if lost is not None:
        return f"is {'NaN' if math.isnan(lost[1]) else 'inf'} in {unit} {thousands(int(lost[0]))}"
    start, end = line.points[0][1], line.points[-1][1]
    if len(line.points) == 1:
        return f"is {three_digits(end)}"
    verb = "falls" if end < start else "rises" if end > start else "stays"
    way = (
        f"stays at {three_digits(end)}"
        if verb == "stays"
        else f"{verb} from {three_digits(start)} to {three_digits(end)}"
    )
    turn = turning_point(line)
    return f"{way}, {turn[0]} {three_digits(turn[2])} in {unit} {thousands(turn[1])}" if turn else way


def turning_point(line: Line) -> tuple[str, int, float] | None:
    """Where a line was lowest, if it fell and then rose again; and where it was highest, if it did the reverse.

    A single point may be a matter of luck, so a long line is smoothed before it is asked whether it has turned.
    """
    sizes = [size for _, size in line.known]
    if len(sizes) < 3:
        return None
    smooth = _smooth(sizes)
    start, end, low, high = smooth[0], smooth[-1], min(smooth), max(smooth)
    is_fall = start - low >= high - start
    if abs(end - (low if is_fall else high)) <= _TURN * (high - low):
        return None
    best = min(sizes) if is_fall else max(sizes)
    return "lowest" if is_fall else "highest", next(int(step) for step, size in line.known if size == best), best


def _smooth(sizes: Sequence[float]) -> list[float]:
    """The means of so many neighbours as are a twentieth of all."""
    near = max(1, len(sizes) // 20)
    totals = [0.0, *accumulate(sizes)]
    return [(after - before) / near for before, after in zip(totals, totals[near:], strict=False)]


def _text(lines: Sequence[Line], unit: str) -> str:
    found = [dict(line.points) for line in lines]
    last = int(max(line.points[-1][0] for line in lines))
    turns = [turn[1] for line in lines if (turn := turning_point(line))]
    chosen, every = chosen_rows(last, turns)
    rows = [
        (thousands(step), *[three_digits(column[step]) if step in column else "" for column in found])
        for step in chosen
    ]
    said = table((unit, *[line.name for line in lines]), rows)
    if every == 1:
        return said
    turned = ", the last one, and where a line turns" if turns else ", and the last one"
    return f"{said}\n\nOf {thousands(last)} {unit}s the first, every {thousands(every)}th{turned} are shown."


def chosen_rows(last: int, extra: Sequence[int]) -> tuple[list[int], int]:
    """The numbers of the rows that a table shows, and that one in so many is shown."""
    if last <= MOST_ROWS:
        return list(range(1, last + 1)), 1
    every = ticks(last, MOST_ROWS - 6).step
    return sorted({1, last, *extra, *range(every, last + 1, every)}), every


# The drawing


def _drawing(title: str, lines: Sequence[Line], unit: str, log: bool) -> str:
    last = int(max(line.points[-1][0] for line in lines))
    scale = _scale([size for line in lines for _, size in line.points], last, log)
    drawn = scale.axes(unit, _steps(last))
    ends = []
    for line, style in zip(lines, STYLES, strict=False):
        points = [(step - 1, size) for step, size in line.points]
        drawn += draw_line(scale, points, style) + draw_markers(scale, points, style)
        drawn += draw_zeros(scale, points) if log else []
        ends.append(End(line.points[-1][1], line.name, three_digits(line.points[-1][1]), style))
    drawn += draw_ends(scale, ends)
    return sheet(title, (scale.right + max(end.width for end in ends), scale.base + 44), drawn)


def _scale(sizes: Sequence[float], last: int, log: bool) -> Scale:
    if log:
        return Powers(*powers_around(sizes), last - 1, _LEFT, _TOP, _WIDTH, _HEIGHT)
    return Linear(*numbers_around(sizes), last - 1, _LEFT, _TOP, _WIDTH, _HEIGHT)


def _steps(last: int) -> list[Mark]:
    """The first one, and round numbers."""
    return [(step - 1, thousands(step)) for step in sorted({1, *ticks(last)} - {0})]
