"""How long ``import tinyburn`` takes beside ``import numpy``, which is a part of it. A new process for each.

After an installation both have their byte code, since pip compiles what it installs. A checkout may have none, and with
PYTHONDONTWRITEBYTECODE it never gets any: then half of the time would be Python's compiler. So both keep it in a folder
of this run's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from race import Times, timed_row
from result import Row, Target

ROUNDS = 15
TARGET = Target("ratio", 2.0)


def seconds_to_import(module: str, byte_code: str) -> float:
    """The processor time of one import, with the byte code of all modules in a folder."""
    program = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": byte_code, "PYTHONDONTWRITEBYTECODE": ""}  # empty: do write
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(answer.stdout)


def run() -> list[Row]:
    times: Times = {"tinyburn": [], "numpy": []}
    with TemporaryDirectory() as byte_code:
        for module in times:
            seconds_to_import(module, byte_code)  # the first one reads the files from the disk, and compiles them
        for _ in range(ROUNDS):
            for module, found in times.items():
                found.append(seconds_to_import(module, byte_code))
    return [timed_row("import_time", "import", times, "tinyburn", "numpy", "ms", TARGET)]
