"""Which classes a model takes for which: a row for each right answer, a column for each answer that the model gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError
from tinyburn.base.text import table, thousands
from tinyburn.tensor import Tensor

from .cards import Key, cut, sheet
from .cells import NEGATIVE, POSITIVE
from .formula import count
from .picture import Picture
from .svg import number, path, rect, text, text_width, xy
from .values import Values, values_of

MOST_CLASSES = 20
MOST_MISTAKES = 10
"""Kinds of mistake that the text counts one by one."""
_CELL, _HIGH = 26.0, 24.0
_FULL = 0.65  # of a colour, so that a number on it can be read
_LONGEST = 16  # characters of a class's name beside its row
_STYLE = f".right{{fill:{NEGATIVE}}}.wrong{{fill:{POSITIVE}}}.cell{{fill:none;stroke-width:.5}}.diagonal{{fill:none}}"


@dataclass(frozen=True)
class Counts:
    """How many samples of each class were taken for each.

    Attributes:
        matrix: of shape (classes, classes): rows are the right classes, columns the answers.
        names: of the classes.
    """

    matrix: Values
    names: tuple[str, ...]

    @property
    def total(self) -> int:
        """All samples."""
        return int(self.matrix.sum())

    @property
    def right(self) -> int:
        """Those that the model was right about."""
        return int(self.matrix.trace())

    def share(self, row: int, column: int) -> float:
        """Of the samples of a class, the part that was taken for another."""
        return float(self.matrix[row, column] / max(self.matrix[row].sum(), 1))

    @cached_property
    def largest_mistake(self) -> float:
        """The largest share of a class that was taken for another one; 1 if there is no mistake."""
        return max((self.share(row, column) for _, row, column in self.mistakes), default=1.0)

    @cached_property
    def mistakes(self) -> list[tuple[int, int, int]]:
        """The kinds of mistake, the most frequent first: how often, the right class, the answer."""
        size = len(self.names)
        found = [(int(self.matrix[at, to]), at, to) for at in range(size) for to in range(size) if at != to]
        return sorted((one for one in found if one[0]), key=lambda one: (-one[0], one[1:]))


def confusion(matrix: Any, labels: Iterable[object] = ()) -> Picture:
    """A confusion matrix, such as ``history.rows[-1]["valid confusion matrix"]``.

    The strength of a colour is the share of its row, so that a rare class is seen as well as a frequent one. Right
    answers are blue and in a frame; mistakes are orange.

    Args:
        matrix: whole numbers of shape (classes, classes), as nested lists, an array or a tensor. A row for each right
            class, a column for each answer.
        labels: the names of the classes; else their numbers.

    Raises ConfigError for what is no such matrix, more than `MOST_CLASSES`, or a wrong number of labels.
    """
    counts = _counts(matrix, [str(label) for label in labels])
    title = _title(counts)
    return Picture(title, _text(counts), _drawing(title, counts))


def _counts(matrix: Any, labels: Sequence[str]) -> Counts:
    try:
        found = values_of("confusion", matrix) if isinstance(matrix, Tensor) else np.asarray(matrix)
    except ValueError:  # rows of several lengths
        found = np.zeros(0, dtype=object)
    if found.ndim != 2 or len(set(found.shape)) != 1 or not found.size or not _is_counted(found):
        shape = f"shape {found.shape}" if found.dtype != object else "rows of several lengths"
        reason = f"a confusion matrix has as many rows as columns, of whole numbers from 0 on, and this one has {shape}"
        hint = "write viz.confusion(history.rows[-1]['valid confusion matrix'])"
        raise ConfigError("viz.confusion", reason, hint=hint)
    size = len(found)
    if size > MOST_CLASSES:
        reason = f"{size} classes are more than the {MOST_CLASSES} that there is room for"
        raise ConfigError(
            "viz.confusion", reason, hint=f"look at a part, as in matrix[:{MOST_CLASSES}, :{MOST_CLASSES}]"
        )
    if labels and len(labels) != size:
        reason = f"there are {size} classes and {count(len(labels), 'label')}"
        raise ConfigError("viz.confusion", reason, hint="give a label for each class, in their order")
    return Counts(found.astype(np.int64), tuple(labels or map(str, range(size))))


def _is_counted(found: Values) -> bool:
    """Whether all are whole numbers from 0 on; those of a Float tensor are, too."""
    return found.dtype.kind in "iuf" and bool((found >= 0).all()) and bool((found == np.floor(found)).all())


# The words


def _title(counts: Counts) -> str:
    """The finding: how many are right, and the most frequent mistake."""
    if not counts.total:
        return f"{len(counts.names)} classes, and no samples"
    right = f"{thousands(counts.right)} of {thousands(counts.total)} right"
    if not counts.mistakes:
        return f"{right}: no mistakes"
    often, row, column = counts.mistakes[0]
    if often == 1 and len(counts.mistakes) > 1:
        return f"{right}; no mistake was made twice"
    name, answer = counts.names[row], counts.names[column]
    return f"{right}; the most frequent mistake is {answer} for {name}, {_times(often)}"


def _times(often: int) -> str:
    return "once" if often == 1 else "twice" if often == 2 else f"{thousands(often)} times"


def _text(counts: Counts) -> str:
    rows = [
        (name, *map(thousands, map(int, row)), _percent(counts.share(at, at)))
        for at, (name, row) in enumerate(zip(counts.names, counts.matrix, strict=True))
    ]
    said = [table(("right class", *counts.names, "right"), rows)]
    mistakes = [
        (counts.names[row], counts.names[column], thousands(often), _percent(counts.share(row, column)))
        for often, row, column in counts.mistakes[:MOST_MISTAKES]
    ]
    if mistakes:
        said.append(f"{_KEYWORDS}\n{table(('right class', 'taken for', 'times', 'of its class'), mistakes)}")
    return "\n\n".join(said)


_KEYWORDS = "Columns are the model's answers. The most frequent mistakes:"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# The drawing


def _drawing(title: str, counts: Counts) -> str:
    names = [cut(name, _LONGEST) for name in counts.names]
    longest = max(map(text_width, names))
    wide = max(_CELL, text_width(thousands(int(counts.matrix.max()))) + 10, longest + 10)
    left, top = max(longest, text_width("right")) + 14, 40.0
    drawn = [
        text(left + len(names) * wide / 2, 12, "the model's answer", "soft", "middle"),
        text(left - 8, top - 8, "right", "soft", "end"),
    ]
    drawn += [text(left + (at + 0.5) * wide, top - 8, name, "ink bold", "middle") for at, name in enumerate(names)]
    drawn += [text(left - 8, top + at * _HIGH + 16, name, "ink bold", "end") for at, name in enumerate(names)]
    drawn += _colours_and_counts(counts, (left, top, wide))
    size = (left + len(names) * wide, top + len(names) * _HIGH)
    return sheet(title, size, drawn, _keys(), [], _STYLE)


def _colours_and_counts(counts: Counts, place: tuple[float, float, float]) -> list[str]:
    """Each count on the colour of its share. A zero off the diagonal is left out, so that mistakes stand out."""
    left, top, wide = place
    size = len(counts.names)
    colours, words = [], []
    for row, column in np.ndindex(size, size):
        x, y, times, is_right = left + column * wide, top + row * _HIGH, int(counts.matrix[row, column]), row == column
        if times:
            strength = f'fill-opacity="{_strength(counts, row, column):.2f}"'
            colours.append(rect(x, y, wide, _HIGH, "right" if is_right else "wrong", 0, strength))
        if is_right:
            words.append(rect(x + 1, y + 1, wide - 2, _HIGH - 2, "rule diagonal"))
        if times or is_right:
            words.append(text(x + wide / 2, y + 16, thousands(times), "ink" if is_right else "ink bold", "middle"))
    return [*colours, _grid(left, top, (wide, size)), *words]


def _grid(left: float, top: float, cells: tuple[float, int]) -> str:
    wide, size = cells
    across = [f"M{xy(left, top + at * _HIGH)}h{number(size * wide)}" for at in range(size + 1)]
    down = [f"M{xy(left + at * wide, top)}v{number(size * _HIGH)}" for at in range(size + 1)]
    return path("".join(across + down), "line cell")


def _strength(counts: Counts, row: int, column: int) -> float:
    """Mistakes are rarer than right answers, so the largest share of them has the full colour."""
    if row == column:
        return _FULL * counts.share(row, column)
    return 0.1 + (_FULL - 0.1) * counts.share(row, column) / counts.largest_mistake


def _keys() -> list[Key]:
    right = rect(0, 0, 26, 14, "right", 0, 'fill-opacity="0.65"') + rect(1, 1, 24, 12, "rule diagonal")
    wrong = rect(0, 0, 26, 14, "wrong", 0, 'fill-opacity="0.65"') + rect(0, 0, 26, 14, "line cell")
    return [Key(right, "right; colour is the share of a row"), Key(wrong, "a mistake")]
