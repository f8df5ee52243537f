"""The steps side by side, for a page on which nothing moves: up to twelve frames, each with a small graph."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from .film import Film
from .layout import Size
from .stage import GO, Stage
from .step_numbers import Numbers
from .step_panel import Line, bar, bytes_lines, draw_lines, head, lines, numbers_line
from .svg import CHARACTER, LINE, rect, xy

MOST = 12
"""Frames that a reader can take in."""
_NARROWEST, _WIDEST = 205.0, 262.0  # the width of the words
_ACROSS = 1000.0  # of the page
_BESIDE = 870.0  # of the page, where words stand beside the graphs
_PADDING = 10.0
_GAP = 14.0


def chosen(film: Film, most: int = MOST) -> list[int]:
    """The steps to draw: all if there are few; else the turning points, and of the others some at equal distances."""
    steps = film.steps
    if len(steps) <= most:
        return list(range(len(steps)))
    by_kind = {step.kind: [at for at, each in enumerate(steps) if each.kind == step.kind] for step in steps}
    second = [at for at in by_kind.get("inside", []) if film.history.is_backward(steps[at].first)]
    turns = [film.peak, *by_kind.get("seed", []), *_ends(by_kind["forward"]), *_ends(by_kind.get("rule", []))]
    turns += [*by_kind.get("sum", [])[:1], *second[:1], *by_kind.get("free", [])[:1], 0, len(steps) - 1]
    busy = [at for at, step in enumerate(steps) if step.kind != "free"]
    even = [busy[int((at + 0.5) * len(busy) / most)] for at in range(most)]
    return sorted(list(dict.fromkeys([*turns, *even, *busy]))[:most])


def _ends(numbers: Sequence[int]) -> list[int]:
    """The first and the last."""
    return [*numbers[:1], *numbers[-1:]]


class Plan(NamedTuple):
    """How a frame is laid out.

    Attributes:
        words: the width of its words.
        is_beside: whether they stand beside the graph; else they stand below it.
    """

    words: float
    is_beside: bool

    def size(self, graph: Size, rows: int) -> Size:
        """Of a frame with so many lines of words."""
        text_height = LINE * rows + 30
        if self.is_beside:
            return graph[0] + self.words + 3 * _PADDING, max(graph[1], text_height) + 2 * _PADDING
        return max(graph[0], self.words) + 2 * _PADDING, graph[1] + text_height + 3 * _PADDING


def plan_for(graph: Size) -> Plan:
    """Words beside the graph, if two such frames fit beside each other."""
    room = (_BESIDE - _GAP) / 2 - graph[0] - 3 * _PADDING
    return Plan(min(room, _WIDEST), True) if room >= _NARROWEST else Plan(max(_WIDEST, graph[0]), False)


def draw_strip(
    film: Film, numbers: Sequence[Numbers], stage: Stage, shown: Sequence[int]
) -> tuple[Size, list[str], str]:
    """The size, the frames, and the graph that they all refer to."""
    plan = plan_for(stage.size)
    found = [_lines(film, numbers[at], at, plan.words) for at in shown]
    rows = [len(words) + len(bytes_lines(film, at, plan.words)) for at, words in zip(shown, found, strict=True)]
    width, height = plan.size(stage.size, max(rows))
    across = max(1, int((_ACROSS + _GAP) // (width + _GAP)))
    drawn: list[str] = []
    for place, (at, words) in enumerate(zip(shown, found, strict=True)):
        x, y = (place % across) * (width + _GAP), (place // across) * (height + _GAP)
        drawn += [f'<g transform="translate({xy(x, y)})">', rect(0, 0, width, height, "line", 4)]
        drawn += _frame(film, stage, at, words, plan)
        drawn.append("</g>")
    down = -(-len(shown) // across)
    size = (min(across, len(shown)) * (width + _GAP) - _GAP, down * (height + _GAP) - _GAP)
    return size, drawn, "".join(['<g id="graph">', *stage.quiet, "</g>", GO])


def _lines(film: Film, numbers: Numbers, at: int, width: float) -> list[Line]:
    """The words of a frame: where it is, what happens, the numbers, and why."""
    happens = lines(film, at, width)
    bold = [line for line in happens if line.style != "soft"]
    is_said = film.steps[at].kind == "seed"
    known = [] if is_said else [Line(line) for line in wrap(numbers_line(numbers), int(width / CHARACTER))]
    return [Line(head(film, at), "ink bold"), *bold, *known, *[line for line in happens if line.style == "soft"]]


def _frame(film: Film, stage: Stage, at: int, words: Sequence[Line], plan: Plan) -> list[str]:
    parts = [f'<g transform="translate({xy(_PADDING, _PADDING)})">', '<use href="#graph"/>']
    parts += [*stage.marks(film, at), "</g>"]
    x, y = (stage.size[0] + 2 * _PADDING, _PADDING) if plan.is_beside else (_PADDING, stage.size[1] + 2 * _PADDING)
    parts += draw_lines(words, x, y)
    y += LINE * len(words) + 6
    parts += bar(film, at, x, y, plan.words)
    return parts + draw_lines(bytes_lines(film, at, plan.words), x, y + 18)
