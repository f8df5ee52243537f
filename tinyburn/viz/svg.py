"""Writing SVG: a page with the shared style, and the few shapes that pictures are made of.

Text is set in a monospaced font at a fixed width for each character, so that a picture has the same layout whatever
fonts a machine has. Numbers are rounded, so that it has the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .palette import DARK, LIGHT, MARKS

CHARACTER = 6.7
"""Width of one character of the standard text, in pixels."""
LINE = 16
"""Height of one line of the standard text, in pixels."""


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")
    )


def text_width(text: str) -> float:
    """In pixels, whatever fonts there are."""
    return len(text) * CHARACTER


def text(x: float, y: float, content: str, style: str = "ink", anchor: str = "start") -> str:
    """One line of text, its baseline at y. ``style`` is a list of CSS classes."""
    at = f'x="{number(x)}" y="{number(y)}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    return f'<text {at} class="{style}">{escape(_printable(content))}</text>'


def _printable(content: str) -> str:
    """XML has no form at all for control characters, and a name in a model can hold one."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in content)


def rect(x: float, y: float, width: float, height: float, style: str, radius: float = 0, extra: str = "") -> str:
    """A rectangle by its top left corner; ``extra`` is more attributes."""
    corner = f' rx="{number(radius)}"' if radius else ""
    size = f'width="{number(width)}" height="{number(height)}"'
    more = f" {extra}" if extra else ""
    return f'<rect x="{number(x)}" y="{number(y)}" {size}{corner} class="{style}"{more}/>'


def path(commands: str, style: str, extra: str = "") -> str:
    """A line or an area by SVG's path commands."""
    return f'<path d="{commands}" class="{style}"{" " + extra if extra else ""}/>'


def page(width: float, height: float, title: str, body: Iterable[str], definitions: str = "", style: str = "") -> str:
    """The whole SVG. ``title`` is what a screen reader says; colours follow the reader's light or dark theme."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(_printable(title))}</title>",
        f"<style>{_STYLE}{style}</style>",
        f"<defs>{_HATCHES}{definitions}</defs>",
        rect(0, 0, width, height, "paper"),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _theme(colours: dict[str, str]) -> str:
    """CSS for one theme: ``.ink`` and the like for text and areas, ``.line`` for strokes."""
    rules = [f".{name}{{fill:{colour}}}" for name, colour in colours.items() if name != "line"]
    rules.append(f".line{{stroke:{colours['line']};fill:none}}.head{{fill:{colours['line']}}}")
    rules.append(f".box{{fill:{colours['fill']};stroke:{colours['line']}}}")
    rules.append(f".ghost{{fill:{colours['paper']};stroke:{colours['line']};stroke-dasharray:4 3}}")
    rules.append(f".rule{{stroke:{colours['ink']}}}.gap{{stroke:{colours['paper']}}}")
    return "".join(rules)


_STYLE = (
    "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px}"
    ".title{font-size:13px;font-weight:bold}.bold{font-weight:bold}"
    + _theme(LIGHT)
    + f"@media (prefers-color-scheme:dark){{{_theme(DARK)}}}"
    + "".join(
        f".c{mark.letter}{{fill:{mark.colour}}}.s{mark.letter}{{stroke:{mark.colour}}}" for mark in MARKS.values()
    )
)

_HATCHES = "".join(
    f'<pattern id="h{mark.letter}" width="6" height="6" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate({mark.hatch})"><rect width="6" height="6" class="c{mark.letter}"/>'
    f'<path d="M0 0V6" class="gap" stroke-width="1.6" stroke-opacity=".75"/></pattern>'
    for mark in MARKS.values()
    if mark.hatch is not None
)


def fill_of(letter: str) -> str:
    """The ``fill`` attribute of a category: its hatch, or its plain colour."""
    plain = {mark.letter for mark in MARKS.values() if mark.hatch is None}
    colours = {mark.letter: mark.colour for mark in MARKS.values()}
    return colours[letter] if letter in plain else f"url(#h{letter})"
