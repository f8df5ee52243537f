"""Where the boxes and the lines of a graph go.

Graphviz's `dot` algorithm decides, run by the `graphviz-pure` program, which pip installs with tinyburn: it gets fixed
box sizes, so its answer does not depend on a machine's fonts. It only gives coordinates; tinyburn draws. Where that
program is missing, `layered` takes over, so a picture never needs more than Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from .layered import layered
from .places import Edge, Layout, Point, Size
from .routes import tidy

_INCH = 72.0  # Graphviz measures boxes in inches; here an inch is 72 pixels
_PROGRAM = "graphviz-pure"
_SECONDS = 60  # a picture takes milliseconds; this only ends a run that hangs

Words: TypeAlias = list[str]


@dataclass(frozen=True)
class Spacing:
    """Free pixels between boxes: next to each other, and from one row to the next."""

    beside: float = 22
    below: float = 30


_USUAL = Spacing()
_NONE: Set[Edge] = frozenset()


def place(sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge] = _NONE, spacing: Spacing = _USUAL) -> Layout:
    """Boxes by their width and height, and edges that run down from one box's place in ``sizes`` to another's.

    The edges of the ``spine`` are drawn as straight as possible.
    """
    program = find_program()
    answer = _run(program, _dot(sizes, edges, spine, spacing)) if program else None
    if answer is None:
        return tidy(layered(sizes, edges, spine, spacing.beside, spacing.below), sizes, edges)
    return tidy(_read(answer, sizes, edges), sizes, edges)


def find_program() -> str | None:
    """The layout program beside this Python, which a notebook kernel's PATH may lack; else one on the PATH."""
    scripts = sysconfig.get_path("scripts")
    return shutil.which(_PROGRAM, path=scripts) or shutil.which(_PROGRAM)


def _dot(sizes: Sequence[Size], edges: Sequence[Edge], spine: Set[Edge], spacing: Spacing) -> str:
    """The graph in the DOT language, with boxes of fixed size and no text in them."""
    from graphviz import Digraph  # here, so that `import tinyburn` needs NumPy alone

    settings = {"nodesep": f"{spacing.beside / _INCH:.4f}", "ranksep": f"{spacing.below / _INCH:.4f}"}
    graph = Digraph(graph_attr=settings, node_attr={"shape": "box", "fixedsize": "true", "label": ""})
    for number, (width, height) in enumerate(sizes):
        graph.node(str(number), width=f"{width / _INCH:.4f}", height=f"{height / _INCH:.4f}")
    for start, end in edges:
        graph.edge(str(start), str(end), arrowhead="none", weight="9" if (start, end) in spine else "1")
    return str(graph.source)


def _run(program: str, source: str) -> str | None:
    """The program's answer in its ``plain`` format; None if it cannot run here."""
    try:
        done = subprocess.run(
            [program, "-Tplain"], input=source, capture_output=True, text=True, encoding="utf-8", timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and done.stdout.startswith("graph") else None


def _read(answer: str, sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Graphviz counts upwards from the bottom and gives the middle of a box; here y grows down from the top."""
    lines = [line.split() for line in answer.splitlines()]
    width, height = (float(value) * _INCH for value in lines[0][2:4])
    corners: list[Point] = [(0.0, 0.0)] * len(sizes)
    routes: dict[Edge, list[Point]] = {}
    for words in lines:
        if words[0] == "node":
            number = int(words[1])
            x, y = float(words[2]) * _INCH, height - float(words[3]) * _INCH
            corners[number] = (x - sizes[number][0] / 2, y - sizes[number][1] / 2)
        elif words[0] == "edge":
            routes[int(words[1]), int(words[2])] = _points(words, height)
    return Layout(width, height, tuple(corners), tuple([tuple(routes[edge]) for edge in edges]))


def _points(words: Words, height: float) -> list[Point]:
    numbers = [float(word) * _INCH for word in words[4 : 4 + 2 * int(words[3])]]
    return [(x, height - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
