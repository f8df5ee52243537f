"""The event log: what happened to every buffer, in order. Everything about memory is read from it.

An event is a tuple of ints, its kind first. Names are ints too, by their index in ``names``. There is no clock and
no address in it, so the same program writes the same log in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from tinyburn.base.dtype import DTYPES, DType
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import num_elements

Event = tuple[int, ...]


class Kind(IntEnum):
    """The kinds of event, with what follows the kind in the tuple."""

    OP = 0  # op name, module path, phase, the op that it is a part of or itself, then the ids of its operands' buffers
    ALLOC = 1  # buffer, bytes, category, dtype: its number in `FORMATS`
    SAVE = 2  # buffer, the index of the last op event, then of the node that keeps it: operand, operation, module path
    RELEASE = 3  # buffer, then the same three names: such a save of it has ended
    RECATEGORISE = 4  # buffer, category
    FREE = 5  # buffer
    TRANSFER = 6  # buffer, bytes, 0 from the host and 1 to it
    DONATE = 7  # buffer: the last operation wrote its result into it, since nobody could see what was there


FORMATS = tuple(DType)
"""The dtypes, by the numbers that ALLOC events have for them."""

_FORMAT_NUMBERS = {dtype: FORMATS.index(member) for dtype, member in DTYPES.items()}

OP_OPERANDS = 5
"""Where the operands begin in an OP event; a maker of tensors has none."""


class Category(IntEnum):
    """What a buffer is, at one moment; each has exactly one."""

    PARAMETER = 0
    INPUT = 1
    ACTIVATION = 2
    GRADIENT = 3
    OPTIMIZER = 4
    TEMPORARY = 5
    OUTPUT = 6
    UNKNOWN = 7
    COMMUNICATION = 8  # what is sent to other processes, or came from them


Role: TypeAlias = Literal["value", "gradient", "part", "sum"]
"""What a buffer holds for a node of the graph of `Autodiff`: its value; its whole gradient, and its rules run from here
on; what one rule has given to its gradient; all that has come of its gradient so far, after a part was added."""


class Mark(NamedTuple):
    """Which node of the graph a buffer belongs to.

    Events tell of buffers, and a graph tells of values; marks lead from one to the other. They stand beside the events,
    because the number of a node depends on what else the process has computed.

    Attributes:
        at: how many events were written before; -1 if they have been cleared since.
        node: the number of the node.
    """

    at: int
    role: Role
    node: int
    buffer: int


class EventLog:
    """``events``, ``names`` and ``marks`` are all there is to read; the rest is for the writer. Events are only
    appended, and only `clear` forgets them.

    Attributes:
        asked: the operation that the backend is composing of others; empty while it composes none.
        watcher: called with the index of each event right after it was written; None for nobody. It lets a reader
            look at the program while a moment of the log is still the present.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.names: list[str] = []
        self.phase = "forward"
        self.asked = ""
        self.last_op = -1
        self.live_buffers = 0
        self.live_bytes = 0
        self.watcher: Callable[[int], None] | None = None
        self._marks: list[tuple[int, Role, int, int]] = []
        self._numbers: dict[str, int] = {}
        self._buffers = 0

    def __repr__(self) -> str:
        return f"EventLog({len(self.events)} events, {self.live_buffers} buffers of {self.live_bytes} B alive)"

    @property
    def marks(self) -> list[Mark]:
        """All that were set, in order."""
        return list(map(Mark._make, self._marks))

    def mark(self, role: Role, node: int, buffer: int) -> None:
        """Says that a buffer belongs to a node of the graph from now on."""
        self._marks.append((len(self.events), role, node, buffer))

    def name(self, text: str) -> int:
        """The number of a name, given on first use."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.names)
            self.names.append(text)
        return number

    def write(self, event: Event) -> None:
        self.events.append(event)
        if self.watcher is not None:
            self.watcher(len(self.events) - 1)

    def clear(self) -> None:
        """Forgets what has been, so that the log of a long loop does not grow: it begins anew with what is alive now.

        Each buffer comes with the operation that wrote what is in it, as a maker without operands, its ALLOC in the
        category that it has now, and its saves that have not ended. Ids and names stay. So whatever is read from the
        log later is what the whole log would say of that time. Who holds the old list of events keeps it. Of the marks
        those stay that say whose value a buffer holds.

        Raises ConfigError while `memory.measure` reads the log.
        """
        if self.watcher is not None:
            reason = "somebody reads the log at this moment, and would lose the events before it"
            raise ConfigError("log.clear", reason, hint="clear it outside the job that is measured")
        past, self.events = self.events, []  # the collector may free a buffer at any moment; that is written here
        self.events[:0] = _events_of_the_living(past)
        self.last_op = max((at for at, event in enumerate(self.events) if event[0] == Kind.OP), default=-1)
        alive = {event[1] for event in self.events if event[0] == Kind.ALLOC}
        kept = [mark for mark in self.marks if mark.role == "value" and mark.buffer in alive]
        self._marks = [mark._replace(at=-1) for mark in kept]

    def op(self, name: str, path: str, operands: list[int]) -> None:
        self.last_op = len(self.events)
        words = map(self.name, (name, path, self.phase, self.asked or name))
        self.write((Kind.OP, *words, *operands))

    def alloc(self, array: Any, category: Category) -> Buffer:
        """A new buffer for the elements of an array, row-major and without gaps."""
        size = num_elements(array.shape) * array.dtype.itemsize
        buffer = Buffer(self, self._buffers, size, category)
        self._buffers += 1
        self.live_buffers += 1
        self.live_bytes += size
        self.write((Kind.ALLOC, buffer.id, size, int(category), _FORMAT_NUMBERS[array.dtype]))
        return buffer


def _events_of_the_living(events: list[Event]) -> list[Event]:
    """A log in which happens no more than is needed for what is alive at the end of another one."""
    alive: dict[int, list[Event]] = {}  # for each buffer: who wrote it, its ALLOC, its open saves
    op: Event = ()
    for event in events:
        kind, buffer = event[0], event[1]
        if kind == Kind.OP:
            op = event[:OP_OPERANDS]
        elif kind == Kind.ALLOC:
            alive[buffer] = [op, event]
        elif kind == Kind.DONATE:
            alive[buffer] = [op, *alive.pop(buffer)[1:]]  # what is in it now comes after what others have
        elif kind == Kind.FREE:
            del alive[buffer]
        elif kind == Kind.RECATEGORISE:
            alive[buffer][1] = (*alive[buffer][1][:3], event[2], *alive[buffer][1][4:])
        elif kind == Kind.SAVE:
            alive[buffer].append(event)
        elif kind == Kind.RELEASE:
            _end_save(alive[buffer], event[2:])
    kept: list[Event] = []
    for maker, alloc, *saves in alive.values():
        at = len(kept)
        kept += [maker, alloc, *((kind, buffer, at, *keeper) for kind, buffer, _, *keeper in saves)]
    return kept


def _end_save(own: list[Event], keeper: Event) -> None:
    """Takes out the latest save by the node that has let go."""
    for at in range(len(own) - 1, 1, -1):
        if own[at][3:] == keeper:
            del own[at]
            return


class Buffer:
    """One allocation. Every primitive that looks into it holds it; when the last one goes, it is freed."""

    __slots__ = ("category", "id", "log", "saves", "size")

    def __init__(self, log: EventLog, number: int, size: int, category: Category) -> None:
        self.log = log
        self.id = number
        self.size = size
        self.category = category
        self.saves = 0

    def __repr__(self) -> str:
        return f"Buffer({self.id}, {self.size} B)"

    def recategorise(self, category: Category) -> None:
        if self.category is not category:
            self.category = category
            self.log.write((Kind.RECATEGORISE, self.id, int(category)))

    def save(self, keeper: tuple[str, ...]) -> None:
        """A graph node keeps it for the backward pass: a forward result becomes an activation."""
        self.saves += 1
        self.log.write((Kind.SAVE, self.id, self.log.last_op, *map(self.log.name, keeper)))
        if self.category in (Category.TEMPORARY, Category.OUTPUT):
            self.recategorise(Category.ACTIVATION)

    def release(self, keeper: tuple[str, ...]) -> None:
        """A node has let it go. If nobody else saved it, it is an ordinary result again, for as long as it lives."""
        self.saves -= 1
        self.log.write((Kind.RELEASE, self.id, *map(self.log.name, keeper)))
        if self.saves == 0 and self.category is Category.ACTIVATION:
            self.recategorise(Category.TEMPORARY)

    def note(self, event: str, detail: Any) -> None:
        """What a floor above says of it: see `Backend.note`. Any other word is a category."""
        if event == "save":
            self.save(detail)
        elif event == "release":
            self.release(detail)
        elif event == "node":
            role, node = detail
            self.log.mark(role, node, self.id)
        elif event == "phase":
            self.log.phase = detail
        elif event != "returned":
            self.recategorise(Category[event.upper()])
        elif self.category is Category.TEMPORARY:
            self.recategorise(Category.OUTPUT)

    def transfer(self, to_host: bool) -> None:
        self.log.write((Kind.TRANSFER, self.id, self.size, int(to_host)))

    def donate(self) -> None:
        """What was in it is gone, and the result of an operation is in its place."""
        self.log.write((Kind.DONATE, self.id))
        self.recategorise(Category.TEMPORARY)

    def __del__(self) -> None:
        self.log.live_buffers -= 1
        self.log.live_bytes -= self.size
        self.log.write((Kind.FREE, self.id))
