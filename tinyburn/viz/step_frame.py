"""One step as a picture of its own: the words, the numbers and the memory on the left, the graph on the right.

All frames have one size, so that nothing jumps when a reader goes on. What is the same in all of them is drawn once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from textwrap import wrap

from . import cards, cells, stage
from .cards import ARROW, MARGIN, Key, card_key, category_keys, line_key
from .film import Film
from .picture import Picture
from .stage import Stage
from .step_numbers import Numbers
from .step_panel import (
    LIST_HEIGHT,
    PANEL,
    STRIP_HEIGHT,
    Line,
    Strip,
    build_strip,
    by_category,
    draw_lines,
    draw_list,
    draw_numbers,
    head,
    letters,
    lines,
    numbers_height,
    numbers_line,
)
from .svg import LINE, page, text, text_width, xy

STYLE = cards.STYLE + cells.STYLE + stage.STYLE
_GAP = 28.0


def keys_of(film: Film) -> list[Key]:
    """What the marks on the graph mean."""
    return [
        card_key("this step", "box rule thick"),
        line_key("its operands, or where a gradient goes", "rule go", 'marker-end="url(#go)"'),
        *category_keys(letters(film)),
    ]


BANDS = "A letter on the left of a box: its value is alive. On its right: its gradient, or a part of it, is alive."


class Frames(Sequence[Picture]):
    """The steps as pictures, drawn when they are asked for."""

    def __init__(self, film: Film, numbers: Sequence[Numbers], stage: Stage) -> None:
        self._film, self._numbers, self._stage = film, numbers, stage

    def __repr__(self) -> str:
        return f"Frames({len(self)})"

    def __len__(self) -> int:
        return len(self._film.steps)

    def __getitem__(self, at: int) -> Picture:  # type: ignore[override]  # one of them, and not a slice
        if not -len(self) <= at < len(self):
            raise IndexError(f"there are {len(self)} steps, counted from 0, and none has number {at}")
        return self._picture(at % len(self))

    def _picture(self, at: int) -> Picture:
        film = self._film
        words = [line.words for line in lines(film, at, 10_000)]
        title = f"{head(film, at)}: {words[0]}; {by_category(film, at)}"
        rest = [numbers_line(self._numbers[at]), *words[1:]]
        return Picture(title, "\n".join(filter(None, rest)), self._svg(at, title))

    def _svg(self, at: int, title: str) -> str:
        width, height = self._size
        body = [f'<g transform="translate({xy(MARGIN, MARGIN)})">', *self._panel(at), "</g>"]
        body += [self._quiet, *self._stage.marks(self._film, at), "</g>"]
        return page(width, height, title, body, ARROW + stage.GO, STYLE)

    # What is the same in all frames

    @cached_property
    def _quiet(self) -> str:
        """The graph, in a group that the marks go into too."""
        x = MARGIN + PANEL + _GAP
        return "\n".join([*self._legend, f'<g transform="translate({xy(x, MARGIN)})">', *self._stage.quiet])

    @cached_property
    def _strip(self) -> Strip:
        return build_strip(self._film)

    @cached_property
    def _words_height(self) -> float:
        """What the longest words need."""
        return LINE * max(len(lines(self._film, at, PANEL)) for at in range(len(self))) + 8

    @cached_property
    def _numbers_height(self) -> float:
        return max(numbers_height(each, PANEL) for each in self._numbers) + 14

    @cached_property
    def _panel_height(self) -> float:
        return 24 + self._words_height + self._numbers_height + LIST_HEIGHT + STRIP_HEIGHT

    @cached_property
    def _body_height(self) -> float:
        return max(self._panel_height, self._stage.size[1])

    @cached_property
    def _width(self) -> float:
        return MARGIN + PANEL + _GAP + max(self._stage.size[0], 200) + MARGIN

    @cached_property
    def _legend(self) -> list[str]:
        """Under all of it."""
        parts, y = [], MARGIN + self._body_height + 16
        x = MARGIN
        for key in keys_of(self._film):
            needs = 34 + text_width(key.meaning) + 22
            if x > MARGIN and x + needs > self._width:
                x, y = MARGIN, y + 20
            parts.append(f'<g transform="translate({xy(x, y)})">{key.swatch}</g>')
            parts.append(text(x + 34, y + 11, key.meaning, "soft"))
            x += needs
        notes = wrap(BANDS, int((self._width - 2 * MARGIN) / 7.3))
        parts += draw_lines([Line(note, "soft") for note in notes], MARGIN, y + 24)
        self._legend_end = y + 24 + LINE * len(notes)
        return parts

    @cached_property
    def _size(self) -> tuple[float, float]:
        _ = self._legend
        return self._width, self._legend_end + MARGIN

    def _panel(self, at: int) -> list[str]:
        film = self._film
        parts = [text(0, 12, head(film, at), "ink title")]
        y = 24.0
        parts += draw_lines(lines(film, at, PANEL), 0, y)
        y += self._words_height
        parts += [f'<g transform="translate({xy(0, y)})">', *draw_numbers(self._numbers[at], PANEL), "</g>"]
        y += self._numbers_height
        parts += draw_list(film, at, y)
        y += LIST_HEIGHT
        strip = self._strip
        return [*parts, f'<g transform="translate({xy(0, y)})">', *strip.quiet, *strip.cursor(at, len(self)), "</g>"]
