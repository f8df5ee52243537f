"""Threefry-2x32 with 20 rounds once more, as a plain function, and its published results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.backend.device import RandomState

# Key, counter and result, as Random123, the authors' own code, publishes them: 0, all ones, digits of pi.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def threefry(key: tuple[int, int], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """The two random words of counters, which may be arrays."""
    keys = [*map(np.uint32, key), np.uint32(key[0] ^ key[1] ^ 0x1BD11BDA)]
    with np.errstate(over="ignore"):
        x, y = np.uint32(counter[0]) + keys[0], np.uint32(counter[1]) + keys[1]
        for number in range(20):
            by = (13, 15, 26, 6, 17, 29, 16, 24)[number % 8]
            x = x + y
            y = (y << np.uint32(by) | y >> np.uint32(32 - by)) ^ x
            if number % 4 == 3:
                step = number // 4 + 1
                x, y = x + keys[step % 3], y + keys[(step + 1) % 3] + np.uint32(step)
    return x, y


def units(seed: int, size: int, dtype: str = "float32", draws: int = 0, start: int = 0) -> Any:
    """The numbers of [0, 1) from ``start`` on that a draw is made of; those of float16 are float32."""
    state, at = RandomState(seed, draws), np.arange(start, start + size, dtype="uint32")
    if dtype == "float64":
        first, second = threefry(state.key, (at, state.draw))
        return first * 2.0**-32 + (second >> 11) * 2.0**-53
    words = threefry(state.key, (at // 2, state.draw))
    return (np.where(at % 2 == 0, *words) >> 8).astype("float32") * np.float32(2.0**-24)
