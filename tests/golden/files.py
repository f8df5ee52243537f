"""What the scripts of this folder share: how PyTorch's numbers become the lines of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


def numbers(values: Values) -> list[float]:
    """All elements in row-major order, each as the shortest number that its dtype reads back."""
    return [float(str(value)) for value in values.ravel()]


def write(path: Path, made: Mapping[str, Any]) -> None:
    """One line for each case: the same bytes each time, with the same version of PyTorch."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in made.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
