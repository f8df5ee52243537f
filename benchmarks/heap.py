"""Keeps freed memory in the process, so that a time is the operation's and not the operating system's.

glibc's malloc maps a large block anew each time, and gives the end of its heap back once enough of it is free. Both
cost page faults: the system clears every page before it hands it out, which can take longer than the operation that
fills it. And both limits move while a program runs, so what ran earlier would decide which operations pay for it, and
single ones would change several times over. NumPy and PyTorch both ask malloc, so the limits are fixed for them alike.
"""

from __future__ import annotations

import ctypes
import sys

# The names and numbers of malloc.h; each limit is in bytes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

KEPT_AT_THE_END = 2**30
LARGEST_BLOCK = 32 * 2**20
"""The most that glibc allows for this limit. Every buffer of the benchmarks is smaller."""


def keep_heap() -> bool:
    """Fixes both limits for this process. Returns False where there is no glibc, and then nothing has changed."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries for Linux do not have it
    if mallopt is None:
        return False
    limits = {M_TRIM_THRESHOLD: KEPT_AT_THE_END, M_MMAP_THRESHOLD: LARGEST_BLOCK}
    return all(mallopt(name, limit) == 1 for name, limit in limits.items())
