"""The graph behind the steps: drawn once and quietly, with marks over it that change from step to step.

A mark is never a colour alone. The active box has a thick frame and its text in full ink, the arrows that the step goes
along are thick, and a box whose value or gradient is alive has a band with the letter of its category: the value's on
its left, the gradient's on its right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .cards import BAND, Card, arrow, band, curve, cut
from .film import Alive, Film
from .fold import Drawn, box_label
from .graph import card_of, gets_gradient
from .layout import Layout, Point, Spacing, arrange
from .model import Graph
from .steps import Step
from .svg import MARKS, path, rect

STYLE = ".none{fill:none;stroke:none}.go{fill:none;stroke-width:2.4}"
GO = (
    '<marker id="go" markerWidth="11" markerHeight="10" refX="10" refY="5" orient="auto" markerUnits="userSpaceOnUse">'
    '<path d="M0 0L11 5L0 10z" class="ink"/></marker>'
)
"""The head of an arrow that a step goes along."""
_SLOT = BAND + 4.0  # the room for a band
_NARROW = Spacing(beside=10, below=16)
_SHORT = 14  # characters of a name in a small card


@dataclass(frozen=True)
class Stage:
    """The boxes of a graph at their places.

    Attributes:
        cards: the text of each box.
        quiet: all of it, as it looks where nothing happens.
    """

    drawn: Drawn
    cards: tuple[Card, ...]
    layout: Layout
    quiet: tuple[str, ...]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return self.layout.width, self.layout.height

    def marks(self, film: Film, number: int) -> list[str]:
        """What changes: the arrows and the box of a step, and what is alive in it."""
        step = film.steps[number]
        active = self.drawn.box_of[step.item] if step.item >= 0 else -1
        parts = self._arrows(film.graph, step, active)
        if active >= 0:
            parts += self._box(active, "box rule thick", "ink")
        for box in range(len(self.cards)):
            parts += self._bands(film, number, box)
        return parts

    def _arrows(self, graph: Graph, step: Step, active: int) -> list[str]:
        """In a forward step from the operands; in a rule to the operand that gets its part."""
        routes = dict(zip(self.drawn.edges, self.layout.routes, strict=True))
        if step.kind == "forward":
            ways = [(self.drawn.box_of[parent], active) for parent in dict.fromkeys(graph.items[step.item].parents)]
            return [_go(routes[way]) for way in dict.fromkeys(ways) if way in routes]
        way = (self.drawn.box_of[step.target], active)
        if step.kind != "rule" or way not in routes:
            return []
        x, y = routes[way][-1]
        return [rect(x - 6, y - 10, 12, 9.4, "paper"), _go(routes[way][::-1])]  # away with the head at the other end

    def _box(self, box: int, style: str, ink: str) -> list[str]:
        return _framed(self.cards[box], self.layout.corners[box], style, ink)

    def _bands(self, film: Film, number: int, box: int) -> list[str]:
        """The letters of what is alive: of several values in one box the largest."""
        members = self.drawn.boxes[box]
        items = [*members.items, *members.leaves]
        (x, y), (width, height) = self.layout.corners[box], _size(self.cards[box])
        values = [found for item in items if (found := film.value_of(item, number))]
        gradients = [found for item in items if (found := film.gradient_of(item, number))]
        parts = band(x + 1, y, height, _letter(values)) if values else []
        return parts + (band(x + width - _SLOT + 1, y, height, _letter(gradients)) if gradients else [])


def _letter(alive: Sequence[Alive]) -> str:
    return MARKS[max(alive, key=lambda each: each.size).category].letter


def _size(card: Card) -> tuple[float, float]:
    width, height = card.size
    return width + 2 * _SLOT, height


def _framed(card: Card, corner: Point, style: str, ink: str) -> list[str]:
    """A card between the slots of its bands."""
    (x, y), (width, height) = corner, _size(card)
    lines = [part.replace('class="soft', f'class="{ink}') for part in _text_of(card, x + _SLOT, y)]
    return [rect(x, y, width, height, style, 3), *lines]


def _go(route: Sequence[Point]) -> str:
    return path(curve(route), "rule go", 'marker-end="url(#go)"')


def _text_of(card: Card, x: float, y: float) -> list[str]:
    """The lines of a card, all of them soft."""
    parts = replace(card, style="none", stacked=False, letter="").draw(x, y)[1:]
    return [
        part.replace('class="ink"', 'class="soft"').replace('class="ink bold"', 'class="soft bold"') for part in parts
    ]


def _short(label: str) -> str:
    """A name that fits into a small card: of a path its last two names."""
    return cut(label if " " in label else ".".join(label.split(".")[-2:]), _SHORT)


def build(graph: Graph, drawn: Drawn, is_small: bool) -> Stage:
    """The stage of some boxes; a small one has the names alone."""
    cards = []
    for box in drawn.boxes:
        card = Card(_short(box_label(graph, box))) if is_small else card_of(graph, box)
        cards.append(replace(card, letter="", stacked=False))
    layout = arrange([_size(card) for card in cards], drawn.edges, drawn.spine, *([_NARROW] if is_small else []))
    quiet = [
        arrow(curve(route), is_dashed=not gets_gradient(graph, drawn.boxes[start]))
        for (start, _), route in zip(drawn.edges, layout.routes, strict=True)
    ]
    for card, box, corner in zip(cards, drawn.boxes, layout.corners, strict=True):
        quiet += _framed(card, corner, "box" if gets_gradient(graph, box) else "ghost", "soft")
    return Stage(drawn, tuple(cards), layout, tuple(quiet))
