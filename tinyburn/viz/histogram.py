"""How the numbers of a tensor are spread: how many of them are in each range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from tinyburn.base.text import table, thousands
from tinyburn.tensor import Tensor

from .cards import Key, sheet
from .cells import STYLE
from .picture import Picture
from .scale import Linear, Mark, numbers_around, round_numbers, round_step, rounded_texts, three_digits
from .svg import Tip, number, path, rect, text, text_width, tip_texts, xy
from .values import Values, values_of

FEWEST_BARS, MOST_BARS = 8, 50
_FEWEST = 5  # that the upward axis has room for, so that its round numbers are whole
_LEFT, _TOP, _WIDTH, _HEIGHT = 72.0, 24.0, 520.0, 220.0
_ROOM = 40.0  # to the right of the plot, for half a number


@dataclass(frozen=True)
class Bars:
    """The counts of neighbouring ranges.

    Attributes:
        first: where the first one begins.
        step: how wide each is.
        counts: how many numbers are in each; its lower edge belongs to it, and its upper one to the next.
        are_single: whether each stands for one whole number, or one truth value.
    """

    first: Decimal
    step: Decimal
    counts: tuple[int, ...]
    are_single: bool

    def edge(self, index: int) -> Decimal:
        """The lower edge of a bar."""
        return self.first + self.step * index

    def place(self, value: float) -> float:
        """How far to the right a value is, in bars."""
        return (value - float(self.first)) / float(self.step)


@dataclass(frozen=True)
class Spread:
    """What is known of all numbers together.

    Attributes:
        name: the tensor's shape and dtype.
        known: the numbers that are finite, in float64; of truth values 0 and 1.
        lost: how many are inf or NaN.
        kind: NumPy's letter for the kind: f, i, u or b.
    """

    name: str
    known: Values
    lost: int
    kind: str


def histogram(tensor: Tensor[Any, Any, Any]) -> Picture:
    """How many numbers of a tensor are in each of at most `MOST_BARS` ranges; 0 is always an edge of two.

    Args:
        tensor: of any shape and kind, with values. Of truth values, and of whole numbers that are near each other, each
            value has a bar.

    Raises:
        BackendMismatch: it has no values.
        ConfigError: ``tensor`` is no tensor.
    """
    values = values_of("histogram", tensor)
    numbers = values.astype(np.float64).ravel()
    known = numbers[np.isfinite(numbers)]
    spread = Spread(f"{tensor.shape} {tensor.dtype}", known, numbers.size - known.size, values.dtype.kind)
    bars = _bars(spread)
    title = _title(spread, bars)
    rows = _rows(spread, bars)
    return Picture(title, _text(spread, bars, rows), _drawing(title, spread, bars, rows))


def _bars(spread: Spread) -> Bars:
    if not spread.known.size:
        return Bars(Decimal(0), Decimal(1), (), False)
    low, high = float(spread.known.min()), float(spread.known.max())
    if spread.kind == "b":
        low, high = 0.0, 1.0
    if spread.kind != "f" and high - low < MOST_BARS:
        step = Decimal(1)
    else:
        step = round_step(high - low or abs(low) or 1.0, _bars_for(spread.known.size) - 1)
        step = step if spread.kind == "f" else max(step, Decimal(1))
    first = step * math.floor(low / float(step) + 1e-9)
    edges = [float(first)]
    while edges[-1] <= high:
        edges.append(float(first + step * len(edges)))
    counts, _ = np.histogram(spread.known, edges)
    return Bars(first, step, tuple(int(count) for count in counts), spread.kind != "f" and step == 1)


def _bars_for(count: int) -> int:
    """Few bars for few numbers: at most three times the cube root of how many they are."""
    return min(max(round(3 * math.cbrt(count)), FEWEST_BARS), MOST_BARS)


# The words


def _title(spread: Spread, bars: Bars) -> str:
    """The finding: where the numbers are, and how many are lost or exactly 0."""
    known, total = spread.known, spread.known.size + spread.lost
    if not total:
        return f"{spread.name}: no elements"
    lost = [f"{thousands(spread.lost)} of {thousands(total)} are inf or NaN"] if spread.lost else []
    if not known.size:
        return f"{spread.name}: all of {thousands(total)} are inf or NaN"
    if spread.kind == "b":
        return f"{spread.name}: {thousands(int(known.sum()))} of {thousands(total)} are true"
    if bars.are_single:
        most = max(bars.counts)
        (value,) = rounded_texts([bars.edge(bars.counts.index(most))])
        return f"{spread.name}: most often {value}, {thousands(most)} of {thousands(total)}"
    said = [f"mean {three_digits(float(known.mean()))}, standard deviation {three_digits(float(known.std()))}"]
    zeros = int((known == 0).sum())
    said += [f"{_share(zeros, total)} are exactly 0"] if zeros * 100 >= total else []
    return f"{spread.name}: {'; '.join([*said, *lost])}"


def _share(part: int, total: int) -> str:
    return f"{100 * part / total:.1f} %"


def _header(bars: Bars) -> tuple[str, ...]:
    return ("value", "count", "share") if bars.are_single else ("from", "to below", "count", "share")


def _rows(spread: Spread, bars: Bars) -> list[tuple[str, ...]]:
    """What the table says of each bar."""
    edges = rounded_texts([bars.edge(at) for at in range(len(bars.counts) + 1)])
    if spread.kind == "b":
        edges[:2] = ["false", "true"]
    facts = [(thousands(count), _share(count, spread.known.size)) for count in bars.counts]
    if bars.are_single:
        return [(edge, *fact) for edge, fact in zip(edges, facts, strict=False)]
    return [(*edge, *fact) for edge, fact in zip(pairwise(edges), facts, strict=True)]


def _text(spread: Spread, bars: Bars, rows: Sequence[tuple[str, ...]]) -> str:
    facts = [f"{thousands(spread.known.size)} numbers"]
    if spread.known.size and spread.kind != "b":
        low, high = (three_digits(float(value)) for value in (spread.known.min(), spread.known.max()))
        facts.append(f"from {low} to {high}, {thousands(int((spread.known == 0).sum()))} exactly 0")
    facts += [f"and {thousands(spread.lost)} inf or NaN"] if spread.lost else []
    return "\n\n".join([table(_header(bars), rows), f"{', '.join(facts)}."])


# The drawing


def _drawing(title: str, spread: Spread, bars: Bars, rows: Sequence[Sequence[str]]) -> str:
    low, high = numbers_around([0.0, _FEWEST, *bars.counts])
    scale = Linear(low, high, len(bars.counts), _LEFT, _TOP, _WIDTH, _HEIGHT)
    drawn = scale.axes("value", _ticks(spread, bars))
    tips = []
    wide = _WIDTH / max(len(bars.counts), 1)
    for at, (count, words) in enumerate(zip(bars.counts, tip_texts(_header(bars), rows), strict=True)):
        x, y = scale.x(at), scale.y(count)
        sign = "minus" if bars.edge(at) < 0 else "plus"
        drawn += [rect(x + 0.5, y, wide - 1, scale.base - y, f"line {sign}")] if count else []
        tips.append(Tip(x, _TOP, wide, _HEIGHT, words))
    drawn += _mean(scale, spread, bars)
    keys = _keys(bars)
    notes = [f"{thousands(spread.lost)} inf or NaN are in no bar."] if spread.lost else []
    return sheet(title, (scale.right + _ROOM, scale.base + 44), drawn, keys, notes, STYLE, tips=tips)


def _ticks(spread: Spread, bars: Bars) -> list[Mark]:
    """Round numbers below the bars: at the middle of one that stands for a single value, else at an edge."""
    count = len(bars.counts)
    if spread.kind == "b" or not count:
        return [(at + 0.5, name) for at, name in enumerate(("false", "true")[:count])]
    middle = 0.5 if bars.are_single else 0.0
    last = float(bars.edge(count - 1 if bars.are_single else count))
    few = round_numbers(float(bars.first), last, 8) if last > float(bars.first) else [bars.first]
    few = [value for value in few if value % bars.step == 0]
    marks = [(bars.place(float(value)) + middle, words) for value, words in zip(few, rounded_texts(few), strict=True)]
    return _with_room(marks, _WIDTH / count)


def _with_room(marks: list[Mark], wide: float) -> list[Mark]:
    """Every mark, or every second one, or every fourth, so that their words do not meet. ``wide`` is one bar."""
    widest = max((text_width(words) for _, words in marks), default=0.0) + 8
    while len(marks) > 2 and (marks[1][0] - marks[0][0]) * wide < widest:
        marks = marks[::2]
    return marks


def _mean(scale: Linear, spread: Spread, bars: Bars) -> list[str]:
    """A line where the mean is, with its value above the plot."""
    if not spread.known.size or bars.are_single:
        return []
    mean = float(spread.known.mean())
    x, words = scale.x(bars.place(mean)), f"mean {three_digits(mean)}"
    half = text_width(words) / 2
    line = path(f"M{xy(x, _TOP - 6)}V{number(scale.base)}", "rule", 'stroke-dasharray="4 3"')
    return [line, text(min(max(x, half), scale.right + _ROOM - half), _TOP - 10, words, "ink", "middle")]


def _keys(bars: Bars) -> list[Key]:
    """Only where both signs are there."""
    if not bars.counts or bars.first >= 0 or bars.edge(len(bars.counts)) <= 0:
        return []
    return [Key(rect(0, 0, 26, 14, style), words) for style, words in (("minus", "below 0"), ("plus", "0 and above"))]
