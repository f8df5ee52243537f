"""Memory of a GPU: buffers that are kept when a tensor goes, and handed to the next one of the same size.

To ask the driver for a buffer takes about as long as a small operation. So a buffer whose tensor is gone goes onto a
shelf, and each size has a shelf of its own. Every byte is counted: those in use, those that rounding added, and those
that lie on a shelf.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from tinyburn.base.errors import BackendMismatch
from tinyburn.base.text import amount

from ..device import MemoryUsage
from ..gpus import WGPU_ROUNDING, WGPU_SHELF_BYTES, let_go_of_failed_steps, out_of_memory
from .commands import Commands


class Block:
    """A buffer in use. It goes back to its pool with the last tensor that looks into it.

    Attributes:
        size: the bytes of the buffer.
        stored: those that the tensor fills; rounding added the others.
    """

    __slots__ = ("__weakref__", "buffer", "pool", "size", "stored")

    def __init__(self, pool: Pool, buffer: Any, size: int, stored: int) -> None:
        self.pool = pool
        self.buffer = buffer
        self.size = size
        self.stored = stored

    def __repr__(self) -> str:
        return f"Block({self.size} B)"

    def __deepcopy__(self, _: object) -> Block:
        return self  # values never change

    def __reduce__(self) -> Any:
        reason = "a buffer of a GPU is of no use in another process"
        raise BackendMismatch("pickle", reason, hint="pickle the tensor: it takes its values along")


class Ticket(weakref.ref[Block]):
    """What the pool keeps of a block, and what comes back when the block is gone.

    The block has no finalizer: that would run in any thread and at any moment, also while the lock is held that it
    needs. A weak reference tells the pool by a single call, which never waits. And the ticket holds the buffer: if
    nobody else did, the garbage collector would end it together with a cycle that the block is part of.
    """

    __slots__ = ("buffer", "payload", "size")
    __hash__ = object.__hash__  # that of a weak reference asks the block, which may be gone

    buffer: Any
    size: int
    payload: int

    def __new__(cls, block: Block, returned: Callable[[Any], None]) -> Ticket:
        ticket = super().__new__(cls, block, returned)
        ticket.buffer, ticket.size, ticket.payload = None, 0, 0
        return ticket


class Pool:
    """The buffers of one device.

    Attributes:
        owner: whatever the buffers belong to. The pool only keeps it, for those who hold a block and ask for it.
        limit: the most bytes that it may hold, in use or on a shelf; None for as many as the device has.
        created: how many buffers it has asked the device for, ever.
    """

    def __init__(
        self, owner: Any, commands: Commands, create_buffer: Callable[..., Any], max_buffer_bytes: int
    ) -> None:
        self.owner = owner
        self._commands = commands
        self._lock = commands.lock
        self._create_buffer = create_buffer
        self._max_buffer_bytes = max_buffer_bytes
        self._shelves: dict[int, list[Any]] = {}
        self._tickets: set[Ticket] = set()  # of the blocks in use
        self._returned: deque[Any] = deque()  # of those that are gone; to append to it is a single step
        self._payload = self._rounded = self._reserved = 0
        self.limit: int | None = None
        self.created = 0

    def __repr__(self) -> str:
        return f"Pool({self._reserved} B reserved)"

    def take(self, payload: int, stored: int) -> Block:
        """A buffer of at least ``stored`` bytes for a tensor of ``payload`` bytes.

        The two differ where the device stores a scalar in more bytes than it counts (a bool in four).
        Raises OutOfMemory if the device, or the limit, has no room for it.
        """
        size = -(-stored // WGPU_ROUNDING) * WGPU_ROUNDING
        with self._lock:
            self._sort_returned()
            shelf = self._shelves.get(size)
            buffer = shelf.pop() if shelf else self._create(size) if size else None
            block = Block(self, buffer, size, stored)
            ticket = Ticket(block, self._returned.append)
            ticket.buffer, ticket.size, ticket.payload = buffer, size, payload
            self._tickets.add(ticket)
            self._payload += payload
            self._rounded += size
            return block

    def _sort_returned(self) -> None:
        """Puts the buffers of the tensors that are gone onto their shelves."""
        while self._returned:
            ticket = self._returned.popleft()
            if ticket not in self._tickets:
                continue  # an interrupt came before it was counted
            self._tickets.discard(ticket)
            self._payload -= ticket.payload
            self._rounded -= ticket.size
            if ticket.buffer is not None:
                self._shelves.setdefault(ticket.size, []).append(ticket.buffer)

    def clear(self) -> None:
        """Gives the buffers on the shelves back to the device, once no command that waits can still use them."""
        self._commands.check_usable()
        with self._lock:
            self._commands.forget_buffers()
            self._sort_returned()
            shelves, self._shelves = self._shelves, {}
            for shelf in shelves.values():
                for buffer in shelf:
                    buffer.destroy()
            self._count_anew()

    def clean_up(self) -> None:
        """The same, and what the tracebacks and cycles of failed steps hold goes too."""
        let_go_of_failed_steps()
        self.clear()

    def _count_anew(self) -> None:
        """From what there is. An interrupt in the middle of a step may have left a count behind."""
        tickets = {ticket for ticket in self._tickets if ticket() is not None}
        self._tickets = tickets
        self._payload = sum(ticket.payload for ticket in tickets)
        self._rounded = self._reserved = sum(ticket.size for ticket in tickets)

    def set_limit(self, limit: int | None) -> None:
        """The most bytes to hold from now on. What lies on the shelves goes if it is over that."""
        self._commands.check_usable()
        with self._lock:
            self.limit = limit
            if limit is not None and self._reserved > limit:
                self.clear()

    def usage(self) -> MemoryUsage:
        """What is held, in Burn's words."""
        self._commands.check_usable()
        with self._lock:
            self._sort_returned()
            return MemoryUsage(len(self._tickets), self._payload, self._rounded - self._payload, self._reserved)

    def _create(self, size: int) -> Any:
        """A new buffer; if there is no room, without those on the shelves, and then without those of failed steps."""
        reason = self._try(size)
        for make_room in (self.clear, self.clean_up):
            if isinstance(reason, str):
                make_room()
                reason = self._try(size)
        if not isinstance(reason, str):
            return reason
        raise out_of_memory(size, self._rounded, self.limit, reason)

    def _try(self, size: int) -> Any:
        """A buffer, or the reason why there is none."""
        if self._reserved - self._rounded > WGPU_SHELF_BYTES:
            self.clear()
        if size > self._max_buffer_bytes:
            return f"one buffer of this device has at most {amount(self._max_buffer_bytes)}"
        if self.limit is not None and self._reserved + size > self.limit:
            return f"{amount(self._reserved + size)} are over the limit that was set for this device"
        try:
            buffer = self._create_buffer(size=size)
        except MemoryError as error:
            return f"the driver refuses: {str(error).strip().splitlines()[0]}"
        self.created += 1
        self._reserved += size
        return buffer
