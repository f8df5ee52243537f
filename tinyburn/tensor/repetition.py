"""Operations whose result holds some elements of its source more than once, or from the other end: repeat, roll, pad.

A result is put together from views of the source, by one `cat`: one new buffer, and nothing between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import Size, is_count, num_elements, whole_numbers

from . import checks
from .base import B, D, K, Scalar, TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

    AnyTensor = Tensor[Any, Any, Any]

Cut: TypeAlias = "Callable[[AnyTensor], AnyTensor]"
"""A view of a tensor: what stands somewhere along one dim of a result."""

PadMode: TypeAlias = "Scalar | Literal['reflect', 'edge']"
"""What stands in the padding: a number, the values mirrored at the edge, or the value of the edge."""


class Repetition(TensorBase[B, D, K]):
    """Dims are counted from 0, and from the end when negative. Raises ShapeError for one that does not exist."""

    __slots__ = ()

    def repeat_dim(self, dim: int, times: int) -> Tensor[B, D, K]:
        """The whole tensor ``times`` times, one after another along a dim. A dim of size 1 takes no memory for it."""
        dim = self._dim("repeat_dim", dim)
        return cast("Tensor[B, D, K]", _repeated(self._all(), dim, _count("repeat_dim", times)))

    def repeat(self, sizes: Sequence[int]) -> Tensor[B, D, K]:
        """`repeat_dim` along every dim: ``sizes`` says for each of them how often."""
        counts = whole_numbers("repeat", sizes)
        if len(counts) != self.rank:
            reason = f"{len(counts)} counts are given for {self.rank} dims"
            raise ShapeError("repeat", reason, given={"shape": self.shape}, hint="write 1 for a dim that stays")
        x = self._all()
        for dim, times in enumerate(counts):
            x = _repeated(x, dim, _count("repeat", times))
        return x

    def roll_dim(self, shift: int, dim: int) -> Tensor[B, D, K]:
        """Every element moved on by ``shift`` along one dim; what falls off the end comes in at the start."""
        return self.roll((shift,), (dim,))

    def roll(self, shifts: Sequence[int], dims: Sequence[int]) -> Tensor[B, D, K]:
        """`roll_dim` along several dims, with one shift for each."""
        moved, found = whole_numbers("roll", shifts), self._dims("roll", tuple(dims))
        if len(moved) != len(found):
            raise ShapeError("roll", f"{len(moved)} shifts are given for {len(found)} dims")
        shift_of = dict(zip(found, moved, strict=True))
        return _joined(self._all(), [_rolled(dim, size, shift_of.get(dim, 0)) for dim, size in enumerate(self.shape)])

    def pad(self, padding: Sequence[tuple[int, int]], mode: PadMode = 0.0) -> Tensor[B, D, K]:
        """More entries before and after, along the last dims.

        Args:
            padding: how many come before and after, for each of the last ``len(padding)`` dims, in their order.
            mode: a number that fills them (truth values take True or False); ``"reflect"`` mirrors the values at the
                edge, which is not repeated: 3 2 | 1 2 3 | 2 1; ``"edge"`` repeats the edge: 1 1 | 1 2 3 | 3 3.

        Raises ShapeError if ``"reflect"`` asks for as many as the dim has or more, or ``"edge"`` for those of no entry.
        """
        pairs = [(0, 0)] * (self.rank - len(padding)) + _pairs("pad", padding, self.rank)
        _check_padding(mode, pairs, self.shape)
        x = self._all()
        if mode == "reflect":
            return _joined(x, [_reflected(dim, size, *pairs[dim]) for dim, size in enumerate(x.shape)])
        if mode == "edge":
            return _joined(x, [_extended(dim, size, *pairs[dim]) for dim, size in enumerate(x.shape)])
        number = checks.check_scalar("pad", self, mode)
        fill = self._single(number, self.rank)
        return _joined(x, [_filled(dim, fill, *pair) for dim, pair in enumerate(pairs)])

    def _all(self) -> Tensor[B, D, K]:
        return cast("Tensor[B, D, K]", self)


# Along one dim: the views that stand there one after another


def _stays(x: AnyTensor) -> AnyTensor:
    return x


def _part(dim: int, start: int, length: int) -> Cut:
    return lambda x: x.narrow(dim, start, length)


def _mirrored(dim: int, start: int, length: int) -> Cut:
    return lambda x: x.narrow(dim, start, length).flip((dim,))


def _same(dim: int, start: int, times: int) -> Cut:
    """One entry again and again."""
    return lambda x: x.narrow(dim, start, 1).expand((*x.shape[:dim], times, *x.shape[dim + 1 :]))


def _rolled(dim: int, size: int, shift: int) -> list[Cut]:
    last = shift % size if size else 0
    return [_part(dim, size - last, last), _part(dim, 0, size - last)]


def _reflected(dim: int, size: int, before: int, after: int) -> list[Cut]:
    return [_mirrored(dim, 1, before), _stays, _mirrored(dim, size - 1 - after, after)] if before or after else [_stays]


def _extended(dim: int, size: int, before: int, after: int) -> list[Cut]:
    return [_same(dim, 0, before), _stays, _same(dim, size - 1, after)] if before or after else [_stays]


def _filled(dim: int, fill: AnyTensor, before: int, after: int) -> list[Cut]:
    """Any number of entries of ``fill``, in the shape of what stands beside them."""

    def filling(times: int, x: AnyTensor) -> AnyTensor:
        return fill.expand((*x.shape[:dim], times, *x.shape[dim + 1 :]))

    return [partial(filling, before), _stays, partial(filling, after)]


def _joined(x: AnyTensor, cuts: Sequence[list[Cut]]) -> AnyTensor:
    """The result whose dim ``d`` has the views ``cuts[d]`` one after another, for every dim at once."""
    blocks: list[tuple[tuple[slice, ...], AnyTensor]] = [((), x)]
    for dim, views in enumerate(cuts):
        blocks = [((*place, *at), part) for place, block in blocks for at, part in _in_a_row(block, dim, views)]
    if len(blocks) == 1:
        return blocks[0][1]
    places, parts = zip(*blocks, strict=True)
    return x._new(x.device.backend.cat(places, *[part.primitive for part in parts]))


def _in_a_row(block: AnyTensor, dim: int, views: list[Cut]) -> list[tuple[tuple[slice], AnyTensor]]:
    """Views one after another along a dim, and where each of them lies; without the empty ones, if there are others."""
    parts = [view(block) for view in views]
    filled = [part for part in parts if part.shape[dim]] or parts[:1]
    bounds = pairwise(accumulate([part.shape[dim] for part in filled], initial=0))
    return [((slice(start, stop, 1),), part) for (start, stop), part in zip(bounds, filled, strict=True)]


def _repeated(x: AnyTensor, dim: int, times: int) -> AnyTensor:
    """All that lies from ``dim`` on, again and again: a new dim that is expanded, and taken in by a reshape."""
    shape = (*x.shape[:dim], times * x.shape[dim], *x.shape[dim + 1 :])
    if times == 1 or x.shape[dim] == 1:
        return x.expand(shape)
    outer, inner = num_elements(x.shape[:dim]), num_elements(x.shape[dim:])
    return x.reshape((outer, 1, inner)).expand((outer, times, inner)).reshape(shape)


# Checks


def _count(op: str, times: Size) -> int:
    if not is_count(times):
        raise ShapeError(op, f"{times!r} is not a whole number of 0 or more")
    return int(times)


def _pairs(op: str, padding: Sequence[tuple[int, int]], rank: int) -> list[tuple[int, int]]:
    """How many entries come before and after, for each of the last dims."""
    if not isinstance(padding, tuple | list) or not all(isinstance(pair, tuple | list) for pair in padding):
        hint = "write ((before, after),) for the last dim, and ((top, bottom), (left, right)) for the last two"
        raise ShapeError(op, f"{padding!r} is not a tuple of pairs", hint=hint)
    if len(padding) > rank or any(len(pair) != 2 for pair in padding):
        reason = f"the padding has one pair for each of the last dims, at most {rank}"
        raise ShapeError(op, reason, given={"padding": padding})
    return [(_count(op, before), _count(op, after)) for before, after in padding]


def _check_padding(mode: PadMode, pairs: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> None:
    if isinstance(mode, str) and mode not in ("reflect", "edge"):
        raise ShapeError("pad", f"there is no mode {mode!r}", hint='use a number, "reflect" or "edge"')
    sides = [(dim, size, max(pair)) for dim, (size, pair) in enumerate(zip(shape, pairs, strict=True)) if any(pair)]
    reasons = []
    if mode == "reflect":
        reasons = [f"dim {dim} has {size} entries, so it can mirror {max(size - 1, 0)}, and not {most}"
                   for dim, size, most in sides if most >= size]  # fmt: skip
    elif mode == "edge":
        reasons = [f"dim {dim} has no entry that could be repeated" for dim, size, _ in sides if not size]
    if reasons:
        raise ShapeError("pad", reasons, given={"shape": shape, "padding": tuple(pairs)})
