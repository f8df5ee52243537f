"""What stands beside the graph in a step: what happens and why, with its numbers, and the memory that is alive."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from tinyburn.backend import Category
from tinyburn.base.text import amount

from .axes import Axes
from .cards import cut
from .cells import HEIGHT, WIDTH, draw, draw_small, largest
from .film import Film
from .formula import count
from .memory_strip import ORDER, Column, area_of, merged, present_in, run_length
from .step_numbers import Numbers, Shown
from .step_words import action, phase_of, reason
from .svg import CHARACTER, LINE, MARKS, block, number, path, rect, text, text_width, xy

PANEL = 370.0
"""Its width in pixels."""
_NUMBERED = 4  # rows and columns of a matrix that is shown with its numbers
_SIDE = 8.0  # of a cell without one
_GAP = 18.0
_ROWS = 8  # of the list of buffers
_UNKNOWN = "not known"
_STRIP = 56.0  # the height of the strip


class Line(NamedTuple):
    """A line of text, and its style."""

    words: str
    style: str = "ink"


def head(film: Film, at: int) -> str:
    """``Step 7 of 12 · backward``."""
    return f"Step {at + 1} of {len(film.steps)} · {phase_of(film, film.steps[at])}"


def lines(film: Film, at: int, width: float) -> list[Line]:
    """What happens, and why."""
    across = int(width / CHARACTER)
    happens = [Line(line, "ink bold") for line in wrap(action(film, at), across)]
    return [*happens, *[Line(line, "soft") for line in wrap(reason(film, at), across)]]


def draw_lines(found: Sequence[Line], x: float, y: float) -> list[str]:
    """One under another, from y on."""
    return [text(x, y + 12 + LINE * row, line.words, line.style) for row, line in enumerate(found)]


# The numbers


def numbers_line(found: Numbers) -> str:
    """``g = 1, t2 = 7 → 14``; empty where nothing is known."""
    read = ", ".join(f"{each.label}{each.sign} {each.words}" for each in found.read if each.words)
    result = found.result.words if found.result else ""
    return f"{read} → {result}" if read and result else read or result


def draw_numbers(found: Numbers, width: float) -> list[str]:
    """The tensors of a step side by side, at the origin."""
    places, _ = _places(found, width)
    scale = largest(*[each.cells for each in _all(found) if each.cells is not None])
    blocks = zip(_all(found), places, strict=True)
    return [part for each, place in blocks for part in _block(each, *place, scale, each is found.result)]


def numbers_height(found: Numbers, width: float) -> float:
    """What they need."""
    return _places(found, width)[1]


def _all(found: Numbers) -> list[Shown]:
    return [*found.read, *([found.result] if found.result else [])]


def _places(found: Numbers, width: float) -> tuple[list[tuple[float, float]], float]:
    """Where the block of each tensor begins, row by row, and the height of all."""
    places: list[tuple[float, float]] = []
    x = y = row = 0.0
    for each in _all(found):
        wide, high = _block_size(each, each is found.result)
        if x and x + wide > width:
            x, y, row = 0.0, y + row + 10, 0.0
        places.append((x, y))
        x, row = x + wide + _GAP, max(row, high)
    return places, y + row


def _heads(shown: Shown, is_result: bool) -> tuple[str, str]:
    arrow = "→ " if is_result else ""
    return f"{arrow}{cut(shown.label, 26)}", f"{shown.shape}"


def _block_size(shown: Shown, is_result: bool) -> tuple[float, float]:
    widest = max(map(text_width, (*_heads(shown, is_result), shown.words or _UNKNOWN)))
    wide, high = _cells_size(shown)
    return max(widest, wide), 3 * LINE + high


def _cells_size(shown: Shown) -> tuple[float, float]:
    if shown.cells is None:
        return 0.0, 0.0
    rows, columns = shown.cells.shape
    cell = (WIDTH, HEIGHT) if _is_numbered(shown) else (_SIDE, _SIDE)
    return columns * cell[0], rows * cell[1]


def _is_numbered(shown: Shown) -> bool:
    return shown.cells is not None and max(shown.cells.shape) <= _NUMBERED


def _block(shown: Shown, x: float, y: float, scale: float, is_result: bool) -> list[str]:
    label, shape = _heads(shown, is_result)
    parts = [text(x, y + 12, label, "ink bold"), text(x, y + 12 + LINE, shape, "soft")]
    parts.append(text(x, y + 12 + 2 * LINE, shown.words or _UNKNOWN, "ink" if shown.words else "soft"))
    if shown.cells is None:
        return parts
    top = y + 3 * LINE
    if _is_numbered(shown):
        return parts + draw(shown.cells, x, top, scale)
    return parts + draw_small(shown.cells, x, top, scale, _SIDE)


# The memory


def bar(film: Film, at: int, x: float, y: float, width: float) -> list[str]:
    """The bytes alive, by category; the peak has the whole width."""
    totals, peak = film.totals[at], max(film.total(film.peak), 1)
    parts = [rect(x, y, width, 16, "line cell")]
    left = x
    for category in ORDER:
        wide = width * totals[category] / peak
        if wide > 0:
            parts.append(block(left, y, wide, 16, MARKS[category].letter))
        if wide >= 18:
            parts.append(rect(left + wide / 2 - 6, y + 1, 12, 14, "paper", 2))
            parts.append(text(left + wide / 2, y + 12, MARKS[category].letter, "ink bold", "middle"))
        left += wide
    return parts


def by_category(film: Film, at: int) -> str:
    """``28 B alive: 12 B I, 4 B A, 12 B T``."""
    return " ".join(_by_category(film, at))


def bytes_lines(film: Film, at: int, width: float) -> list[Line]:
    """The same in lines, with each amount in one piece."""
    lines = [""]
    for piece in _by_category(film, at):
        longer = f"{lines[-1]} {piece}".strip()
        lines = [*lines[:-1], longer] if text_width(longer) <= width else [*lines, piece]
    return [Line(line, "soft") for line in lines]


def _by_category(film: Film, at: int) -> list[str]:
    totals = film.totals[at]
    parts = [f"{amount(totals[each])} {MARKS[each].letter}" for each in ORDER if totals[each]]
    if len(parts) < 2:
        return [f"{amount(sum(totals))} alive"]
    return [f"{amount(sum(totals))} alive:", *[f"{part}," for part in parts[:-1]], parts[-1]]


def draw_list(film: Film, at: int, y: float) -> list[str]:
    """The buffers that are alive, the longest-lived first, with the sum under them."""
    found = sorted(film.alive(at), key=lambda each: ORDER.index(each.category))
    parts = [text(0, y + 12, f"{count(len(found), 'buffer')} alive", "ink bold")]
    shown = found if len(found) <= _ROWS else found[: _ROWS - 1]
    for row, each in enumerate(shown, start=1):
        parts += _row(y + row * LINE, MARKS[each.category].letter, each.label, each.size)
    if rest := found[len(shown) :]:
        parts += _row(y + _ROWS * LINE, "", f"and {len(rest)} more", sum(each.size for each in rest))
    y += LINE * (_ROWS + 1)
    parts.append(path(f"M{xy(0, y + 2)}H{number(PANEL)}", "line"))
    return parts + _row(y + 3, "", "in all", film.total(at))


def _row(y: float, letter: str, label: str, size: int) -> list[str]:
    parts = [block(0, y + 2, 12, 12, letter), text(24, y + 12, letter, "ink bold", "middle")] if letter else []
    parts.append(text(36, y + 12, cut(label, int((PANEL - 140) / CHARACTER))))
    return [*parts, text(PANEL, y + 12, amount(size), "ink", "end")]


LIST_HEIGHT = LINE * (_ROWS + 2) + 8
STRIP_HEIGHT = _STRIP + 24


class Strip(NamedTuple):
    """The bytes alive over all steps: drawn once, with a line that moves."""

    axes: Axes
    quiet: tuple[str, ...]

    def cursor(self, at: int, count: int) -> list[str]:
        """The line at a step, and its head."""
        x = self.axes.left + self.axes.width * (at + 0.5) / count
        head = f"M{xy(x - 5, self.axes.roof - 8)}H{number(x + 5)}L{xy(x, self.axes.roof - 1)}z"
        return [path(f"M{xy(x, self.axes.roof - 4)}V{number(self.axes.base)}", "rule", 'stroke-width="2"'),
                path(head, "ink")]  # fmt: skip


def build_strip(film: Film) -> Strip:
    """At the origin, as wide as the panel."""
    step = film.history.steps[film.moments[0]]
    columns = [Column(at, at, step, film.totals[at]) for at in range(len(film.steps))]
    columns = merged(columns, run_length(columns))
    axes = Axes(len(columns), max(film.total(film.peak), 1), 0, _STRIP, PANEL, _STRIP - 10)
    parts = [area_of(category, columns, axes) for category in present_in(columns)]
    parts.append(path(f"M{xy(0, axes.base)}H{number(PANEL)}", "rule"))
    seed = next((at for at, each in enumerate(film.steps) if each.kind == "seed"), len(film.steps))
    x = PANEL * seed / len(film.steps)
    parts.append(text(0, axes.base + 15, "forward", "soft"))
    if seed < len(film.steps):
        parts.append(path(f"M{xy(x, axes.roof)}V{number(axes.base + 18)}", "line"))
        parts.append(text(max(x + 4, text_width("forward ")), axes.base + 15, "backward", "soft"))
    return Strip(axes, tuple(parts))


def letters(film: Film) -> set[str]:
    """Of the categories that any step has."""
    return {MARKS[each].letter for each in Category if any(totals[each] for totals in film.totals)}
