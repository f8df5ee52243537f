"""A tensor as small pictures of its matrices: what a filter looks for, what a layer has found, where attention looks.

The last two dims are the rows and columns of a picture, and each entry of the dims before them is a picture of its
own. All of them share one scale, with zero in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError
from tinyburn.base.text import table
from tinyburn.tensor import Tensor

from .cards import Key, sheet
from .cells import HEIGHT, STYLE, WIDTH, Matrix, digits, draw, draw_small, largest
from .picture import Picture
from .svg import rect, text, text_width
from .values import values_of

MOST_PICTURES = 32
"""The others are left out, and the picture says so."""
MOST_CELLS = 4096
MOST_NUMBERS = 12
"""Rows and columns of a single picture that has its numbers in it, and those of its rows and columns around it."""
_WIDTH = 620.0
_CELL = 12.0
_LABEL, _GAP = 16.0, 20.0


def heatmap(tensor: Tensor[Any, Any, Any], labels: Iterable[object] = ()) -> Picture:
    """The numbers of a tensor as colours.

    Args:
        tensor: of any rank and kind, with values. Rank 1 is a single row.
        labels: a short text for each picture, in row-major order of the dims before the last two; else its index.

    Raises:
        BackendMismatch: it has no values.
        ConfigError: ``tensor`` is no tensor, its pictures are too large, or there are fewer labels than pictures.
    """
    matrices = _matrices(tensor)
    names = _names(tensor.shape[:-2], list(labels), len(matrices))
    title = _title(tensor, matrices)
    return Picture(title, _text(matrices, names), _drawing(title, matrices[:MOST_PICTURES], names))


def _matrices(tensor: Any) -> Matrix:
    """Of shape (pictures, rows, columns), in float64."""
    values = values_of("heatmap", tensor)
    rows, columns = (1, *tensor.shape)[-2:]
    if rows * columns > MOST_CELLS:
        reason = f"a picture of {rows} x {columns} has more than {MOST_CELLS} cells"
        raise ConfigError("viz.heatmap", reason, hint="look at a part, as in tensor[:64, :64]")
    return values.astype(np.float64).reshape(math.prod(tensor.shape[:-2]), rows, columns)


def _names(outer: tuple[int, ...], labels: Sequence[object], count: int) -> list[str]:
    if labels and len(labels) < count:
        reason = f"there are {count} pictures and {len(labels)} labels"
        raise ConfigError("viz.heatmap", reason, hint="give one for each entry of the dims before the last two")
    if labels:
        return [str(label) for label in labels[:count]]
    return [", ".join(map(str, index)) for index in np.ndindex(*outer)] if outer else [""]


def _title(tensor: Tensor[Any, Any, Any], matrices: Matrix) -> str:
    known = matrices[np.isfinite(matrices)]
    lost = matrices.size - known.size
    if not matrices.size:
        return f"{tensor.shape} {tensor.dtype}: no elements"
    finding = f"{tensor.shape} {tensor.dtype}"
    finding += f": from {digits(float(known.min()))} to {digits(float(known.max()))}" if known.size else ""
    return f"{finding}, {lost} inf or NaN" if lost else finding


def _text(matrices: Matrix, names: Sequence[str]) -> str:
    """The numbers themselves where there are few; else what they amount to."""
    if _has_numbers(matrices):
        (rows,) = matrices.tolist()
        header = ["row", *[str(column) for column in range(matrices.shape[2])]]
        return table(header, [(str(at), *map(digits, row)) for at, row in enumerate(rows)])
    facts = []
    for name, matrix in list(zip(names, matrices, strict=True))[:MOST_PICTURES]:
        known = matrix[np.isfinite(matrix)]
        values = [known.min(), known.mean(), known.max()] if known.size else [math.nan] * 3
        facts.append((name, *[digits(float(value)) for value in values], str(matrix.size - known.size)))
    left_out = _left_out(len(matrices))
    said = table(("picture", "smallest", "mean", "largest", "inf or NaN"), facts)
    return "\n\n".join([said, *left_out])


def _has_numbers(matrices: Matrix) -> bool:
    return len(matrices) == 1 and max(matrices.shape[1:]) <= MOST_NUMBERS


def _left_out(count: int) -> list[str]:
    return [f"{count - MOST_PICTURES} more pictures are not shown."] if count > MOST_PICTURES else []


def _drawing(title: str, matrices: Matrix, names: Sequence[str]) -> str:
    scale = largest(matrices)
    rows, columns = matrices.shape[1:]
    if _has_numbers(matrices):
        return _numbered(title, matrices[0], scale)
    wide, high = columns * _CELL, rows * _CELL
    step = max(wide, text_width(max(names[: len(matrices)], key=len, default=""))) + _GAP
    across = max(1, int((_WIDTH + _GAP) // step))
    drawn: list[str] = []
    for at, (matrix, name) in enumerate(zip(matrices, names, strict=False)):
        x, y = (at % across) * step, (at // across) * (high + _LABEL + _GAP)
        drawn.append(text(x, y + 11, name, "soft"))
        drawn += draw_small(matrix, x, y + _LABEL, scale, _CELL)
    lines = math.ceil(len(matrices) / across)
    width = max(min(len(matrices), across), 1) * step
    return sheet(
        title, (width, lines * (high + _LABEL + _GAP)), drawn, _keys(matrices, scale), _left_out(len(names)), STYLE
    )


def _numbered(title: str, matrix: Matrix, scale: float) -> str:
    """A single picture with its numbers, and around it those of its rows and columns."""
    rows, columns = matrix.shape
    drawn = [text(_GAP + (at + 0.5) * WIDTH, 11, str(at), "soft", "middle") for at in range(columns)]
    drawn += [text(0, _LABEL + at * HEIGHT + 16, str(at), "soft") for at in range(rows)]
    drawn += draw(matrix, _GAP, _LABEL, scale, MOST_NUMBERS)
    size = (_GAP + columns * WIDTH, _LABEL + rows * HEIGHT)
    return sheet(title, size, drawn, _keys(matrix[None], scale), (), STYLE)


def _keys(matrices: Matrix, scale: float) -> list[Key]:
    signs = ((digits(scale), "plus", (matrices > 0).any()), (digits(-scale), "minus", (matrices < 0).any()))
    ends = [(words, style) for words, style, is_there in signs if is_there]
    keys = [Key(rect(0, 0, 26, 14, style, 0, 'fill-opacity="0.9"'), words) for words, style in ends]
    keys.append(Key(rect(0, 0, 26, 14, "line cell"), "0"))
    return keys if np.isfinite(matrices).all() else [*keys, Key(rect(1, 1, 24, 12, "ghost"), "inf or NaN")]
