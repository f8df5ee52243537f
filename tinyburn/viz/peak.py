"""Picture 5, the peak card: who is alive at the peak, since when, until when, kept by what; and three what-ifs."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from tinyburn.backend import Category
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.holders import Holder, read_holders
from tinyburn.memory.measure import MemoryReport

from .history import History
from .palette import MARKS
from .peak_card import MAX_BARS, Entry, draw_card, draw_nothing
from .picture import Picture
from .whatif import WhatIf, past_their_use, this_one_recomputed, what_ifs

MAX_ROWS = 60
"""Of the table of buffers; a longer one is folded."""
_STATE = (Category.PARAMETER, Category.OPTIMIZER)


def peak(report: MemoryReport, holders: Sequence[Holder] | None = None) -> Picture:
    """The card of a report's peak.

    The report's log tells all but the Python names, which can be seen only while the job runs. They come with the
    holders.

    Args:
        report: of a measured or a planned job.
        holders: what `memory.holders_at_peak` says of the same job and batch; None if nobody looked.
    """
    if report.peak_event < 0:
        title, words = "Peak 0 B: no tensor had any bytes", "Nothing is alive at any moment, so there is no peak."
        return Picture(title, words, draw_nothing(title, words))
    history = History(report.events)
    alive = holders if holders is not None else read_holders(report.events, report.peak_event, {})
    entries = [_entry(holder, history, place < MAX_BARS, holders is not None) for place, holder in enumerate(alive)]
    answers = what_ifs(history)
    title = _title(report, alive, holders is not None)
    idle = [buffer for buffer, end in past_their_use(history).items() if end <= report.peak_event]
    notes = _notes(idle, alive, holders is not None)
    moment = history.number(report.peak_event)
    drawing = draw_card(title, entries, answers, notes, (moment, len(history.ops)), report.peak_bytes)
    return Picture(title, _text(report, entries, answers, notes, moment), drawing)


def _title(report: MemoryReport, alive: Sequence[Holder], names_known: bool) -> str:
    """The finding: how much the graph keeps, and how much only a name."""
    finding = (
        f"Peak {amount(report.peak_bytes)} at {report.peak_op}: the graph keeps {amount(_total(alive, True))} of it"
    )
    if not names_known:
        return finding
    by_name = sum(holder.bytes for holder in alive if _only_a_name(holder))
    return f"{finding}, only a Python name {amount(by_name)}" if by_name else f"{finding}, names alone keep none"


def _total(alive: Sequence[Holder], saved: bool) -> int:
    return sum(holder.bytes for holder in alive if bool(holder.savers) is saved)


def _only_a_name(holder: Holder) -> bool:
    return bool(holder.names) and not holder.savers and holder.category not in _STATE


def _entry(holder: Holder, history: History, with_alone: bool, names_known: bool) -> Entry:
    """One buffer in words. What it would save by itself is looked for where there is a bar for it."""
    alone = this_one_recomputed(history, holder.buffer) if with_alone else None
    end = len(history.ops) if holder.until is None else history.number(holder.until)
    return Entry(
        MARKS[holder.category].letter,
        holder.bytes,
        str(holder.made_by),
        history.number(holder.since),
        end,
        history.ends_in(holder.until),
        kept_by(holder, names_known),
        alone,
    )


def kept_by(holder: Holder, names_known: bool) -> str:
    """Every reason why a buffer is alive."""
    reasons = [*map(str, holder.savers), *[f"name {name}" for name in holder.names]]
    if reasons:
        return "; ".join(reasons)
    if holder.made_by.phase == "backward":
        return "the backward pass, on its way"
    return "a call that still runs" if names_known else "no node; a name or a call"


def _notes(idle: Sequence[int], alive: Sequence[Holder], names_known: bool) -> list[str]:
    """What a reader has to know about the card. ``idle`` are the buffers that nobody uses again."""
    named = [name for holder in alive if holder.buffer in idle for name in holder.names]
    notes = [
        "Each what-if is the peak of the whole log, replayed. Names dropped: every buffer that only Python still holds "
        "goes right after its last use. Recomputed: activations of memory-bound operations go after their last forward "
        "use and come back for their rule, as BalancedCheckpointing does at its best; what they are made from is kept "
        "instead."
    ]
    if not names_known:
        notes.append("Python names were not looked at: hand holders to viz.peak to see them.")
    elif named:
        notes.append(f"Past their last use at the peak: {', '.join(dict.fromkeys(named))}.")
    return notes


def _text(report: MemoryReport, entries: list[Entry], answers: Sequence[WhatIf], notes: list[str], moment: int) -> str:
    shown = entries[:MAX_ROWS]
    rows = [
        (entry.letter, thousands(entry.bytes), entry.made_by, str(entry.since), entry.until_text, entry.kept_by)
        for entry in shown
    ]
    rest = entries[MAX_ROWS:]
    if rest:
        rows.append(("", thousands(sum(entry.bytes for entry in rest)), f"… {thousands(len(rest))} more", "", "", ""))
    rows.append(("", thousands(report.peak_bytes), "total", "", "", ""))
    header = ("", "bytes", "made by", "since", "until", "kept by")
    lines = [f"Alive at the peak, in operation {moment}:", table(header, rows), "", "What if:"]
    lines.append(_what_ifs(report.peak_bytes, answers))
    alone = [entry for entry in shown if entry.alone]
    if alone:
        lines += ["", "What if one activation alone is recomputed:", _alone(report.peak_bytes, alone)]
    return "\n".join([*lines, "", *[row for note in notes for row in wrap(note, 110)]])


def _what_ifs(before: int, answers: Sequence[WhatIf]) -> str:
    rows = [(answer.question, thousands(answer.touched), *_answer(before, answer)) for answer in answers]
    return table(("", "buffers", "peak", "change", "at"), rows)


def _answer(before: int, answer: WhatIf) -> tuple[str, str, str]:
    return thousands(answer.peak_bytes), answer.change(before), answer.place


def _alone(before: int, entries: Sequence[Entry]) -> str:
    rows = [
        (thousands(entry.bytes), entry.made_by, str(entry.since), *_answer(before, entry.alone))
        for entry in entries
        if entry.alone
    ]
    return table(("bytes", "made by", "since", "peak", "change", "at"), rows)
