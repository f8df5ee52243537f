"""One colour language for every picture, and never colour alone: each category has a hatch and a letter too.

The colours are told apart in every kind of colour vision, and stand at 3:1 or more on white and on #111.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyburn.backend import Category


@dataclass(frozen=True)
class Mark:
    """How a category looks: its letter, its colour, and the angle of its hatch in degrees (None: plain)."""

    letter: str
    name: str
    colour: str
    hatch: int | None


MARKS: dict[Category, Mark] = {
    Category.PARAMETER: Mark("P", "parameter", "#6e90f7", None),
    Category.INPUT: Mark("I", "input", "#759e4c", 0),
    Category.ACTIVATION: Mark("A", "activation", "#df0c0c", 45),
    Category.GRADIENT: Mark("G", "gradient", "#1f7a4d", 90),
    Category.OPTIMIZER: Mark("O", "optimizer", "#d8649e", 135),
    Category.TEMPORARY: Mark("T", "temporary", "#8a4c9e", 20),
    Category.OUTPUT: Mark("Y", "output", "#7247f5", 70),
    Category.UNKNOWN: Mark("X", "unknown", "#7247f5", 110),
}

LIGHT = {"paper": "#ffffff", "ink": "#1a1a1a", "soft": "#5c5c5c", "line": "#8a8a8a", "fill": "#f4f4f4"}
DARK = {"paper": "#111111", "ink": "#ececec", "soft": "#ababab", "line": "#858585", "fill": "#242424"}
"""The colours that change with the reader's theme, by their CSS class."""
