"""What workers need under a name in a module: functions of items, and a program that is interrupted."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from tinyburn import NdArray, data


def broken_at_seven(item: int) -> int:
    if item == 7:
        raise ValueError("it is seven")
    return item


def slow(item: int) -> int:
    time.sleep(0.01)
    return item


def deadly(item: int) -> int:
    if item == 7:
        os._exit(3)
    return item


def numbers(count: int) -> data.Dataset[Any]:
    return data.InMemory([*range(count)])


if __name__ == "__main__":
    loader = data.DataLoader(numbers(100_000).map(slow), 8, NdArray.device(), workers=2)
    for number, _ in enumerate(loader):
        if number == 2:
            pool: Any = loader._pool
            print(*[process.pid for process in pool.processes], flush=True)
    sys.exit("the loop should have been interrupted")
