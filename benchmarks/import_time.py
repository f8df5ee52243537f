"""How long ``import tinyburn`` takes beside ``import numpy``, which is a part of it. A new process for each."""

from __future__ import annotations

import subprocess
import sys

from race import Times, timed_row
from result import Row, Target

ROUNDS = 15


def seconds_to_import(module: str) -> float:
    program = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(answer.stdout)


def run() -> list[Row]:
    times: Times = {"tinyburn": [], "numpy": []}
    for module in times:
        seconds_to_import(module)  # the first one reads the files from the disk, and compiles them
    for _ in range(ROUNDS):
        for module, found in times.items():
            found.append(seconds_to_import(module))
    return [timed_row("import_time", "import", times, "tinyburn", "numpy", "ms", Target("ratio", 2.0))]
