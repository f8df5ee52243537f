"""What one token of a text looks at: its share of attention for each token, as numbers and as colours.

Attention gives each token shares that add up to 1. A heat map has those of all tokens at once; this is one row of it,
with the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.base.text import table
from tinyburn.tensor import Tensor

from .cards import Key, cut, sheet
from .cells import HEIGHT, STYLE, WIDTH, colour_cell
from .picture import Picture
from .svg import rect, text
from .values import values_of

MOST_TOKENS = 96
_ACROSS = 12
"""Tokens in a line."""
_LINE = 2 * HEIGHT + 34.0
_STYLE = f"{STYLE}.asks{{stroke-width:2.6;fill:none}}"
_SEEN = {" ": "\N{OPEN BOX}", "\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\N{RIGHTWARDS ARROW TO BAR}"}
"""How a cell shows what one cannot see."""
_MOST = 0.9
"""The title counts the tokens that have so much of the attention together."""


def attention(
    weights: Tensor[Any, Any, Any],
    tokens: Iterable[str],
    *,
    head: int = 0,
    position: int = 0,
    queries: Iterable[str] | None = None,
) -> Picture:
    """Where one position looks: the shares that a head of attention gives it.

    Args:
        weights: the shares, of the shape (queries, keys), (heads, queries, keys), or (1, heads, queries, keys), as
            `nn.MultiHeadAttention` returns them for one text.
        tokens: the text that is looked at, token by token; a string is a token for each letter.
        head, position: which of them, from 0 on.
        queries: the text that looks, if it is another one.

    Raises:
        BackendMismatch: ``weights`` has no values.
        ConfigError: it is no tensor of shares, the tokens are not as many, or there is no such head or position.
    """
    heads = read_heads(weights, tokens, queries)
    row = heads.row(head, position)
    title = _title(row)
    return Picture(title, _text(row), _drawing(title, row))


@dataclass(frozen=True)
class Row:
    """What is drawn.

    Attributes:
        head, position: which one it is; the head is None if there is one alone.
        asks: the token that looks.
        tokens, shares: what it looks at, and how much.
        is_inside: whether the token that looks is one of them.
    """

    head: int | None
    position: int
    asks: str
    tokens: Sequence[str]
    shares: Sequence[float]
    is_inside: bool

    @property
    def first(self) -> int:
        """Where it looks most; of equal shares the first."""
        return self.shares.index(max(self.shares))

    @property
    def needed(self) -> int:
        """How many of the largest shares make up 0.9."""
        total = 0.0
        for count, share in enumerate(sorted(self.shares, reverse=True), start=1):
            total += share
            if total >= _MOST:
                return count
        return len(self.shares)


@dataclass(frozen=True)
class Heads:
    """The shares of all heads, in lists: ``shares[head][query][key]``."""

    shares: list[list[list[float]]]
    tokens: Sequence[str]
    queries: Sequence[str] | None

    def row(self, head: int, position: int) -> Row:
        """Raises ConfigError, with every reason, if it is not there."""
        count = len(self.shares[0])
        reasons = [
            f"{name} is {given!r}, and there are {most}"
            for name, given, most in (("head", head, len(self.shares)), ("position", position, count))
            if not (is_count(given) and given < most)
        ]
        if reasons:
            raise ConfigError("viz.attention", reasons, hint="the first one is 0")
        asks = (self.tokens if self.queries is None else self.queries)[position]
        shown = head if len(self.shares) > 1 else None
        return Row(shown, position, asks, self.tokens, self.shares[head][position], self.queries is None)


def read_heads(weights: Any, tokens: Iterable[str], queries: Iterable[str] | None) -> Heads:
    """The shares with their texts. Raises as `attention` does."""
    values = values_of("attention", weights)
    while values.ndim > 3 and values.shape[0] == 1:
        values = values[0]
    keys, asking = list(tokens), None if queries is None else list(queries)
    reasons, hint = _shape_problems(weights.shape, values.shape, len(keys), None if asking is None else len(asking))
    if not reasons:
        reasons, hint = _share_problems(values)
    if reasons:
        raise ConfigError("viz.attention", reasons, given={"weights": weights.shape}, hint=hint)
    return Heads(values.reshape(-1, *values.shape[-2:]).astype(float).tolist(), keys, asking)


def _shape_problems(
    given: tuple[int, ...], shape: tuple[int, ...], keys: int, queries: int | None
) -> tuple[list[str], str]:
    if len(given) > 4 or len(shape) not in (2, 3):
        reason = "weights are (queries, keys), (heads, queries, keys), or (1, heads, queries, keys)"
        return [reason], "take one text of a batch, as in weights[:1]"
    reasons = []
    if shape[-1] != keys:
        reasons.append(f"there are shares for {shape[-1]} keys, and {keys} tokens")
    asking = keys if queries is None else queries
    if shape[-2] != asking:
        name = "tokens look" if queries is None else "queries"
        reasons.append(f"there are {shape[-2]} rows of shares, and {asking} {name}")
    if keys > MOST_TOKENS:
        reasons.append(f"{keys} tokens are too many to draw; {MOST_TOKENS} are not")
    if not (keys and shape[-2] and shape[0]):
        reasons.append("there is nothing to draw")
    return reasons, "one token for each key; if another text looks, hand it over as queries"


def _share_problems(values: Any) -> tuple[list[str], str]:
    sums = values.astype(float).sum(axis=-1)
    wrong = [float(total) for total in sums.ravel() if not abs(total - 1) < 0.02]
    reasons = [f"a row of shares adds up to 1, and here one adds up to {wrong[0]:.3g}"] if wrong else []
    reasons += ["a share is below 0"] if (values < 0).any() else []
    return reasons, "scores become shares by activation.softmax; take the weights before a dropout"


def share_text(share: float) -> str:
    """With three digits; what is there but too small for them is not 0."""
    if share == 0:
        return "0"
    return f"{share:.3f}" if share >= 0.0005 else "<0.001"


# The words


def place(position: int, token: str) -> str:
    """A position with its token, as Python writes it."""
    return f"{position}, {token!r}"


def _title(row: Row) -> str:
    begin = "Position" if row.head is None else f"Head {row.head}: position"
    most = f"looks most at {place(row.first, row.tokens[row.first])}: {share_text(row.shares[row.first])}"
    few = f"{row.needed} of {len(row.shares)} have {_MOST} together"
    return f"{begin} {place(row.position, row.asks)}, {most}; {few}"


def _text(row: Row) -> str:
    rows = [
        (str(at), repr(token), share_text(share), "asks" if row.is_inside and at == row.position else "")
        for at, (token, share) in enumerate(zip(row.tokens, row.shares, strict=True))
    ]
    return table(("position", "token", "share", ""), rows)


# The drawing


def _drawing(title: str, row: Row) -> str:
    scale = max(row.shares)
    drawn: list[str] = []
    for at, (token, share) in enumerate(zip(row.tokens, row.shares, strict=True)):
        x, y = (at % _ACROSS) * WIDTH, (at // _ACROSS) * _LINE
        asks = row.is_inside and at == row.position
        drawn += _token(x, y, f"{at} Q" if asks else str(at), token, share, scale)
    if row.is_inside:
        x, y = (row.position % _ACROSS) * WIDTH, (row.position // _ACROSS) * _LINE
        drawn.append(rect(x, y + 16, WIDTH, HEIGHT, "asks rule"))
    size = (min(len(row.tokens), _ACROSS) * WIDTH, math.ceil(len(row.tokens) / _ACROSS) * _LINE - 18)
    return sheet(title, size, drawn, _keys(row, scale), (), _STYLE)


def _token(x: float, y: float, above: str, token: str, share: float, scale: float) -> list[str]:
    """Its position, the token, and below it its share."""
    middle = x + WIDTH / 2
    seen = cut("".join(_SEEN.get(letter, letter) for letter in token), 6)
    return [
        text(middle, y + 11, above, "soft", "middle"),
        rect(x, y + 16, WIDTH, HEIGHT, "line cell"),
        text(middle, y + 32, seen, "ink bold", "middle"),
        *colour_cell(x, y + 16 + HEIGHT, (WIDTH, HEIGHT), share, scale, 0.65),
        rect(x, y + 16 + HEIGHT, WIDTH, HEIGHT, "line cell"),
        text(middle, y + 32 + HEIGHT, share_text(share), "ink", "middle"),
    ]


def _keys(row: Row, scale: float) -> list[Key]:
    keys = [Key(rect(0, 0, 26, 14, "plus", 0, 'fill-opacity="0.65"'), f"the largest share, {share_text(scale)}")]
    keys.append(Key(rect(0, 0, 26, 14, "line cell"), "0"))
    if row.is_inside:
        keys.append(Key(rect(2, 1, 22, 12, "asks rule"), "Q: the token that looks"))
    marks = [mark for letter, mark in _SEEN.items() if any(letter in token for token in row.tokens)]
    names = dict(zip(_SEEN.values(), ("a space", "a new line", "a tab"), strict=True))
    return keys + [Key(text(13, 11, mark, "ink bold", "middle"), names[mark]) for mark in marks]
