"""Drawing one picture in two processes, with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_WRITE = """
import sys
sys.stdout.reconfigure(encoding="utf-8", newline="\\n")
sys.stdout.write(repr(picture) + picture.html)
"""


def outputs_of_two_processes(script: str) -> tuple[bytes, bytes]:
    """What each writes of the ``picture`` that the script makes."""
    first, second = [
        subprocess.run(
            [sys.executable, "-c", script + _WRITE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(first) > 1000
    return first, second
