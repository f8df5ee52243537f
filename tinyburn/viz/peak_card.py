"""The drawing of the peak card: a bar and a life for each buffer, and below them the peaks that could have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyburn.backend import Category
from tinyburn.base.text import amount

from .draw import Key, card_key, sheet
from .palette import MARKS
from .svg import fill_of, number, path, rect, text, text_width
from .whatif import WhatIf

MAX_BARS = 12
"""Buffers with a bar of their own; the others share one."""
_BAR, _LIFE = 150.0, 210.0  # the widest bar, and the whole job in the lives
_NUMBERS = 128.0  # where the bars begin, after the letter and the bytes
_MIDDLE = _NUMBERS + _BAR + 14  # and where the words do
_HEADING = "the operation that made it, and what keeps it"
_LONGEST = 58  # characters of a line in the middle


@dataclass(frozen=True)
class Entry:
    """One buffer in words.

    Attributes:
        since, until: the numbers of the operations at both ends of its life.
        until_text: the last of them in words.
        alone: the peak if this buffer alone were recomputed; None if it cannot be.
    """

    letter: str
    bytes: int
    made_by: str
    since: int
    until: int
    until_text: str
    kept_by: str
    alone: WhatIf | None


def draw_nothing(title: str, words: str) -> str:
    """A sheet with one line, for a job without a peak."""
    return sheet(title, (400, 20), [text(0, 12, words, "soft")])


def draw_card(
    title: str,
    entries: Sequence[Entry],
    answers: Sequence[WhatIf],
    notes: Sequence[str],
    moment: tuple[int, int],
    peak: int,
) -> str:
    """The whole SVG. ``moment`` is the number of the peak's operation, and how many there are."""
    shown, rest = entries[:MAX_BARS], entries[MAX_BARS:]
    words = [_HEADING, *[line for entry in shown for line in _lines(entry, peak)]]
    right = _MIDDLE + max(map(text_width, words)) + 24
    drawing = _headings(right)
    y = 24.0
    for entry in shown:
        drawing += _row(entry, y, shown[0].bytes, peak)
        drawing += _life(entry, y, right, moment[1])
        y += 13 * len(_lines(entry, peak)) + 10
    if rest:
        drawing += _folded(rest, y)
        y += 26
    drawing += _moment(right, y, moment)
    drawing += _answers(answers, peak, y + 40)
    height = y + 50 + 24 * (len(answers) + 1)
    return sheet(title, (max(right + _LIFE, 860), height), drawing, _keys(shown), notes)


def _keys(entries: Sequence[Entry]) -> list[Key]:
    """The categories that have a bar."""
    letters = {entry.letter for entry in entries}
    marks = [MARKS[category] for category in Category if MARKS[category].letter in letters]
    return [card_key(mark.name, "box", mark.letter) for mark in marks]


def _headings(right: float) -> list[str]:
    return [
        text(_NUMBERS - 10, 10, "bytes", "soft", "end"),
        text(_MIDDLE, 10, _HEADING, "soft"),
        text(right, 10, "its life in the job", "soft"),
    ]


def _lines(entry: Entry, peak: int) -> list[str]:
    """The lines in the middle of a row, cut to what there is room for; the text form cuts nothing."""
    lines = [f"{entry.since} {entry.made_by}", entry.kept_by]
    if entry.alone:
        lines.append(f"recomputed: peak {amount(entry.alone.peak_bytes)}, {entry.alone.change(peak)}")
    return [_cut(line) for line in lines]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _row(entry: Entry, y: float, largest: int, peak: int) -> list[str]:
    width = max(_BAR * entry.bytes / max(largest, 1), 1)
    lines = _lines(entry, peak)
    return [
        text(6, y + 15, entry.letter, "ink bold", "middle"),
        text(_NUMBERS - 10, y + 15, amount(entry.bytes), "ink", "end"),
        rect(_NUMBERS, y + 2, width, 18, "gap", 0, f'fill="{fill_of(entry.letter)}"'),
        text(_MIDDLE, y + 11, lines[0], "ink bold"),
        *[text(_MIDDLE, y + 24 + 13 * place, line, "soft") for place, line in enumerate(lines[1:])],
    ]


def _life(entry: Entry, y: float, left: float, count: int) -> list[str]:
    """The part of the job in which the buffer is alive."""
    start, end = [left + _LIFE * min(place, count) / max(count, 1) for place in (max(entry.since - 1, 0), entry.until)]
    whole = path(f"M{number(left)} {number(y + 11)}h{number(_LIFE)}", "line", 'stroke-width=".6"')
    return [whole, rect(start, y + 6, max(end - start, 2), 10, "gap", 0, f'fill="{fill_of(entry.letter)}"')]


def _folded(rest: Sequence[Entry], y: float) -> list[str]:
    size = amount(sum(entry.bytes for entry in rest))
    return [
        text(_NUMBERS - 10, y + 15, size, "ink", "end"),
        text(_NUMBERS, y + 15, f"in {len(rest)} more, none of them larger", "soft"),
    ]


def _moment(left: float, y: float, moment: tuple[int, int]) -> list[str]:
    """The line of the peak through all lives."""
    place, count = moment
    x = left + _LIFE * (place - 0.5) / max(count, 1)
    label = f"peak, operation {place} of {count}"
    half = text_width(label) / 2
    middle = min(max(x, left + half), left + _LIFE - half)
    line = path(f"M{number(x)} 18V{number(y)}", "rule", 'stroke-width="1.2"')
    return [line, text(middle, y + 14, label, "ink bold", "middle")]


def _answers(answers: Sequence[WhatIf], peak: int, y: float) -> list[str]:
    """A bar for the peak as it is, and one for each what-if."""
    scale = 200 / max([peak, *[answer.peak_bytes for answer in answers], 1])
    drawn = [text(0, y, "what if", "ink bold")]
    rows = [("as it is", peak, "")]
    for answer in answers:
        place = "at the same operation" if not answer.moved else f"at {answer.at}"
        rows.append((answer.question, answer.peak_bytes, f"{answer.change(peak)}, {place}"))
    for row, (question, size, words) in enumerate(rows):
        top = y + 10 + 24 * row
        drawn += [
            text(0, top + 13, question),
            rect(160, top + 1, max(size * scale, 1), 16, "box"),
            text(374, top + 13, amount(size), "ink bold"),
            text(374 + text_width(amount(size)) + 14, top + 13, _cut(words), "soft"),
        ]
    return drawn
