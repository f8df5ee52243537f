"""Writing SVG: a page, the few shapes that pictures are made of, and one colour language for all of them.

Text is set in a monospaced font at a fixed width for each character, so that a picture has the same layout whatever
fonts a machine has. Numbers are rounded, so that it has the same bytes.

A category is never told by its colour alone: it has a hatch and a letter too. The colours are told apart in every kind
of colour vision, and stand at 3:1 or more on white and on #111.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from itertools import chain

from tinyburn.backend import Category

SMALLEST = 12
"""The size of the standard text in pixels. No text is smaller, and a notebook never makes a picture smaller."""
CHARACTER = 7.3
"""Width of one of its characters."""
LINE = 17
"""Height of one of its lines."""

# Colours


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
    Category.COMMUNICATION: Mark("C", "communication", "#dd7700", 100),
}

LIGHT = {"paper": "#ffffff", "ink": "#1a1a1a", "soft": "#5c5c5c", "line": "#8a8a8a", "fill": "#f4f4f4"}
DARK = {"paper": "#111111", "ink": "#ececec", "soft": "#ababab", "line": "#858585", "fill": "#242424"}
"""The colours that change with the reader's theme, by their CSS class."""

_FILLS = {mark.letter: mark.colour if mark.hatch is None else f"url(#h{mark.letter})" for mark in MARKS.values()}


def fill_of(letter: str) -> str:
    """The ``fill`` attribute of a category: its hatch, or its plain colour."""
    return _FILLS[letter]


# Shapes


def number(value: float) -> str:
    """A coordinate with at most one decimal, and no minus before a zero."""
    return f"{value:z.1f}".removesuffix(".0")


def xy(x: float, y: float) -> str:
    """A point, as paths and transforms take it."""
    return f"{number(x)} {number(y)}"


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """The commands of an SVG path straight from point to point."""
    return "M" + "L".join([xy(*point) for point in points])


def text_width(text: str) -> float:
    """In pixels, whatever fonts there are."""
    return len(text) * CHARACTER


def text(x: float, y: float, content: str, style: str = "ink", anchor: str = "start") -> str:
    """One line of text, its baseline at y. ``style`` is a list of CSS classes."""
    aligned = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{number(x)}" y="{number(y)}"{aligned} class="{style}">{_escaped(content)}</text>'


def _escaped(content: str) -> str:
    """XML has no form at all for control characters, and a name in a model can hold one."""
    return escape("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in content))


def rect(x: float, y: float, width: float, height: float, style: str, radius: float = 0, extra: str = "") -> str:
    """A rectangle by its top left corner; ``extra`` is more attributes."""
    corner = f' rx="{number(radius)}"' if radius else ""
    size = f'width="{number(width)}" height="{number(height)}"'
    return f'<rect x="{number(x)}" y="{number(y)}" {size}{corner} class="{style}"{_more(extra)}/>'


def block(x: float, y: float, width: float, height: float, letter: str, style: str = "gap") -> str:
    """A rectangle in the colour of a category."""
    return rect(x, y, width, height, style, 0, f'fill="{fill_of(letter)}"')


def circle(x: float, y: float, radius: float, style: str, extra: str = "") -> str:
    """A circle by its centre."""
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="{style}"{_more(extra)}/>'


def path(commands: str, style: str, extra: str = "") -> str:
    """A line or an area by SVG's path commands."""
    return f'<path d="{commands}" class="{style}"{_more(extra)}/>'


@dataclass(frozen=True)
class Tip:
    """A text that shows when the mouse rests on a rectangle, given by its top left corner."""

    x: float
    y: float
    width: float
    height: float
    text: str

    def moved(self, x: float, y: float) -> Tip:
        """So many pixels to the right and down."""
        return replace(self, x=self.x + x, y=self.y + y)


def tip_texts(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows of a picture's table as tips: each cell that is not empty, after the name of its column."""
    pairs = [zip(header, row, strict=True) for row in rows]
    return ["\n".join(f"{name}: {cell}" if name else cell for name, cell in row if cell) for row in pairs]


def _tip(tip: Tip) -> str:
    place = f'x="{number(tip.x)}" y="{number(tip.y)}" width="{number(tip.width)}" height="{number(tip.height)}"'
    lines = "&#10;".join(map(_escaped, tip.text.split("\n")))
    return f'<rect {place} class="tip"><title>{lines}</title></rect>'


_TIP = re.compile(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" class="tip"><title>(.*?)</title></rect>\n')


def without_tips(svg: str) -> tuple[str, list[Tip]]:
    """A page without its tips, and these: an image in a notebook does not show them by itself."""
    tips = [
        Tip(float(x), float(y), float(width), float(height), unescape(words))
        for x, y, width, height, words in _TIP.findall(svg)
    ]
    return _TIP.sub("", svg), tips


def _more(extra: str) -> str:
    return f" {extra}" if extra else ""


def page(
    width: float,
    height: float,
    title: str,
    body: Iterable[str],
    definitions: str = "",
    style: str = "",
    tips: Iterable[Tip] = (),
) -> str:
    """The whole SVG. ``title`` is what a screen reader says; colours follow the reader's light or dark theme."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {xy(width, height)}"'
    body = list(body)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{_escaped(title)}</title>",
        f"<style>{_STYLE}{style}</style>",
        f"<defs>{definitions}</defs>",
        _categories(chain([style, definitions], body)),
        rect(0, 0, width, height, "paper"),
        *body,
        *map(_tip, tips),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Parts:
    """What a page is made of, beside what all pages have.

    Attributes:
        size: width and height.
        body, definitions, style: as `page` takes them; the body has no tips.
    """

    size: tuple[float, float]
    body: list[str]
    definitions: str
    style: str


def parts_of(svg: str) -> Parts:
    """The parts of a page that `page` has made, to be placed in another one."""
    opening, _, style, definitions, _, _, *body, _ = without_tips(svg)[0].splitlines()
    width, height = (float(size) for size in re.findall(r'(?:width|height)="(\S+?)"', opening))
    own_style = style.removeprefix(f"<style>{_STYLE}").removesuffix("</style>")
    own_definitions = definitions.removeprefix("<defs>").removesuffix("</defs>")
    return Parts((width, height), body, own_definitions, own_style)


_DARK_RULES = "@media (prefers-color-scheme:dark){"
_DARK_BLOCK = re.compile(re.escape(_DARK_RULES) + r"((?:[^{}]*\{[^{}]*\})*)\}")


def in_theme(svg: str, is_dark: bool) -> str:
    """A page that is light or dark, whatever the reader's theme is: for what does not follow one, as a bitmap."""
    return _DARK_BLOCK.sub(r"\1" if is_dark else "", svg)


def _theme(colours: dict[str, str]) -> str:
    """CSS for one theme: ``.ink`` and the like for text and areas, ``.line`` for strokes."""
    rules = [f".{name}{{fill:{colour}}}" for name, colour in colours.items() if name != "line"]
    rules.append(f".line{{stroke:{colours['line']};fill:none}}.head{{fill:{colours['line']}}}")
    rules.append(f".box{{fill:{colours['fill']};stroke:{colours['line']}}}")
    rules.append(f".ghost{{fill:{colours['paper']};stroke:{colours['line']};stroke-dasharray:4 3}}")
    rules.append(".tip{fill:none;pointer-events:all}")
    rules.append(f".rule{{stroke:{colours['ink']}}}.gap{{stroke:{colours['paper']}}}")
    return "".join(rules)


_STYLE = (
    "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    f"font-size:{SMALLEST}px}}"
    ".title{font-size:13px;font-weight:bold}.bold{font-weight:bold}"
    f"{_theme(LIGHT)}{_DARK_RULES}{_theme(DARK)}}}"
)


_CATEGORY = re.compile(r'class="[^"]*\b[cs]([A-Z])\b|url\(#h([A-Z])\)')
"""A use of a category's colour or hatch."""


def _categories(parts: Iterable[str]) -> str:
    """The styles and hatches of the categories that a page draws, in one line."""
    used = {letter for part in parts for match in _CATEGORY.findall(part) for letter in match}
    marks = [mark for mark in MARKS.values() if mark.letter in used]
    return f"<style>{''.join(map(_styles, marks))}</style><defs>{''.join(map(_hatch, marks))}</defs>"


def _styles(mark: Mark) -> str:
    return f".c{mark.letter}{{fill:{mark.colour}}}.s{mark.letter}{{stroke:{mark.colour}}}"


def _hatch(mark: Mark) -> str:
    """What areas of a category are filled with; empty if it is plain."""
    if mark.hatch is None:
        return ""
    return (
        f'<pattern id="h{mark.letter}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({mark.hatch})"><rect width="6" height="6" class="c{mark.letter}"/>'
        f'<path d="M0 0V6" class="gap" stroke-width="1.6" stroke-opacity=".75"/></pattern>'
    )
