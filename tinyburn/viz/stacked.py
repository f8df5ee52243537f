"""Several pictures as one: what stands still where a reader cannot move from one to the other."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .cards import MARGIN
from .picture import Picture
from .svg import Tip, page, text, text_width, without_tips

_CAPTION = 26.0
_BETWEEN = 10.0
_SIZE = re.compile(r'<svg xmlns="[^"]+" width="(\S+)" height="(\S+)"')
_TITLE_CHARACTER = 7.9


def stacked(title: str, pictures: Mapping[str, Picture]) -> Picture:
    """Pictures of one kind below each other, each under its name, and ``title`` over all of them.

    They are of one kind, since an SVG has one style sheet: what a class means in one of them it means in all.
    """
    body = [text(MARGIN, MARGIN + 10, title, "ink title")]
    tips: list[Tip] = []
    width, y = 2 * MARGIN + _TITLE_CHARACTER * len(title), MARGIN + 20
    for name, picture in pictures.items():
        drawing, found = without_tips(picture.svg)
        wide, high = (float(number) for number in _SIZE.findall(drawing)[0])
        body.append(text(MARGIN, y + 16, name, "ink title"))
        y += _CAPTION
        body.append(drawing.replace("<svg ", f'<svg y="{y:g}" ', 1).rstrip("\n"))
        tips += [tip.moved(0, y) for tip in found]
        width, y = max(width, wide, 2 * MARGIN + text_width(name)), y + high + _BETWEEN
    words = "\n\n".join(f"{name}: {picture!r}" for name, picture in pictures.items())
    return Picture(title, words, page(width, y, title, body, tips=tips))
