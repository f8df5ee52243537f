"""Memory of a GPU: buffers that are kept when a tensor goes, and handed to the next one of the same size.

To ask the driver for a buffer takes about as long as a small operation. So a buffer whose tensor is gone goes onto a
shelf, and each size has a shelf of its own. Every byte is counted: those in use, those that rounding added, and those
that lie on a shelf.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tinyburn.text import amount

from ..device import MemoryUsage
from ..out_of_memory import forget_failed_step, out_of_memory

if TYPE_CHECKING:
    from .gpu import Gpu

ROUNDING = 256
"""Sizes are rounded up to a multiple of this many bytes, the widest alignment that WebGPU asks of a binding."""


class Block:
    """A buffer in use. It goes back to its pool with the last tensor that looks into it.

    Attributes:
        size: the bytes of the buffer.
        stored: those that the tensor fills; rounding added the others.
        payload: the bytes of its scalars as tinyburn counts them.
    """

    __slots__ = ("buffer", "payload", "pool", "size", "stored")

    def __init__(self, pool: Pool, buffer: Any, size: int, stored: int, payload: int) -> None:
        self.pool = pool
        self.buffer = buffer
        self.size = size
        self.stored = stored
        self.payload = payload

    def __del__(self) -> None:
        # It may run in any thread, at any time, also in one for which another waits that holds the lock. So it must
        # not wait itself: to append is one step, and the next one who takes a buffer sorts it onto its shelf.
        self.pool.returned.append((self.buffer, self.size, self.payload))


class Pool:
    """The buffers of one device.

    Attributes:
        gpu: whose buffers they are.
        returned: the buffers of tensors that are gone, with their sizes and payloads.
        limit: the most bytes that it may hold, in use or on a shelf; None for as many as the device has.
        created: how many buffers it has asked the device for, ever.
    """

    def __init__(self, gpu: Gpu, max_buffer_bytes: int, usage: int) -> None:
        self.gpu = gpu
        self._max_buffer_bytes = max_buffer_bytes
        self._usage = usage
        self._shelves: dict[int, list[Any]] = {}
        # All of them, so that none is garbage by itself. Of a collected cycle Python finalises every object: the buffer
        # would be given back to the driver, and then put onto a shelf by its block, which is finalised too.
        self._buffers: set[Any] = set()
        self._lock = gpu.lock
        self.returned: deque[tuple[Any, int, int]] = deque()
        self._live = self._payload = self._rounded = self._reserved = 0
        self.limit: int | None = None
        self.created = 0

    def take(self, payload: int, stored: int) -> Block:
        """A buffer of at least ``stored`` bytes for a tensor of ``payload`` bytes.

        The two differ where the device stores a scalar in more bytes than it counts (a bool in four).
        Raises OutOfMemory if the device, or the limit, has no room for it.
        """
        size = -(-stored // ROUNDING) * ROUNDING
        with self._lock:
            self._sort_returned()
            shelf = self._shelves.get(size)
            buffer = shelf.pop() if shelf else self._create(size) if size else None
            self._live += 1
            self._payload += payload
            self._rounded += size
        return Block(self, buffer, size, stored, payload)

    def _sort_returned(self) -> None:
        """Puts the buffers of the tensors that are gone onto their shelves."""
        while self.returned:
            buffer, size, payload = self.returned.popleft()
            self._live -= 1
            self._payload -= payload
            self._rounded -= size
            if buffer is not None:
                self._shelves.setdefault(size, []).append(buffer)

    def clear(self) -> None:
        """Gives the buffers on the shelves back to the device, once nothing that waits can still mean them."""
        with self._lock:
            self.gpu.commands.forget_buffers()
            self._sort_returned()
            shelves, self._shelves = self._shelves, {}
            for size, shelf in shelves.items():
                for buffer in shelf:
                    self._buffers.discard(buffer)
                    buffer.destroy()
                    self._reserved -= size

    def usage(self) -> MemoryUsage:
        """What is held, in Burn's words."""
        with self._lock:
            self._sort_returned()
            return MemoryUsage(self._live, self._payload, self._rounded - self._payload, self._reserved)

    def _create(self, size: int) -> Any:
        """A new buffer; if there is no room, once more without those on the shelves and those of a failed step."""
        reason = self._try(size)
        if isinstance(reason, str):
            forget_failed_step()
            self.clear()
            reason = self._try(size)
        if not isinstance(reason, str):
            return reason
        raise out_of_memory(size, self._rounded, self.limit, reason)

    def _try(self, size: int) -> Any:
        """A buffer, or the reason why there is none."""
        if size > self._max_buffer_bytes:
            return f"one buffer of this device has at most {amount(self._max_buffer_bytes)}"
        if self.limit is not None and self._reserved + size > self.limit:
            return f"{amount(self._reserved + size)} are over the limit that was set for this device"
        try:
            buffer = self.gpu.device.create_buffer(size=size, usage=self._usage)
        except MemoryError as error:
            return f"the driver refuses: {str(error).strip().splitlines()[0]}"
        self._buffers.add(buffer)
        self.created += 1
        self._reserved += size
        return buffer
