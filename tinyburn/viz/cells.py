"""A matrix as coloured cells with numbers: zero in the middle, the two signs told apart in every kind of colour vision.

Blue and orange are, and a cell says its sign too. The strength of the colour is the size of the number over the
largest one of all matrices that stand side by side. NaN and inf are bold words in a dashed frame.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .svg import rect, text

Matrix = np.ndarray[Any, Any]

WIDTH, HEIGHT = 52.0, 24.0
"""Of one cell, in pixels."""
MOST = 8
"""Rows and columns that are drawn; the others are left out, and the picture says so."""

POSITIVE, NEGATIVE = "#d67a10", "#5e8ad6"
STYLE = f".plus{{fill:{POSITIVE}}}.minus{{fill:{NEGATIVE}}}.cell{{fill:none;stroke-width:.5}}"


def largest(*matrices: Matrix) -> float:
    """The largest distance from 0 among the finite numbers; 1 if there is none."""
    sizes = [abs(float(x)) for matrix in matrices for x in matrix.ravel() if math.isfinite(x)]
    return max(sizes, default=0.0) or 1.0


def draw(matrix: Matrix, x: float, y: float, scale: float, most: int = MOST) -> list[str]:
    """The first rows and columns of a matrix, with its upper left corner at (x, y)."""
    drawn = []
    for row, values in enumerate(matrix[:most].tolist()):
        for column, value in enumerate(values[:most]):
            drawn += _cell(x + column * WIDTH, y + row * HEIGHT, value, scale)
    return drawn


def _cell(x: float, y: float, value: float, scale: float) -> list[str]:
    style = "ink" if math.isfinite(value) else "ink bold"
    frame = rect(x, y, WIDTH, HEIGHT, "line cell")
    words = text(x + WIDTH / 2, y + 16, digits(value), style, "middle")
    return [*colour_cell(x, y, (WIDTH, HEIGHT), value, scale, 0.65), frame, words]


def colour_cell(
    x: float, y: float, size: tuple[float, float], value: float, scale: float, strongest: float = 0.9
) -> list[str]:
    """The colour of one number: none for a zero, and a dashed frame for inf and NaN."""
    if not math.isfinite(value):
        return [rect(x + 2, y + 2, size[0] - 4, size[1] - 4, "ghost")]
    strength = f"{strongest * min(abs(value) / scale, 1.0):.2f}"
    if float(strength) == 0:
        return []
    return [rect(x, y, *size, "plus" if value > 0 else "minus", 0, f'fill-opacity="{strength}"')]


def draw_small(matrix: Matrix, x: float, y: float, scale: float, side: float) -> list[str]:
    """A square for each number, without the number."""
    drawn = [rect(x, y, matrix.shape[1] * side, matrix.shape[0] * side, "line cell")]
    for row, values in enumerate(matrix.tolist()):
        for column, value in enumerate(values):
            drawn += colour_cell(x + column * side, y + row * side, (side, side), value, scale)
    return drawn


def digits(value: float) -> str:
    """At most three digits, whole numbers without a point, and no minus before a zero."""
    if abs(value) < 1000 and value == int(value):
        return str(int(value))
    return f"{value:.3f}" if 0.001 <= abs(value) < 10 else f"{value:.2g}"
