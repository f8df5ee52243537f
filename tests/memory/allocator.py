"""The independent truth: NumPy's own allocations, counted by a handler that NumPy calls (NEP 49).

Nothing of tinyburn is in here. Every data buffer of every array, of operations and of their inner temporaries, is
asked of this handler, so its live and peak bytes are exact.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

_SET_HANDLER = 304
"""The place of PyDataMem_SetHandler in NumPy's table of C functions; places never change."""

_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Allocator(ctypes.Structure):
    """NumPy's PyDataMemAllocator."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", _REALLOC),
        ("free", _FREE),
    )


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


class Counter:
    """Live and peak bytes of all arrays that were made while it was installed."""

    def __init__(self) -> None:
        self.live = 0
        self.peak = 0
        self.sizes: dict[int, int] = {}

    def add(self, address: int | None, size: int) -> int | None:
        if address:
            self.sizes[address] = size
            self.live += size
            self.peak = max(self.peak, self.live)
        return address

    def forget(self, address: int) -> None:
        self.live -= self.sizes.pop(address)


def _libc(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = result, arguments
    return function


class CountingHandler:
    """A handler that asks the C library, and tells its counter. An array keeps the handler that made it."""

    def __init__(self) -> None:
        self.counter = Counter()
        malloc = _libc("malloc", ctypes.c_void_p, ctypes.c_size_t)
        calloc = _libc("calloc", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        realloc = _libc("realloc", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        free = _libc("free", None, ctypes.c_void_p)
        counter = self.counter

        def on_realloc(_: Any, address: int | None, size: int) -> int | None:
            moved = realloc(address, size)
            if moved and address:
                counter.forget(address)
            return counter.add(moved, size)

        def on_free(_: Any, address: int | None, __: int) -> None:
            if address:
                counter.forget(address)
                free(address)

        allocator = _Allocator(
            None,
            _MALLOC(lambda _, size: counter.add(malloc(size), size)),
            _CALLOC(lambda _, count, size: counter.add(calloc(count, size), count * size)),
            _REALLOC(on_realloc),
            _FREE(on_free),
        )
        self._handler = _Handler(b"counting", 1, allocator)
        self.capsule = _new_capsule(self._handler)


def _new_capsule(handler: _Handler) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(handler), b"mem_handler", None)


def _set_handler(capsule: Any) -> Any:
    """Calls PyDataMem_SetHandler; returns the handler before."""
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = read(np._core._multiarray_umath._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)(capsule)


_kept: list[CountingHandler] = []
"""Handlers stay for ever: an array that outlives its test is still freed by the handler that made it."""


def count(work: Callable[[Counter], T]) -> T:
    """Runs ``work(counter)`` with a handler of its own, in a thread of its own.

    NumPy keeps the handler in the running context, and the backend runs NumPy in a context that it copies once for
    each thread. A new thread makes its copy after the handler is set, so every array is counted, and nothing is left
    set when the thread ends.
    """
    handler = CountingHandler()
    _kept.append(handler)
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        earlier = _set_handler(handler.capsule)
        try:
            results.append(work(handler.counter))
        except BaseException as error:
            errors.append(error)
        finally:
            _set_handler(earlier)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results.pop()
