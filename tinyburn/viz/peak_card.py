"""Picture 5, the peak card: who is alive at the peak, since when, until when, kept by what; and three what-ifs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from tinyburn.backend import Category
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.history import History
from tinyburn.memory.holders import Holder, read_holders
from tinyburn.memory.measure import MemoryReport, check_report
from tinyburn.memory.whatif import WhatIf, past_their_use, this_one_recomputed, what_ifs

from .cards import category_keys, cut, sheet
from .picture import Picture
from .svg import MARKS, Tip, block, number, path, rect, text, text_width, tip_texts, xy

MAX_ROWS = 60
"""Of the table of buffers; a longer one is folded."""
MAX_BARS = 12
"""Buffers with a bar of their own; the others share one."""
_STATE = (Category.PARAMETER, Category.OPTIMIZER)
_HOW = (
    "Each what-if is the peak of the whole log, replayed. Names dropped: every buffer that only Python still holds "
    "goes right after its last use. Recomputed: activations of memory-bound operations go after their last forward use "
    "and come back for their rule, as BalancedCheckpointing does at its best; what they are made from is kept instead."
)

_BAR, _LIFE = 90.0, 120.0  # the widest bar, and the whole job in the lives
_NUMBERS = 150.0  # where the bars begin, after the letter and the bytes
_MIDDLE = _NUMBERS + _BAR + 14  # and where the words do
_HEADING = "the operation that made it, and what keeps it"
_LONGEST = 52  # characters of a line in the middle


def peak(report: MemoryReport, holders: Sequence[Holder] | None = None) -> Picture:
    """The card of a report's peak.

    The report's log tells all but the Python names, which can be seen only while the job runs. They come with the
    holders.

    Args:
        report: of a measured or a planned job.
        holders: what `memory.holders_at_peak` says of the same job and batch; None if nobody looked.
    """
    check_report("viz.peak", report)
    if report.peak_event < 0:
        title, words = "Peak 0 B: no tensor had any bytes", "Nothing is alive at any moment, so there is no peak."
        return Picture(title, words, sheet(title, (400, 20), [text(0, 12, words, "soft")]))
    history, names_known = History(report.events), holders is not None
    alive = read_holders(report.events, report.peak_event, {}) if holders is None else holders
    values = [history.value_in(holder.buffer, report.peak_event) for holder in alive]
    alone = [this_one_recomputed(history, value) for value in values[:MAX_BARS]]  # looked for where there is a bar
    answers = [*alone, *[None] * (len(alive) - len(alone))]
    pairs = zip(alive, answers, strict=True)
    entries = _alike_together([_entry(holder, history, answer, names_known) for holder, answer in pairs])
    idle = _idle_at(report.peak_event, history)
    notes = _notes(idle, alive, names_known)
    moment = (history.number(report.peak_event), len(history.ops))
    title = _title(report, alive, names_known)
    found = _Findings(title, entries, what_ifs(history), notes, moment, report.peak_bytes)
    return Picture(title, _text(found), _svg(found))


@dataclass(frozen=True)
class Entry:
    """One buffer in words, or several that differ in nothing but their place in the job.

    Attributes:
        bytes: of each of them.
        made_by, written: the operation that wrote what is in it at the peak, in words and by its number.
        since, until: the numbers of the operations at both ends of its life.
        until_text: the last of them in words.
        alone: the peak if this buffer alone were recomputed; None if it cannot be, or if nobody looked.
        count: how many there are.
    """

    letter: str
    bytes: int
    made_by: str
    written: int
    since: int
    until: int
    until_text: str
    kept_by: str
    alone: WhatIf | None
    count: int = 1

    @property
    def total(self) -> int:
        """The bytes of all of them."""
        return self.count * self.bytes

    @property
    def size(self) -> str:
        """``512 B``, or ``6 x 512 B``."""
        return f"{self.count} x {amount(self.bytes)}" if self.count > 1 else amount(self.bytes)

    @property
    def since_text(self) -> str:
        """Where its life begins, and where it was written again, if it was."""
        if self.count > 1:
            return f"from {self.since} on"
        return str(self.since) if self.written == self.since else f"{self.since}, written again in {self.written}"


@dataclass(frozen=True)
class _Findings:
    """What there is to say; ``moment`` is the number of the peak's operation, and how many there are."""

    title: str
    entries: list[Entry]
    answers: Sequence[WhatIf]
    notes: list[str]
    moment: tuple[int, int]
    peak: int


def _title(report: MemoryReport, alive: Sequence[Holder], names_known: bool) -> str:
    """The finding: how much the graph keeps, and how much only a name."""
    by_graph = sum(holder.bytes for holder in alive if holder.savers)
    finding = f"Peak {amount(report.peak_bytes)} at {report.peak_op}: the graph keeps {amount(by_graph)} of it"
    if not names_known:
        return finding
    by_name = sum(
        holder.bytes for holder in alive if holder.names and not holder.savers and holder.category not in _STATE
    )
    return f"{finding}, only a Python name {amount(by_name)}" if by_name else f"{finding}, names alone keep none"


def _idle_at(event: int, history: History) -> set[int]:
    """The buffers that nobody uses again before something else is written into them, if that ever happens."""
    records = history.records
    ends = past_their_use(history)
    return {records[value].buffer for value, end in ends.items() if end <= event < records[value].end}


def _entry(holder: Holder, history: History, alone: WhatIf | None, names_known: bool) -> Entry:
    """One buffer in words."""
    return Entry(
        letter=MARKS[holder.category].letter,
        bytes=holder.bytes,
        made_by=str(holder.made_by),
        written=history.number(holder.written),
        since=history.number(holder.since),
        until=len(history.ops) if holder.until is None else history.number(holder.until),
        until_text=history.ends_in(holder.until),
        kept_by=_kept_by(holder, names_known),
        alone=alone,
    )


def _alike_together(entries: Sequence[Entry]) -> list[Entry]:
    """Entries that say the same become one with a count, which lives from the first beginning to the last end."""
    found: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        same = (entry.letter, entry.bytes, entry.made_by, entry.kept_by)
        other = found.get(same)
        if other is None:
            found[same] = entry
            continue
        last = max(other, entry, key=lambda one: one.until)
        since = min(other.since, entry.since)
        found[same] = replace(
            other,
            since=since,
            written=since,
            until=last.until,
            until_text=last.until_text,
            alone=None,
            count=other.count + 1,
        )
    return sorted(found.values(), key=lambda entry: -entry.total)


def _kept_by(holder: Holder, names_known: bool) -> str:
    """Every reason why a buffer is alive."""
    reasons = [*map(str, holder.savers), *[f"name {name}" for name in holder.names]]
    if reasons:
        return "; ".join(reasons)
    if holder.category is Category.GRADIENT:
        return "the gradients that backward() returns"
    if holder.made_by.phase == "backward":
        return "the backward pass, on its way"
    return "a call that still runs" if names_known else "no node; a name or a call"


def _notes(idle: Collection[int], alive: Sequence[Holder], names_known: bool) -> list[str]:
    """What a reader has to know about the found. ``idle`` are the buffers that nobody uses again."""
    if not names_known:
        return [_HOW, "Python names were not looked at: hand holders to viz.peak to see them."]
    named = [name for holder in alive if holder.buffer in idle for name in holder.names]
    return [_HOW] + ([f"Past their last use at the peak: {', '.join(dict.fromkeys(named))}."] if named else [])


# The tables


_HEADER = ("", "bytes", "made by", "since", "until", "kept by")


def _row(entry: Entry) -> tuple[str, ...]:
    """What the table says of it."""
    return entry.letter, _number(entry), entry.made_by, entry.since_text, entry.until_text, entry.kept_by


def _text(found: _Findings) -> str:
    shown, rest = found.entries[:MAX_ROWS], found.entries[MAX_ROWS:]
    rows = [_row(entry) for entry in shown]
    if rest:
        count = sum(entry.count for entry in rest)
        rows.append(("", thousands(sum(entry.total for entry in rest)), f"… {thousands(count)} more", "", "", ""))
    rows.append(("", thousands(found.peak), "total", "", "", ""))
    lines = [f"Alive at the peak, in operation {found.moment[0]}:", table(_HEADER, rows), "", "What if:"]
    answers = [(answer.question, thousands(answer.touched), *_answer(found.peak, answer)) for answer in found.answers]
    lines.append(table(("", "buffers", "peak", "change", "at"), answers))
    alone = [
        (thousands(entry.bytes), entry.made_by, entry.since_text, *_answer(found.peak, entry.alone))
        for entry in shown
        if entry.alone
    ]
    if alone:
        lines += ["", "What if one activation alone is recomputed:"]
        lines.append(table(("bytes", "made by", "since", "peak", "change", "at"), alone))
    return "\n".join([*lines, "", *[row for note in found.notes for row in wrap(note, 110)]])


def _number(entry: Entry) -> str:
    """Its bytes in the table, whose heading has the unit."""
    return entry.size.removesuffix(" B")


def _answer(before: int, answer: WhatIf) -> tuple[str, str, str]:
    where = answer.at if answer.moved else "the same operation"
    return thousands(answer.peak_bytes), answer.change(before), where


# The drawing: a bar and a life for each buffer, and below them the peaks that could have been


def _svg(found: _Findings) -> str:
    shown, rest = found.entries[:MAX_BARS], found.entries[MAX_BARS:]
    lines = [_lines(entry, found.peak) for entry in shown]
    right = _MIDDLE + max(map(text_width, [_HEADING, *[line for each in lines for line in each]])) + 24
    drawing = [
        text(_NUMBERS - 10, 10, "bytes", "soft", "end"),
        text(_MIDDLE, 10, _HEADING, "soft"),
        text(right, 10, "its life in the job", "soft"),
    ]
    y = 24.0
    tips: list[Tip] = []
    for entry, words, tip in zip(shown, lines, tip_texts(_HEADER, map(_row, shown)), strict=True):
        drawing += _buffer(entry, words, y, shown[0].total)
        drawing += _life(entry, y, right, found.moment[1])
        tips.append(Tip(0, y, right + _LIFE, 14 * len(words) + 8, tip))
        y += 14 * len(words) + 10
    if rest:
        drawing.append(text(_NUMBERS - 10, y + 15, amount(sum(entry.total for entry in rest)), "ink", "end"))
        count = sum(entry.count for entry in rest)
        drawing.append(text(_NUMBERS, y + 15, f"in {count} more", "soft"))
        y += 26
    drawing += _moment(right, y, found.moment)
    drawing += _answers(found.answers, found.peak, y + 40)
    size = (max(right + _LIFE, 790), y + 50 + 24 * (len(found.answers) + 1))
    keys = category_keys({entry.letter for entry in shown})
    return sheet(found.title, size, drawing, keys, found.notes, tips=tips)


def _lines(entry: Entry, peak: int) -> list[str]:
    """The lines in the middle of a row, cut to what there is room for; the text form cuts nothing."""
    lines = [f"{entry.written} {entry.made_by}", entry.kept_by]
    if entry.alone:
        lines.append(f"recomputed: peak {amount(entry.alone.peak_bytes)}, {entry.alone.change(peak)}")
    return [cut(line, _LONGEST) for line in lines]


def _buffer(entry: Entry, lines: Sequence[str], y: float, largest: int) -> list[str]:
    width = max(_BAR * entry.total / max(largest, 1), 1)
    return [
        text(6, y + 15, entry.letter, "ink bold", "middle"),
        text(_NUMBERS - 10, y + 15, entry.size, "ink", "end"),
        block(_NUMBERS, y + 2, width, 18, entry.letter),
        text(_MIDDLE, y + 11, lines[0], "ink bold"),
        *[text(_MIDDLE, y + 25 + 14 * row, line, "soft") for row, line in enumerate(lines[1:])],
    ]


def _life(entry: Entry, y: float, left: float, count: int) -> list[str]:
    """The part of the job in which the buffer is alive."""
    start, end = [left + _LIFE * min(at, count) / max(count, 1) for at in (max(entry.since - 1, 0), entry.until)]
    whole = path(f"M{xy(left, y + 11)}h{number(_LIFE)}", "line", 'stroke-width=".6"')
    return [whole, block(start, y + 6, max(end - start, 2), 10, entry.letter)]


def _moment(left: float, y: float, moment: tuple[int, int]) -> list[str]:
    """The line of the peak through all lives."""
    operation, count = moment
    x = left + _LIFE * (operation - 0.5) / max(count, 1)
    label = f"peak, operation {operation} of {count}"
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
        where = f"at {answer.at}" if answer.moved else "at the same operation"
        rows.append((answer.question, answer.peak_bytes, f"{answer.change(peak)}, {where}"))
    for row, (question, size, words) in enumerate(rows):
        top = y + 10 + 24 * row
        drawn.append(text(0, top + 13, question))
        drawn.append(rect(180, top + 1, max(size * scale, 1), 16, "box"))
        drawn.append(text(394, top + 13, amount(size), "ink bold"))
        drawn.append(text(394 + text_width(amount(size)) + 14, top + 13, cut(words, _LONGEST), "soft"))
    return drawn
