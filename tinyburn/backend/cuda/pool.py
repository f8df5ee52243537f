"""CuPy's memory pool: what it holds, and what happens when there is no room.

To ask the driver for memory makes the CPU wait for the GPU, so CuPy keeps what is freed and hands it out again. Sizes
are rounded up to a multiple of 512 bytes. The pool belongs to the process: other code that uses CuPy shares it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from tinyburn.backend.array_namespace import quiet
from tinyburn.backend.device import MemoryUsage
from tinyburn.backend.gpus import let_go_of_failed_steps, out_of_memory
from tinyburn.backend.operations import called
from tinyburn.base.errors import OutOfMemory
from tinyburn.base.text import amount

from .find import cp


@cache
def counter() -> Any:
    """The hook that counts buffers, for all GPUs. CuPy calls it whenever the pool gives one out or takes one back."""

    class Counter(cp.cuda.MemoryHook):  # type: ignore[misc]
        name = "tinyburn"

        def __init__(self) -> None:
            self.padding: dict[tuple[int, int], int] = {}  # by GPU and address: what rounding added

        def malloc_postprocess(self, *, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
            if mem_ptr:  # 0 if it failed, and for a tensor without elements
                self.padding[device_id, mem_ptr] = mem_size - size

        def free_preprocess(self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
            self.padding.pop((device_id, mem_ptr), None)

    return Counter()


class _Watched(threading.local):
    """Whether the hook is on in this thread: CuPy has a list of hooks for each."""

    on = False


_watched = _Watched()


def watch() -> None:
    """Counts the buffers of this thread from now on."""
    if not _watched.on:
        counter().__enter__()
        _watched.on = True


def usage(number: int) -> MemoryUsage:
    """What the pool holds for a GPU. ``bytes_in_use`` is what was asked for; rounding comes on top.

    The bytes of the pool are exact. Buffers and padding are those of threads that have computed with tinyburn.
    """
    paddings = [padding for (gpu, _), padding in list(counter().padding.items()) if gpu == number]
    used, reserved = _pool_bytes(number)
    return MemoryUsage(len(paddings), used - sum(paddings), sum(paddings), reserved)


def _pool_bytes(number: int) -> tuple[int, int]:
    """The bytes that are in use, and all that the pool holds; both with what rounding added."""
    with cp.cuda.Device(number):
        pool = cp.get_default_memory_pool()
        return pool.used_bytes(), pool.total_bytes()


def cleanup(number: int) -> None:
    """Gives what the pool keeps for a GPU back to the driver, and what only failed steps still hold."""
    let_go_of_failed_steps()
    with cp.cuda.Device(number):
        cp.get_default_memory_pool().free_all_blocks()


def limit(number: int, most: int | None) -> None:
    """Lets the pool hold at most so many bytes of a GPU; None lifts it."""
    with cp.cuda.Device(number):
        cp.get_default_memory_pool().set_limit(size=0 if most is None else max(most, 1))  # to CuPy, 0 is no limit


def on_its_gpu(name: str, operation: Callable[..., Any]) -> Any:
    """An operation, run on the GPU where its first array lies."""

    def on_gpu(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, cp.ndarray):
                return run_on(argument.data.device_id, operation, *arguments)
        raise TypeError("an operation needs at least one array")

    return called(f"Cuda.{name}", on_gpu)


def run_on(number: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function with one GPU as the current one, and once more with an emptied pool if there was no room.

    Raises OutOfMemory if there still is none.
    """
    watch()
    if cp.cuda.runtime.getDevice() != number:
        with cp.cuda.Device(number):
            return run_on(number, function, *arguments)
    try:
        return _call(function, *arguments)
    except cp.cuda.memory.OutOfMemoryError:
        pass  # an operation changes nothing before it has room, so it can start again
    cleanup(number)
    try:
        return _call(function, *arguments)
    except cp.cuda.memory.OutOfMemoryError as error:
        _, (size, _, most) = error.__reduce__()  # what it was made from: bytes asked for, bytes held, the limit
    raise _no_room(number, size, most)  # not inside the handler: CuPy's error would keep the arrays of its frames


def _no_room(number: int, size: int, most: int) -> OutOfMemory:
    used, reserved = _pool_bytes(number)
    with cp.cuda.Device(number):
        free, total = cp.cuda.runtime.memGetInfo()
    kept = f"{amount(reserved - used)} more are cached in pieces too small"
    over_limit = f"{amount(reserved + size)} are over the limit that was set for this device"
    reason = over_limit if most else f"of the {amount(total)} of this GPU {amount(free)} are free, and {kept}"
    return out_of_memory(size, used, most or None, reason)


@quiet
def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Without NumPy's warnings: CuPy converts numbers with it, and one beyond a dtype is inf there."""
    return function(*arguments)
