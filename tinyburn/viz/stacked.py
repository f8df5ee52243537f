"""Several pictures as one: what stands still where a reader cannot move from one to the other."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

from .cards import MARGIN
from .picture import Picture
from .svg import Tip, page, parts_of, text, without_tips, xy

_CAPTION = 26.0
_BETWEEN = 10.0
_LINE = 20.0
_CHARACTER = 8.0  # of a title


def stacked(title: str, pictures: Mapping[str, Picture]) -> Picture:
    """Pictures of one kind below each other, each under its name, and ``title`` over all of them.

    They are of one kind, since an SVG has one style sheet: what a class means in one of them it means in all.
    """
    parts = {name: parts_of(picture.svg) for name, picture in pictures.items()}
    width = max(max(part.size[0], 2 * MARGIN + _CHARACTER * len(name)) for name, part in parts.items())
    titles = wrap(title, int((width - 2 * MARGIN) / _CHARACTER))
    body = [text(MARGIN, MARGIN + 10 + _LINE * at, line, "ink title") for at, line in enumerate(titles)]
    tips: list[Tip] = []
    y = MARGIN + 8 + _LINE * len(titles)
    for (name, part), picture in zip(parts.items(), pictures.values(), strict=True):
        body.append(text(MARGIN, y + 16, name, "ink title"))
        y += _CAPTION
        body += [f'<g transform="translate({xy(0, y)})">', *part.body, "</g>"]
        tips += [tip.moved(0, y) for tip in without_tips(picture.svg)[1]]
        y += part.size[1] + _BETWEEN
    words = "\n\n".join(f"{name}: {picture!r}" for name, picture in pictures.items())
    first = next(iter(parts.values()))
    return Picture(title, words, page(width, y, title, body, first.definitions, first.style, tips))
