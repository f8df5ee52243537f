"""What the peak would be, had one thing been different: the event log, replayed with other lives or other sizes.

A subtraction at the old peak would be too good, since the peak can move to another operation. So each question gives
other lives to some values, and the peak is looked for again among all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinyburn.backend import Category
from tinyburn.backend.operations import OPERATIONS
from tinyburn.base.dtype import Float
from tinyburn.base.text import amount

from .history import History, Life, Moment, Record

_STATE = frozenset({Category.PARAMETER, Category.OPTIMIZER})


@dataclass(frozen=True)
class WhatIf:
    """The answer to one question.

    Attributes:
        question: what would be different.
        peak_bytes: the new peak.
        at: the operation of the new peak.
        moved: whether that is another operation than before.
        touched: how many buffers of the job are different.
    """

    question: str
    peak_bytes: int
    at: str
    moved: bool
    touched: int

    def change(self, before: int) -> str:
        """``260 B less``, ``the same``."""
        if self.peak_bytes == before:
            return "the same"
        return f"{amount(abs(self.peak_bytes - before))} {'less' if self.peak_bytes < before else 'more'}"


def what_ifs(history: History) -> tuple[WhatIf, WhatIf, WhatIf]:
    """The three of the peak card."""
    idle, kept, wide = past_their_use(history), recomputable(history), wide_floats(history)
    return (
        answer(history, "names dropped", without_names(history, idle), idle),
        answer(history, "activations recomputed", recomputed(history, kept), kept),
        answer(history, "half precision", halved(history, wide), wide),
    )


def this_one_recomputed(history: History, value: int) -> WhatIf | None:
    """The same for one activation, and for those that do the same in other steps; None for any other value."""
    if not is_recomputable(history, history.records[value]):
        return None
    chosen = [other for other in history.alike(value) if is_recomputable(history, history.records[other])]
    return answer(history, "recomputed", recomputed(history, chosen), chosen)


def answer(history: History, question: str, lives: Mapping[int, Sequence[Life]], chosen: Iterable[int]) -> WhatIf:
    """Looks for the peak again, with other lives for some values; the question is about the chosen ones."""
    before, (peak, moment) = history.peak[1], history.peak_if(lives)
    operation, moved = _operation(moment), history.number(_operation(moment)) != history.number(before[0])
    touched = len({history.records[value].buffer for value in chosen})
    return WhatIf(question, peak, str(history.steps[operation]) if history.steps else "", moved, touched)


def _operation(moment: Moment) -> int:
    """The event whose operation a moment belongs to: what a replay puts in belongs to the operation that needs it."""
    event, inserted = moment
    return event + 1 if inserted else event


# Names dropped early


def past_their_use(history: History) -> dict[int, int]:
    """Each value that outlives its last use, and where that use is over.

    In the forward pass nothing but Python can hold such a value: a name, a list, or an expression that waits for its
    end. Parameters, optimizer state and what the job returns are meant to stay.
    """
    ends: dict[int, int] = {}
    for value, record in history.records.items():
        if value in history.returned or record.categories & _STATE or not _is_users(history, record):
            continue
        last_use = record.reads[-1] if record.reads else record.start
        end = max(record.last_release, history.next_op(last_use))
        if history.next_op(end - 1) < record.end and end < record.end:
            ends[value] = end
    return ends


def _is_users(history: History, record: Record) -> bool:
    """Made by the user's own lines, or handed to them: what is on its way inside the backward pass is not."""
    return not history.is_backward(record.start) or Category.GRADIENT in record.categories


def without_names(history: History, ends: Mapping[int, int]) -> dict[int, list[Life]]:
    """Every such value goes right after its last use."""
    lives = {value: history.records[value].life for value in ends}
    return {value: [life._replace(end=(ends[value], 0))] for value, life in lives.items()}


# Activations recomputed


def recomputable(history: History) -> list[int]:
    """The activations that a memory-bound operation made: what `BalancedCheckpointing` does not keep."""
    return [value for value, record in history.records.items() if is_recomputable(history, record)]


def is_recomputable(history: History, record: Record) -> bool:
    """Whether `BalancedCheckpointing` would not keep it."""
    return Category.ACTIVATION in record.categories and is_memory_bound(history, record)


def is_memory_bound(history: History, record: Record) -> bool:
    """Whether a forward operation made it from other tensors, and cheaply. A parameter is where a graph begins."""
    if record.made < 0 or history.steps[record.made].phase != "forward" or record.categories & _STATE:
        return False
    return bool(history.operands(record.made)) and OPERATIONS[history.op_name(record.made)].cheap


def recomputed(history: History, chosen: Sequence[int]) -> dict[int, list[Life]]:
    """The chosen values go after their last forward use, and come back right before the backward pass reads them."""
    replay = _Replay(history, chosen)
    for event, value in sorted((replay.needed_at[value], value) for value in replay.needed_at):
        replay.bring_back(value, event)
    return {
        value: [Life(*span, history.records[value].size) for span in spans] for value, spans in replay.spans.items()
    }


class _Replay:
    """The spans in which some values are alive, while the recomputations are put in one after the other.

    Attributes:
        spans: by value; one that is not in here is alive as it was.
        needed_at: for each value that goes early, the first event of the backward pass that reads it.
    """

    def __init__(self, history: History, chosen: Sequence[int]) -> None:
        self.history = history
        self.spans: dict[int, list[tuple[Moment, Moment]]] = {}
        self.needed_at: dict[int, int] = {}
        self._inserted: dict[int, int] = {}
        self._waiting: set[int] = set()
        for value in chosen:
            self._let_go(value, history.records[value])

    def _spans(self, value: int) -> list[tuple[Moment, Moment]]:
        """Those of one value, to be changed."""
        if value not in self.spans:
            record = self.history.records[value]
            self.spans[value] = [((record.start, 0), (record.end, 0))]
        return self.spans[value]

    def _let_go(self, value: int, record: Record) -> None:
        """After its last forward use, unless a Python name holds it longer than the graph does."""
        first_rule = next((event for event in record.reads if self.history.is_backward(event)), None)
        if first_rule is None or first_rule > record.last_release:
            return
        self.needed_at[value] = first_rule
        self._waiting.add(value)
        if record.end <= self.history.next_op(record.last_release):
            uses = [event for event in record.reads if event < first_rule]
            end = self.history.next_op(max([record.start, *uses]))
            self.spans[value] = [((record.start, 0), (end, 0))]

    def bring_back(self, target: int, event: int) -> None:
        """Recomputes one buffer right before an operation, with whatever else that takes."""
        if target not in self._waiting:
            return
        order = self._missing(target, event)
        last_use = {operand: made for made in order for operand in self._operands(made)}
        again = set(order)
        for value in order:
            self._inserted[event] = self._inserted.get(event, 0) + 1
            now = (event - 1, self._inserted[event])
            stays = value in self._waiting
            end = (self.history.records[value].last_release, 0) if stays else (event, 0)
            self._spans(value).append((now, end))
            self._waiting.discard(value)
            for operand in dict.fromkeys(self._operands(value)):
                if operand in again and last_use[operand] == value:
                    start, until = self.spans[operand][-1]
                    if until == (event, 0):
                        self.spans[operand][-1] = (start, (now[0], now[1] + 1))

    def _missing(self, target: int, event: int) -> list[int]:
        """What has to be made again, in the order of the program; an operand that cannot be is kept until then."""
        found, stack = {target}, [target]
        while stack:
            for operand in self._operands(stack.pop()):
                if not is_memory_bound(self.history, self.history.records[operand]):
                    start, end = self._spans(operand)[-1]
                    self._spans(operand)[-1] = (start, max(end, (self.history.records[target].last_release, 0)))
                elif operand not in found and not self._is_at_hand(operand, event):
                    found.add(operand)
                    stack.append(operand)
        return sorted(found)

    def _operands(self, value: int) -> tuple[int, ...]:
        return self.history.operands(self.history.records[value].made)

    def _is_at_hand(self, value: int, event: int) -> bool:
        """Whether the graph keeps its value at that operation. What only a name holds, the graph cannot find."""
        start, end = self._spans(value)[-1]
        is_alive = start <= (event - 1, self._inserted.get(event, 0)) and end >= (event, 0)
        return is_alive and value not in self._waiting and event <= self.history.records[value].last_release


# Half precision


def wide_floats(history: History) -> set[int]:
    """The values of float32 and float64: whole numbers and truth values stay, and float16 has no half."""
    records = history.records.items()
    return {value for value, record in records if record.dtype.kind is Float and record.dtype.bytes in (4, 8)}


def halved(history: History, chosen: Collection[int]) -> dict[int, list[Life]]:
    """The chosen values in half of their bytes, as float16 for float32."""
    lives = {value: history.records[value].life for value in chosen}
    return {value: [life._replace(size=life.size // 2)] for value, life in lives.items()}
