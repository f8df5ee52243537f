"""The parts that the pictures of a graph share: a card for each box, arrows, a legend, and the sheet around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from textwrap import wrap

from .places import Point, Size
from .svg import CHARACTER, LINE, fill_of, number, page, path, rect, text, text_width

MARGIN = 16.0
_PADDING = 8.0
_BAND = 24.0  # the coloured band of a card and its letter
_STACK = 4.0  # how far the cards behind the first one of a stack look out
_LONGEST = 44  # characters in one line of a card
_NARROWEST = 600.0  # a sheet, so that its title has room
_TITLE_CHARACTER = 8.0

STYLE = ".off{stroke-dasharray:5 3}.thick{stroke-width:2.4}.arrow{stroke-width:1.3}.frame{stroke-width:1.8}"
ARROW = (
    '<marker id="arrow" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto" markerUnits="userSpaceOnUse">'
    '<path d="M0 0L9 4L0 8z" class="head"/></marker>'
)


@dataclass(frozen=True)
class Card:
    """A box with text.

    Attributes:
        head: the start of the first line, in bold.
        rest: how that line goes on.
        under: the other lines, in a softer ink.
        letter: its category in the palette, shown as a coloured band and as a letter; empty for none.
        style: CSS classes of the frame.
        stacked: drawn as a pile, for a box that stands for several.
    """

    head: str
    rest: str = ""
    under: tuple[str, ...] = ()
    letter: str = ""
    style: str = "box"
    stacked: bool = False

    @property
    def size(self) -> Size:
        """What the text needs, with the band and the pile."""
        widest = max(len(line) for line in (self._first, *self.under))
        band = _BAND if self.letter else 0
        pile = 2 * _STACK if self.stacked else 0
        return widest * CHARACTER + 2 * _PADDING + band + pile, (1 + len(self.under)) * LINE + 12 + pile

    @property
    def _first(self) -> str:
        return f"{self.head} {self.rest}"

    def draw(self, x: float, y: float, width: float | None = None, height: float | None = None) -> list[str]:
        """The card with its top left corner at (x, y); wider or higher than it needs if asked."""
        pile = 2 * _STACK if self.stacked else 0
        wide, high = (width or self.size[0]) - pile, (height or self.size[1]) - pile
        parts = [rect(x + back, y + back, wide, high, "box", 3) for back in ((pile, pile / 2) if pile else ())]
        parts.append(rect(x, y, wide, high, self.style, 3))
        left = x + _PADDING
        if self.letter:
            parts.append(rect(x + 1, y + 1, _BAND + 2, high - 2, "paper", 2))  # what the colours stand out from
            parts.append(rect(x + 2, y + 2, 7, high - 4, "", 0, f'fill="{fill_of(self.letter)}"'))
            parts.append(text(x + 17, y + 18, self.letter, "ink bold", "middle"))
            left += _BAND
        parts.append(text(left, y + 18, self.head, "ink bold"))
        if self.rest:
            parts.append(text(left + text_width(self.head + " "), y + 18, self.rest))
        return parts + [text(left, y + 18 + LINE * (n + 1), line, "soft") for n, line in enumerate(self.under)]


def fit(head: str, rest: str, longest: int = _LONGEST) -> tuple[str, str]:
    """The first line of a card, cut to what a card can hold. The text form of a picture cuts nothing."""
    if len(head) > longest:
        head = head[: longest - 1] + "…"
    room = max(longest - len(head) - 1, 8)
    return head, rest if len(rest) <= room else rest[: room - 1] + "…"


def curve(points: Sequence[Point]) -> str:
    """The commands of an SVG path along the points of a `Layout` route."""
    start, *others = [f"{number(x)} {number(y)}" for x, y in points]
    return f"M{start}C{' '.join(others)}"


def arrow(points: Sequence[Point], is_dashed: bool = False) -> str:
    """A thin line with a head at its last point."""
    style = "line arrow off" if is_dashed else "line arrow"
    return path(curve(points), style, 'marker-end="url(#arrow)"')


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a piece of drawing, 26 pixels wide and 14 high, and what it means."""

    swatch: str
    meaning: str


def card_key(meaning: str, style: str, letter: str = "") -> Key:
    """A small box as the pictures have it."""
    swatch = rect(0, 0, 26, 14, style, 2)
    if letter:
        swatch += rect(1, 1, 24, 12, "paper") + rect(2, 2, 6, 10, "", 0, f'fill="{fill_of(letter)}"')
        swatch += text(17, 11, letter, "ink bold", "middle")
    return Key(swatch, meaning)


def line_key(meaning: str, style: str, extra: str = "") -> Key:
    """A short line as the pictures have it."""
    return Key(path("M0 7H26", style, extra), meaning)


def sheet(
    title: str,
    size: Size,
    drawing: Iterable[str],
    keys: Sequence[Key] = (),
    notes: Sequence[str] = (),
    style: str = "",
    definitions: str = "",
) -> str:
    """A whole picture: the title, the drawing in the middle, the legend and what else there is to say."""
    width = max(size[0], _NARROWEST)
    titles = wrap(title, int(width / _TITLE_CHARACTER)) or [""]
    top = MARGIN + 20 * len(titles) + 8
    body = [text(MARGIN, MARGIN + 10 + 20 * line, content, "ink title") for line, content in enumerate(titles)]
    body += [f'<g transform="translate({number(MARGIN + (width - size[0]) / 2)} {number(top)})">', *drawing, "</g>"]
    y = top + size[1] + 20
    placed = _in_rows(keys, width)
    for key, x, row in placed:
        body.append(f'<g transform="translate({number(MARGIN + x)} {number(y + 20 * row)})">{key.swatch}</g>')
        body.append(text(MARGIN + x + 34, y + 20 * row + 11, key.meaning, "soft"))
    y += 24 + 20 * placed[-1][2] if placed else 0
    for note in notes:
        for line in wrap(note, int(width / CHARACTER)):
            body.append(text(MARGIN, y + 11, line, "soft"))
            y += LINE
    return page(width + 2 * MARGIN, y + MARGIN - 6, title, body, ARROW + definitions, STYLE + style)


def _in_rows(keys: Sequence[Key], width: float) -> list[tuple[Key, float, int]]:
    """Each key with its x and its row: as many in a row as there is room for."""
    placed: list[tuple[Key, float, int]] = []
    x, row = 0.0, 0
    for key in keys:
        needs = 34 + text_width(key.meaning) + 22
        if x and x + needs > width:
            x, row = 0.0, row + 1
        placed.append((key, x, row))
        x += needs
    return placed


def leaf_keys(letters: Set[str]) -> list[Key]:
    """The two kinds of leaf that get a gradient, as far as they are on the picture."""
    keys = [card_key("parameter: gets a gradient", "box sP frame", "P")] if "P" in letters else []
    return keys + ([card_key("tracked input: gets a gradient", "box sI frame", "I")] if "I" in letters else [])
