"""Convolution, composed: windows of the input as the columns of a matrix, and one product with the weight.

A convolution is linear in its input and in its weight, so its two derivatives are of the same family, and theirs too:

- `conv`: from an input and a weight to an output;
- `conv_transpose`: from an output and a weight to an input, which is the derivative by the input;
- `conv_weight_backward`: from an input and an output to a weight, which is the derivative by the weight.

Each is one operation of the interface with rules, so what the columns take is given back when it ends: the backward
pass makes them anew instead of keeping them. Here is the text of all three, for any number of spatial dims:

    input (n, c, *lengths)    output (n, o, *counts)    weight (o, c / groups, *sizes)

Columns have the shape ``(n, groups, c / groups * places, windows)``, where places is the product of the sizes, and
windows that of the counts. Chellapilla et al. 2006, "High Performance Convolutional Neural Networks for Document
Processing", has the idea, which is called im2col.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple, TypeAlias

from tinyburn.base.shape import Shape, part_shape, window_count

Array: TypeAlias = Any
Numbers: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[int, int]


class ConvOptions(NamedTuple):
    """How a weight slides over an input.

    Attributes:
        stride: for each spatial dim, how far a window starts from the one before.
        padding: for each, how many zeros are put before it and after it.
        dilation: for each, how far the places of a window lie apart.
        groups: into how many parts the channels are cut, each of which sees only itself.
    """

    stride: Numbers
    padding: tuple[Pair, ...]
    dilation: Numbers
    groups: int = 1

    def padded(self, lengths: Numbers) -> Numbers:
        """The lengths with their padding."""
        return tuple([before + length + after for length, (before, after) in zip(lengths, self.padding, strict=True)])

    def counts(self, lengths: Numbers, sizes: Numbers) -> Numbers:
        """How many windows of some sizes lie in each dim."""
        dims = zip(self.padded(lengths), sizes, self.stride, self.dilation, strict=True)
        return tuple([window_count(*dim) for dim in dims])

    def mirrored(self, sizes: Numbers) -> ConvOptions:
        """The options with which a mirrored weight does the same the other way round, where the stride is 1."""
        spans = [(size - 1) * step for size, step in zip(sizes, self.dilation, strict=True)]
        padding = [(span - before, span - after) for span, (before, after) in zip(spans, self.padding, strict=True)]
        return self._replace(padding=tuple(padding))


# The shapes of the three results


def conv_shape(a: Any, weight: Any, options: ConvOptions) -> Shape:
    """As many channels as the weight has rows, and as many windows as there are."""
    return (a.shape[0], weight.shape[0], *options.counts(a.shape[2:], weight.shape[2:]))


def conv_transpose_shape(a: Any, weight: Any, lengths: Numbers, options: ConvOptions) -> Shape:
    """The channels that the weight reads in all groups, and the lengths that are asked for."""
    return (a.shape[0], weight.shape[1] * options.groups, *lengths)


def conv_weight_shape(a: Any, b: Any, sizes: Numbers, options: ConvOptions) -> Shape:
    """Rows for the channels of the output, each for the channels of one group of the input."""
    return (b.shape[1], a.shape[1] // options.groups, *sizes)


# The three operations, for a backend ``cls``


def conv(cls: Any, a: Array, weight: Array, options: ConvOptions) -> Array:
    """The product of the weight with the columns of the input."""
    shape, sizes = conv_shape(a, weight, options), weight.shape[2:]
    pieces, matrices = _cut(a.shape, shape, sizes), _as_matrices(cls, weight, options.groups)
    out: Array = None
    for piece, columns in _in_columns(cls, a, pieces, sizes, options):
        product = cls.matmul(matrices, columns)
        del columns  # before the next ones are made
        out = _put(cls, out, piece, cls.reshape(product, piece.shape(shape)), shape)
    return out


def conv_transpose(cls: Any, a: Array, weight: Array, lengths: Numbers, options: ConvOptions) -> Array:
    """The product of the transposed weight with the output is what each window gets; where windows overlap, it adds up.

    Where each window starts one place after the one before, the same comes from a convolution with a mirrored weight.
    """
    shape, sizes = conv_transpose_shape(a, weight, lengths, options), weight.shape[2:]
    if _is_better_mirrored(a.shape, shape, sizes, options):
        return conv(cls, a, _mirrored(cls, weight, options.groups), options.mirrored(sizes))
    transposed = cls.permute(_as_matrices(cls, weight, options.groups), (0, 1, 3, 2))
    out: Array = None
    for piece in _cut(shape, a.shape, sizes, in_bands=False):
        columns = cls.matmul(transposed, _as_outputs(cls, piece.of(cls, a), options.groups))
        part = _add_columns(cls, columns, piece.shape(shape), sizes, a.shape[2:], options)
        del columns
        out = _put(cls, out, piece, part, shape)
    return out


def conv_weight_backward(cls: Any, a: Array, b: Array, sizes: Numbers, options: ConvOptions) -> Array:
    """The product of the columns of the input with the output, added up over the batch: the weight, transposed.

    The other way round it would not have to be transposed, but BLAS takes up to twice as long for a long matrix that
    is transposed on the right.
    """
    total: Array = None
    for piece, columns in _in_columns(cls, a, _cut(a.shape, b.shape, sizes), sizes, options):
        outputs = _as_outputs(cls, piece.of(cls, b), options.groups)
        product = cls.matmul(columns, cls.permute(outputs, (0, 1, 3, 2)))
        del columns
        product = product if product.shape[0] == 1 else cls.sum_dims(product, (0,))
        total = product if total is None else cls.into(total, "add", total, product)
    return cls.reshape(cls.permute(total, (0, 1, 3, 2)), conv_weight_shape(a, b, sizes, options))


# Columns, and back


def _in_columns(
    cls: Any, a: Array, pieces: list[Piece], sizes: Numbers, options: ConvOptions
) -> Iterator[tuple[Piece, Array]]:
    """Each piece with the columns of its windows. The zeros of a padding are written once: the next piece with the same
    padding takes the place of the one before."""
    zero = zero_like(cls, a)
    padded: dict[tuple[Pair, ...], Array] = {}
    for piece in pieces:
        seen, padding = piece.seen(cls, a, sizes, options)
        padded[padding] = _padded(cls, seen, padding, zero, padded.get(padding))
        yield piece, _columns(cls, padded[padding], sizes, options)


def _padded(cls: Any, a: Array, padding: tuple[Pair, ...], zero: Array, before: Array | None) -> Array:
    """Zeros around the last dims: those around ``before``, if it has the same shape, or else new ones."""
    if not any(before or after for before, after in padding):
        return a
    first = len(a.shape) - len(padding)
    ends = [start + size + after for (start, after), size in zip(padding, a.shape[first:], strict=True)]
    inside = [slice(start, start + size, 1) for (start, _), size in zip(padding, a.shape[first:], strict=True)]
    shape, places = (*a.shape[:first], *ends), (*[slice(0, size, 1) for size in a.shape[:first]], *inside)
    if before is not None and before.shape == shape:
        return cls.into(before, "slice_assign", before, places, a)
    return cls.slice_assign(cls.expand(zero, shape), places, a)


def zero_like(cls: Any, a: Array) -> Array:
    """One 0 of the dtype and the rank of an array: the sum of none of its elements."""
    rank = len(a.shape)
    return cls.sum_dims(cls.slice(a, (slice(0, 0, 1),) * rank), tuple(range(rank)))


def _columns(cls: Any, a: Array, sizes: Numbers, options: ConvOptions) -> Array:
    """The windows of each group, one beside the other. The last dim comes first and is copied: then the rows that a
    window of the other dims sees lie side by side in memory, and the next copy moves many at once."""
    count, channels, *lengths = a.shape
    a, rank = cls.reshape(a, (count * channels, *lengths)), 1 + len(sizes)
    for dim in reversed(range(len(sizes))):
        made = len(sizes) - 1 - dim  # dims of windows, which stand before those that windows slide along
        a = cls.unfold(a, 1 + made + dim, sizes[dim], options.stride[dim], options.dilation[dim])
        a = cls.permute(a, (0, rank + made, *range(1, rank + made)))
        a = cls.reshape(a, a.shape)
    windows, groups = prod(a.shape[1 + len(sizes) :]), options.groups
    return cls.reshape(a, (count, groups, channels // groups * prod(sizes), windows))


def _add_columns(
    cls: Any, columns: Array, shape: Shape, sizes: Numbers, counts: Numbers, options: ConvOptions
) -> Array:
    """What `_columns` took apart, put together again in a shape: its adjoint. The first dim comes first: the windows of
    it are whole rows, which lie side by side in memory."""
    count, channels, *lengths = shape
    a = cls.reshape(columns, (count * channels, *sizes, *counts))
    padded = options.padded(tuple(lengths))
    for dim in range(len(sizes)):
        last = len(a.shape) - 1
        a = cls.permute(a, (0, *range(2, last + 1), 1))
        a = cls.add_windows(a, len(sizes), padded[dim], options.stride[dim], options.dilation[dim])
    inside = [slice(before, before + length, 1) for (before, _), length in zip(options.padding, lengths, strict=True)]
    if padded != tuple(lengths):
        a = cls.slice(a, (slice(0, count * channels, 1), *inside))
    return cls.reshape(a, shape)


def _as_matrices(cls: Any, weight: Array, groups: int) -> Array:
    """A weight as a matrix for each group: ``(1, groups, o / groups, c / groups * places)``."""
    rows, *others = weight.shape
    return cls.reshape(weight, (1, groups, rows // groups, prod(others)))


def _as_outputs(cls: Any, a: Array, groups: int) -> Array:
    """An output as a matrix for each entry and group: ``(n, groups, o / groups, windows)``."""
    count, channels, *counts = a.shape
    return cls.reshape(a, (count, groups, channels // groups, prod(counts)))


# The mirrored way


def _is_better_mirrored(outputs: Shape, inputs: Shape, sizes: Numbers, options: ConvOptions) -> bool:
    """Whether `conv_transpose` had better be a `conv`: possible at a stride of 1, with no more padding than a window is
    long. It copies a column for each input and channel of the output, where the other way adds a column for each output
    and channel of the input.
    """
    spans = [(size - 1) * step for size, step in zip(sizes, options.dilation, strict=True)]
    fits = all(max(pair) <= span for span, pair in zip(spans, options.padding, strict=True))
    return (
        fits and set(options.stride) <= {1} and outputs[1] * prod(inputs[2:]) <= RATIO * inputs[1] * prod(outputs[2:])
    )


RATIO = 3
"""How many times as long as a copy an addition takes to windows that overlap."""


def _mirrored(cls: Any, weight: Array, groups: int) -> Array:
    """A weight read backwards, with inputs and outputs exchanged in each group."""
    rows, columns, *sizes = weight.shape
    grouped = cls.reshape(weight, (groups, rows // groups, columns, *sizes))
    swapped = cls.permute(grouped, (0, 2, 1, *range(3, len(grouped.shape))))
    backwards = cls.flip(swapped, tuple(range(3, len(grouped.shape))))
    return cls.reshape(backwards, (groups * columns, rows // groups, *sizes))


# In pieces


class Piece(NamedTuple):
    """Some samples of a batch; or of one sample a band, which is some of the first dim's windows.

    Attributes:
        samples: from which sample to before which.
        band: the same for the windows of the first spatial dim; None for all of them.
    """

    samples: tuple[int, int]
    band: tuple[int, int] | None = None

    def places(self, shape: Shape) -> tuple[slice, ...]:
        """Where it lies in an array of a shape."""
        whole = [slice(0, size, 1) for size in shape]
        band = whole[2] if self.band is None else slice(*self.band, 1)
        return (slice(*self.samples, 1), whole[1], band, *whole[3:])

    def shape(self, whole: Shape) -> Shape:
        """Its own shape, in an array of a shape."""
        return part_shape(self.places(whole))

    def of(self, cls: Any, a: Array) -> Array:
        """This part of an array."""
        return a if self.shape(a.shape) == a.shape else cls.slice(a, self.places(a.shape))

    def seen(self, cls: Any, a: Array, sizes: Numbers, options: ConvOptions) -> tuple[Array, tuple[Pair, ...]]:
        """What its windows see of an input, and the padding that belongs to it."""
        if self.band is None:
            return self.of(cls, a), options.padding
        length, ((before, _), *others) = a.shape[2], options.padding
        first = self.band[0] * options.stride[0] - before
        after = (self.band[1] - 1) * options.stride[0] + (sizes[0] - 1) * options.dilation[0] + 1 - before
        start, stop = (min(max(place, 0), length) for place in (first, after))
        missing = min(max(-first, 0), after - first)
        rows = self._replace(band=(start, stop))
        return rows.of(cls, a), ((missing, after - first - missing - (stop - start)), *others)


def _cut(inputs: Shape, outputs: Shape, sizes: Numbers, in_bands: bool = True) -> list[Piece]:
    """Cuts a convolution so that the columns of a piece take at most `COLUMNS`, or a share of all inputs and outputs.

    So columns never need most of the memory, and those of a piece are still in the processor's cache when they are
    multiplied. The cuts depend on shapes alone: a plan has the same.
    """
    count, rows = inputs[0], outputs[2]
    of_row = inputs[1] * prod(sizes) * prod(outputs[3:])
    most = max(COLUMNS, (prod(inputs) + prod(outputs)) // SHARE) // max(of_row, 1)
    if most >= count * rows:
        return [Piece((0, count))]
    if most >= rows or not in_bands:
        return [Piece(samples) for samples in _steps(count, max(most // rows, 1))]
    return [Piece((at, at + 1), band) for at in range(count) for band in _steps(rows, max(most, 1))]


COLUMNS = 3 * 2**16
"""Elements of columns that are made at once: with what they are made from a megabyte, which the second cache of most
processors holds."""

SHARE = 4


def _steps(size: int, most: int) -> list[tuple[int, int]]:
    """From 0 to a size in as few steps as can be, all of one length but the last, each with its start and its end."""
    step = -(-size // -(-size // most))
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def _put(cls: Any, whole: Array | None, piece: Piece, part: Array, shape: Shape) -> Array:
    """A piece at its place in an array of a shape, which the first piece makes. Nobody else has seen the array yet, so
    the other pieces are written where it lies."""
    if part.shape == shape:
        return part
    places = piece.places(shape)
    if whole is None:
        return cls.slice_assign(cls.expand(zero_like(cls, part), shape), places, part)
    return cls.into(whole, "slice_assign", whole, places, part)
