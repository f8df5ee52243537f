"""What a token looks at, as a widget: another head, and one position after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tinyburn.tensor import Tensor
from tinyburn.viz import Picture
from tinyburn.viz import attention as looks
from tinyburn.viz.attention import Heads, place, read_heads, share_text
from tinyburn.viz.stacked import stacked

from .controls import choice, number, step_buttons, with_slider
from .live import Controls, Live

_FEW = 4
"""Heads of the still picture."""


def attention(
    weights: Tensor[Any, Any, Any],
    tokens: Iterable[str],
    *,
    head: int = 0,
    position: int = 0,
    queries: Iterable[str] | None = None,
) -> Live:
    """`viz.attention` with a choice of the head, and a number for the position.

    Arguments and errors are those of `viz.attention`; ``head`` and ``position`` are for the start.
    """
    tokens, queries = list(tokens), None if queries is None else list(queries)
    heads = read_heads(weights, tokens, queries)
    heads.row(head, position)
    count, positions = len(heads.shares), len(heads.shares[0])

    def draw(position: int, head: int = 0) -> Picture:
        return looks(weights, tokens, head=head, position=position, queries=queries)

    def controls(widgets: Any) -> Controls:
        at, slider = with_slider(widgets, number(widgets, "Position", position, 0, positions - 1))
        row, values = [*step_buttons(widgets, at, "position"), at, slider], {"position": at}
        if count > 1:  # of one head there is nothing to choose
            values["head"] = choice(widgets, "Head", range(count), head, 60)
            row.insert(0, values["head"])
        return Controls(row, values)

    if count == 1:
        return Live(draw(position), draw, controls)
    shown = range(min(count, _FEW)) if head < _FEW else (head,)
    pictures = {f"Head {each}": draw(position, each) for each in shown}
    return Live(stacked(_title(heads, position, shown), pictures), draw, controls)


def _title(heads: Heads, position: int, shown: Iterable[int]) -> str:
    rows = [heads.row(head, position) for head in shown]
    found = [
        f"head {row.head} at {place(row.first, row.tokens[row.first])} ({share_text(row.shares[row.first])})"
        for row in rows
    ]
    return f"Position {place(position, rows[0].asks)}, looks most, by {'; by '.join(found)}"
