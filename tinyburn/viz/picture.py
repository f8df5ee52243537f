"""What every picture is: a title that states the finding, a text form, and an SVG; the notebook shows the right one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from tinyburn.base.errors import ConfigError

from .screenshot import png_of
from .standalone import standalone
from .svg import Tip, in_theme, number, without_tips

_PLAIN = " !$()*+,-./:;=?@[]^_`{|}~'"
"""Characters that need no encoding inside a quoted data URL."""


_FRAME = '<div style="overflow-x:auto"><div style="position:relative;width:max-content">'


def _over(tip: Tip) -> str:
    """A tip where it belongs over the image: an empty element, which a reader's mouse finds and nothing else."""
    x, y, width, height = map(number, (tip.x, tip.y, tip.width, tip.height))
    place = f"position:absolute;left:{x}px;top:{y}px;width:{width}px;height:{height}px"
    words = escape(tip.text).replace("\n", "&#10;")
    return f'<span style="{place}" title="{words}"></span>'


@dataclass(frozen=True)
class Picture:
    """A pure function of a graph or an event log: the same input makes the same bytes, in any process.

    Attributes:
        title: the finding, in one line.
        text: the same content as an aligned table: what a screen reader, a diff and nbval read.
        svg: the drawing, which follows the reader's light or dark theme.
    """

    title: str
    text: str
    svg: str

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.text}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Text, and an image inside HTML: of all forms the one that a notebook shows before anybody trusts it."""
        return {"text/plain": repr(self), "text/html": self.html}

    @property
    def html(self) -> str:
        """One ``<img>`` in a frame of its own, and its tips over it.

        A notebook makes wide images narrower, and their text too small to read; in this frame they keep their size, and
        scroll. The lines of the SVG stay lines, so that a diff of a notebook can be read.
        """
        drawing, tips = without_tips(self.svg)
        encoded = "%0A\n".join(quote(line, safe=_PLAIN) for line in drawing.splitlines())
        image = f'<img alt="{escape(self.title)}" style="max-width:none" src="data:image/svg+xml,{encoded}">'
        return "\n".join([f"{_FRAME}{image}", *map(_over, tips), "</div></div>"])

    def save(self, path: str | os.PathLike[str], *, dark: bool = False) -> None:
        """Writes the picture in the form that the name of the file ends in.

        Args:
            path: ``.svg`` is the drawing alone, ``.html`` a page with the drawing, its tips and the text, and ``.txt``
                the text alone. ``.png`` is a bitmap, and needs the package resvg-py or a browser on this machine.
            dark: light on dark, for a ``.png``; the others follow their reader's theme by themselves.

        Raises:
            BackendUnavailable: nothing on this machine can draw a PNG.
            ConfigError: another ending; ``dark`` for what follows a theme.
        """
        target, asked = Path(path), f"save({os.fspath(path)!r})"
        ending = target.suffix.lower()
        reasons = []
        if ending not in _ENDINGS:
            reasons.append(f"a picture has no form for {ending or 'a file without an ending'}")
        if dark and ending != ".png":
            reasons.append("only a .png is light or dark for ever")
        if reasons:
            raise ConfigError(asked, reasons, hint=f"end the name in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}")
        target.write_bytes(self._as_bytes(ending, dark, asked))

    def _as_bytes(self, ending: str, dark: bool, asked: str) -> bytes:
        if ending == ".png":
            return png_of(in_theme(without_tips(self.svg)[0], dark), asked)
        if ending == ".html":
            return standalone(self.title, self.text, self.html).encode()
        return (self.svg if ending == ".svg" else f"{self!r}\n").encode()


_ENDINGS = (".svg", ".png", ".html", ".txt")
