"""The parts that the pictures share: a card for each box, arrows, a legend, and the sheet around them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from .layout import Point, Size
from .svg import CHARACTER, LINE, MARKS, Tip, block, page, path, rect, text, text_width, xy

MARGIN = 16.0
_PADDING = 8.0
BAND = 24.0  # the coloured band of a card and its letter
_STACK = 4.0  # how far the cards behind the first one of a stack look out
LONGEST = 44
"""Characters in one line of a card."""
_NARROWEST = 600.0  # a sheet, so that its title has room
_TITLE_CHARACTER = 8.0

_LABEL = 9  # characters before a number: ``gradient`` and a space

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
        letter: its category's, shown as a coloured band and as a letter; empty for none.
        style: CSS classes of the frame.
        stacked: drawn as a pile, for a box that stands for several.
        numbers: what stands below ``under``: a label and its number in each line.
    """

    head: str
    rest: str = ""
    under: tuple[str, ...] = ()
    letter: str = ""
    style: str = "box"
    stacked: bool = False
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> Size:
        """What the text needs, with the band and the pile."""
        widest = max(len(line) for line in (f"{self.head} {self.rest}", *self.under))
        widest = max(widest, *(_LABEL + len(number) for _, number in self.numbers), 0)
        lines = 1 + len(self.under) + len(self.numbers)
        band = BAND if self.letter else 0
        return widest * CHARACTER + 2 * _PADDING + band + self._pile, lines * LINE + 12 + self._pile

    @property
    def _pile(self) -> float:
        return 2 * _STACK if self.stacked else 0

    def draw(self, x: float, y: float, width: float | None = None) -> list[str]:
        """The card with its top left corner at (x, y); wider than it needs if asked."""
        pile = self._pile
        wide, high = (width or self.size[0]) - pile, self.size[1] - pile
        parts = [rect(x + back, y + back, wide, high, "box", 3) for back in ((pile, pile / 2) if pile else ())]
        parts.append(rect(x, y, wide, high, self.style, 3))
        left = x + _PADDING
        if self.letter:
            parts += band(x, y, high, self.letter)
            left += BAND
        parts.append(text(left, y + 18, self.head, "ink bold"))
        if self.rest:
            parts.append(text(left + text_width(self.head + " "), y + 18, self.rest))
        parts += [text(left, y + 18 + LINE * (n + 1), line, "soft") for n, line in enumerate(self.under)]
        for n, (label, number) in enumerate(self.numbers, start=1 + len(self.under)):
            parts.append(text(left, y + 18 + LINE * n, label, "soft"))
            parts.append(text(left + _LABEL * CHARACTER, y + 18 + LINE * n, number, "ink bold"))
        return parts


def band(x: float, y: float, high: float, letter: str) -> list[str]:
    """The coloured band of a category, and its letter, inside the left edge of a card."""
    return [
        rect(x + 1, y + 1, BAND + 2, high - 2, "paper", 2),  # what the colours stand out from
        block(x + 2, y + 2, 7, high - 4, letter, ""),
        text(x + 17, y + 18, letter, "ink bold", "middle"),
    ]


def fit(head: str, rest: str = "", longest: int = LONGEST) -> tuple[str, str]:
    """The first line of a card, cut to what a card can hold. The text form of a picture cuts nothing."""
    head = cut(head, longest)
    return head, cut(rest, max(longest - len(head) - 1, 8))


def cut(line: str, longest: int) -> str:
    """A line without what there is no room for."""
    return line if len(line) <= longest else line[: longest - 1] + "…"


def cut_left(line: str, longest: int) -> str:
    """A path without its beginning, where there is no room for all of it: its end tells it from others."""
    return line if len(line) <= longest else "…" + line[1 - longest :]


def curve(points: Sequence[Point]) -> str:
    """The commands of an SVG path along the points of a `Layout` route."""
    start, *others = [xy(*point) for point in points]
    return f"M{start}C{' '.join(others)}"


def arrow(commands: str, is_dashed: bool = False) -> str:
    """A thin line with a head at its end."""
    return path(commands, "line arrow off" if is_dashed else "line arrow", 'marker-end="url(#arrow)"')


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a piece of drawing, 26 pixels wide and 14 high, and what it means."""

    swatch: str
    meaning: str


def card_key(meaning: str, style: str, letter: str = "") -> Key:
    """A small box as the pictures have it."""
    swatch = rect(0, 0, 26, 14, style, 2)
    if letter:
        swatch += rect(1, 1, 24, 12, "paper") + block(2, 2, 6, 10, letter, "")
        swatch += text(17, 11, letter, "ink bold", "middle")
    return Key(swatch, meaning)


def line_key(meaning: str, style: str, extra: str = "") -> Key:
    """A short line as the pictures have it."""
    return Key(path("M0 7H26", style, extra), meaning)


def category_keys(letters: Container[str]) -> list[Key]:
    """The categories that are on the picture."""
    return [card_key(mark.name, "box", mark.letter) for mark in MARKS.values() if mark.letter in letters]


def leaf_keys(letters: Container[str]) -> list[Key]:
    """The two kinds of leaf that get a gradient, as far as they are on the picture."""
    kinds = {"P": "parameter", "I": "tracked input"}
    return [card_key(f"{kinds[it]}: gets a gradient", f"box s{it} frame", it) for it in kinds if it in letters]


def sheet(
    title: str,
    size: Size,
    drawing: Iterable[str],
    keys: Sequence[Key] = (),
    notes: Sequence[str] = (),
    style: str = "",
    definitions: str = "",
    tips: Iterable[Tip] = (),
) -> str:
    """A whole picture: the title, the drawing in the middle, the legend and what else there is to say.

    ``tips`` are placed as the drawing is.
    """
    width = max(size[0], _NARROWEST)
    titles = wrap(title, int(width / _TITLE_CHARACTER)) or [""]
    top = MARGIN + 20 * len(titles) + 8
    left = MARGIN + (width - size[0]) / 2
    body = [text(MARGIN, MARGIN + 10 + 20 * line, content, "ink title") for line, content in enumerate(titles)]
    body += [f'<g transform="translate({xy(left, top)})">', *drawing, "</g>"]
    x, y = 0.0, top + size[1] + 20
    for key in keys:
        needs = 34 + text_width(key.meaning) + 22
        if x and x + needs > width:
            x, y = 0.0, y + 20
        body.append(f'<g transform="translate({xy(MARGIN + x, y)})">{key.swatch}</g>')
        body.append(text(MARGIN + x + 34, y + 11, key.meaning, "soft"))
        x += needs
    y += 24 if keys else 0
    for line in [line for note in notes for line in wrap(note, int(width / CHARACTER))]:
        body.append(text(MARGIN, y + 11, line, "soft"))
        y += LINE
    moved = [tip.moved(left, top) for tip in tips]
    return page(width + 2 * MARGIN, y + MARGIN - 6, title, body, ARROW + definitions, STYLE + style, moved)
