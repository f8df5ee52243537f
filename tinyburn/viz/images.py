"""Images as one sees them, in grey or in colour, with what they are and what a model took them for.

`heatmap` shows the signs of numbers, with zero in the middle; here the smallest number is black and the largest white.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.text import table, thousands
from tinyburn.tensor import Tensor

from .bitmap import image
from .cards import Key, sheet
from .formula import count as counted
from .picture import Picture
from .scale import three_digits
from .svg import Tip, rect, text, text_width, tip_texts
from .values import Values, values_of

MOST_IMAGES = 40
MOST_BYTES = 60_000
"""Of the pixels of all images that are drawn; a picture has at most 100 kB."""
_LARGEST = 24_000  # bytes of one image; of a larger one every second pixel is drawn, or every third
_SIDE = 80.0  # pixels of the longer side, about: each number is a square of a whole number of them
_WIDTH, _GAP, _LABEL = 640.0, 12.0, 18.0
_STYLE = ".thin{fill:none;stroke-width:.8}.wrong{fill:none;stroke-width:3}"


@dataclass(frozen=True)
class Images:
    """What is drawn.

    Attributes:
        values: of shape (images, channels, rows, columns), in float64.
        labels, answers: what each is, and what it was taken for; empty if nobody said.
    """

    values: Values
    labels: tuple[str, ...]
    answers: tuple[str, ...]

    @cached_property
    def wrong(self) -> list[int]:
        """The images whose answer is not their label."""
        pairs = zip(self.labels, self.answers, strict=False)
        return [at for at, (label, answer) in enumerate(pairs) if label != answer]

    @property
    def stride(self) -> int:
        """Of so many pixels in a row one is drawn."""
        return max(1, math.ceil(math.sqrt(math.prod(self.values.shape[1:]) / _LARGEST)))

    @property
    def drawn(self) -> Values:
        """As many of them, and as many of their pixels, as there is room for."""
        thinner = self.values[:, :, :: self.stride, :: self.stride]
        return thinner[: min(MOST_IMAGES, max(1, MOST_BYTES // math.prod(thinner.shape[1:])))]

    @property
    def shown(self) -> int:
        """How many there is room for."""
        return len(self.drawn)

    def caption(self, at: int) -> str:
        """What stands below an image."""
        label = self.labels[at] if self.labels else str(at)
        return f"{self.answers[at]}, not {label}" if at in self.wrong else label


def images(tensor: Tensor[Any, Any, Any], labels: Iterable[object] = (), answers: Iterable[object] = ()) -> Picture:
    """Images beside each other, on one scale from black to white.

    Args:
        tensor: of shape (rows, columns), (images, rows, columns), (images, 1, rows, columns), or
            (images, 3, rows, columns) with red, green and blue; of any kind, with values.
        labels: what each image is.
        answers: what a model took each for: where that is not the label, the image has a frame.

    Raises:
        BackendMismatch: it has no values.
        ConfigError: ``tensor`` is no tensor, or there are not as many labels or answers as images.
        ShapeError: it is of another shape.
    """
    values = _as_images(values_of("images", tensor))
    found = Images(values, _words(labels, len(values), "label"), _words(answers, len(values), "answer"))
    title = _title(found)
    rows = _rows(found)
    return Picture(title, _text(found, rows), _drawing(title, found, rows))


def _as_images(values: Values) -> Values:
    shape = values.shape
    rank_4 = (1,) * max(4 - len(shape), 0) + shape if len(shape) != 3 else (shape[0], 1, *shape[1:])
    if len(shape) not in (2, 3, 4) or rank_4[1] not in (1, 3) or 0 in shape:
        reasons = f"{shape} is no shape of images"
        hint = "give (images, rows, columns), or (images, channels, rows, columns) with 1 or 3 channels"
        raise ShapeError("viz.images", reasons, hint=hint)
    return values.astype(np.float64).reshape(rank_4)


def _words(given: Iterable[object], count: int, what: str) -> tuple[str, ...]:
    values = values_of("images", given).ravel().tolist() if isinstance(given, Tensor) else given
    words = tuple(str(value) for value in values)
    if words and len(words) != count:
        reason = f"there are {counted(count, 'image')} and {counted(len(words), what)}"
        raise ConfigError("viz.images", reason, hint="give one for each image, in their order")
    return words


# The words


def _title(found: Images) -> str:
    """The finding: how many, and which of them were taken for something else."""
    count, _, rows, columns = found.values.shape
    size = f"{counted(count, 'image')} of {rows} x {columns}"
    if found.answers and found.labels:
        return f"{size}: {thousands(len(found.wrong)) if found.wrong else 'none'} of {thousands(count)} wrong"
    low, high = _range(found.values)
    return f"{size}, from {three_digits(low)} to {three_digits(high)}"


def _range(values: Values) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)


def _header(found: Images) -> tuple[str, ...]:
    told = (("label",) if found.labels else ()) + (("answer",) if found.answers else ())
    return ("image", *told, "smallest", "mean", "largest")


def _rows(found: Images) -> list[tuple[str, ...]]:
    """What the table says of each image that is drawn."""
    rows = []
    for at, values in enumerate(found.values[: found.shown]):
        known = values[np.isfinite(values)]
        facts = (known.min(), known.mean(), known.max()) if known.size else (math.nan,) * 3
        told = [words[at] for words in (found.labels, found.answers) if words]
        rows.append((str(at), *told, *[three_digits(float(fact)) for fact in facts]))
    return rows


def _notes(found: Images) -> list[str]:
    """What is not as it seems."""
    notes = []
    if len(found.values) > found.shown:
        notes.append(f"{thousands(len(found.values) - found.shown)} more images are not shown.")
    if found.stride > 1:
        notes.append(f"Of every {found.stride} rows and columns one is drawn.")
    lost = int((~np.isfinite(found.values)).sum())
    if lost:
        notes.append(f"{thousands(lost)} inf or NaN are drawn black.")
    return notes


def _text(found: Images, rows: Sequence[Sequence[str]]) -> str:
    return "\n\n".join([table(_header(found), rows), *_notes(found)])


# The drawing


def _drawing(title: str, found: Images, rows: Sequence[Sequence[str]]) -> str:
    pixels = _pixels(found.drawn, _range(found.values))
    high, wide = pixels.shape[1:3]
    factor = max(1, round(_SIDE / max(high, wide)))
    high, wide = high * factor, wide * factor
    captions = [found.caption(at) for at in range(found.shown)]
    step = max(wide, max(map(text_width, captions))) + _GAP
    across = max(1, min(int((_WIDTH + _GAP) // step), found.shown))
    drawn, tips = [], []
    for at, words in enumerate(tip_texts(_header(found), rows)):
        x, y = (at % across) * step, (at // across) * (high + _LABEL + _GAP)
        drawn.append(image(x, y, (wide, high), pixels[at]))
        is_wrong = at in found.wrong
        drawn.append(rect(x, y, wide, high, "rule wrong" if is_wrong else "line thin"))
        drawn.append(text(x, y + high + 14, captions[at], "ink bold" if is_wrong else "ink"))
        tips.append(Tip(x, y, wide, high, words))
    lines = math.ceil(found.shown / across)
    size = (across * step - _GAP, lines * (high + _LABEL + _GAP))
    return sheet(title, size, drawn, _keys(found), _notes(found), _STYLE, tips=tips)


def _pixels(values: Values, ends: tuple[float, float]) -> Values:
    """From the smallest number to the largest: 0 to 255; of shape (images, rows, columns), and 3 if in colour."""
    low, high = ends
    with np.errstate(all="ignore"):
        shares = np.nan_to_num((values - low) / (high - low if high > low else 1.0), nan=0.0, posinf=0.0, neginf=0.0)
    pixels = np.rint(255 * shares).astype(np.uint8)
    return pixels[:, 0] if pixels.shape[1] == 1 else np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))


def _keys(found: Images) -> list[Key]:
    """What black and white stand for; in colour nobody asks."""
    keys = []
    if found.values.shape[1] == 1:
        low, high = map(three_digits, _range(found.values))
        ends = ((f"{low}: black", "#000"), (f"{high}: white", "#fff"))
        keys = [Key(rect(0, 0, 26, 14, "", 0, f'fill="{colour}" stroke="#777"'), words) for words, colour in ends]
    if found.wrong:
        keys.append(Key(rect(2, 2, 22, 10, "rule wrong"), "the answer is not the label"))
    return keys
