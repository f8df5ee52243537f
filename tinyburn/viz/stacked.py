"""Several pictures as one: what stands still where a reader cannot move from one to the other."""

from __future__ import annotations

from collections.abc import Mapping

from .cards import MARGIN
from .picture import Picture
from .svg import Tip, page, parts_of, text, without_tips, xy

_CAPTION = 26.0
_BETWEEN = 10.0
_TITLE_CHARACTER = 7.9


def stacked(title: str, pictures: Mapping[str, Picture]) -> Picture:
    """Pictures of one kind below each other, each under its name, and ``title`` over all of them.

    They are of one kind, since an SVG has one style sheet: what a class means in one of them it means in all.
    """
    body = [text(MARGIN, MARGIN + 10, title, "ink title")]
    tips: list[Tip] = []
    width, y = _title_width(title), MARGIN + 28
    parts = [parts_of(picture.svg) for picture in pictures.values()]
    for (name, picture), part in zip(pictures.items(), parts, strict=True):
        body.append(text(MARGIN, y + 16, name, "ink title"))
        y += _CAPTION
        body += [f'<g transform="translate({xy(0, y)})">', *part.body, "</g>"]
        tips += [tip.moved(0, y) for tip in without_tips(picture.svg)[1]]
        width, y = max(width, part.size[0], _title_width(name)), y + part.size[1] + _BETWEEN
    words = "\n\n".join(f"{name}: {picture!r}" for name, picture in pictures.items())
    svg = page(width, y, title, body, parts[0].definitions, parts[0].style, tips)
    return Picture(title, words, svg)


def _title_width(words: str) -> float:
    return 2 * MARGIN + _TITLE_CHARACTER * len(words)
