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

from math import prod
from typing import Any, NamedTuple, TypeAlias

from tinyburn.base.shape import Shape, part_shape, window_count

Array: TypeAlias = Any
Numbers: TypeAlias = tuple[int, ...]


class ConvOptions(NamedTuple):
    """How a weight slides over an input.

    Attributes:
        stride: for each spatial dim, how far a window starts from the one before.
        padding: for each, how many zeros are put before it and after it.
        dilation: for each, how far the places of a window lie apart.
        groups: into how many parts the channels are cut, each of which sees only itself.
    """

    stride: Numbers
    padding: tuple[tuple[int, int], ...]
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
    pieces = _cut(a.shape, shape, sizes)
    zero, weight = zero_like(cls, a), _as_matrices(cls, weight, options.groups)
    results: list[Array] = []
    for piece in pieces:
        columns = _columns(cls, *piece.seen(cls, a, sizes, options), zero)
        results.append(cls.reshape(cls.matmul(weight, columns), piece.shape(shape)))
        del columns  # before the next ones are made
    del zero, weight  # a mirrored weight is nobody else's: it goes before the whole is made
    return _joined(cls, results, shape, pieces)


def conv_transpose(cls: Any, a: Array, weight: Array, lengths: Numbers, options: ConvOptions) -> Array:
    """The product of the transposed weight with the output is what each window gets; where windows overlap, it adds up.

    Where each window starts one place after the one before, the same comes from a convolution with a mirrored weight.
    """
    shape, sizes = conv_transpose_shape(a, weight, lengths, options), weight.shape[2:]
    if _is_better_mirrored(a.shape, shape, sizes, options):
        return conv(cls, a, _mirrored(cls, weight, options.groups), options.mirrored(sizes))
    columns_of = cls.permute(_as_matrices(cls, weight, options.groups), (0, 1, 3, 2))

    def compute(piece: Piece) -> Array:
        columns = cls.matmul(columns_of, _as_outputs(cls, piece.of(cls, a), options.groups))
        return _add_columns(cls, columns, piece.shape(shape), sizes, a.shape[2:], options)

    pieces = _cut(shape, a.shape, sizes, in_bands=False)
    return _joined(cls, [compute(piece) for piece in pieces], shape, pieces)


def conv_weight_backward(cls: Any, a: Array, b: Array, sizes: Numbers, options: ConvOptions) -> Array:
    """The product of the output with the columns of the input, added up over the batch."""

    zero = zero_like(cls, a)

    def compute(piece: Piece) -> Array:
        columns = _columns(cls, *piece.seen(cls, a, sizes, options), zero)
        outputs = _as_outputs(cls, piece.of(cls, b), options.groups)
        product = cls.matmul(outputs, cls.permute(columns, (0, 1, 3, 2)))
        return product if product.shape[0] == 1 else cls.sum_dims(product, (0,))

    first, *others = _cut(a.shape, b.shape, sizes)
    total = compute(first)
    for piece in others:
        total = cls.into(total, "add", total, compute(piece))
    return cls.reshape(total, conv_weight_shape(a, b, sizes, options))


# Columns, and back


def _padded(cls: Any, a: Array, padding: tuple[tuple[int, int], ...], zero: Array) -> Array:
    """Zeros around the last dims."""
    if not any(before or after for before, after in padding):
        return a
    first = len(a.shape) - len(padding)
    whole = [slice(0, size, 1) for size in a.shape]
    ends = [before + size + after for (before, after), size in zip(padding, a.shape[first:], strict=True)]
    places = [slice(before, before + size, 1) for (before, _), size in zip(padding, a.shape[first:], strict=True)]
    zeros = cls.expand(zero, (*a.shape[:first], *ends))
    return cls.slice_assign(zeros, (*whole[:first], *places), a)


def zero_like(cls: Any, a: Array) -> Array:
    """One 0 of the dtype and the rank of an array: the sum of none of its elements."""
    rank = len(a.shape)
    return cls.sum_dims(cls.slice(a, (slice(0, 0, 1),) * rank), tuple(range(rank)))


def _columns(cls: Any, a: Array, sizes: Numbers, options: ConvOptions, zero: Array) -> Array:
    """The windows of each group, one beside the other. All is a view but for the last reshape, which copies."""
    a = _padded(cls, a, options.padding, zero)
    count, channels, *lengths = a.shape
    a = cls.reshape(a, (count * channels, *lengths))
    for dim, window in enumerate(zip(sizes, options.stride, options.dilation, strict=True)):
        rank = len(a.shape)
        first = rank - len(sizes)  # of the dims that windows slide along; those of the windows come before
        a = cls.unfold(a, first + dim, *window)
        a = cls.permute(a, (*range(first), rank, *range(first, rank)))
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

    def seen(self, cls: Any, a: Array, sizes: Numbers, options: ConvOptions) -> tuple[Array, Numbers, ConvOptions]:
        """What its windows see of an input, and the padding that belongs to it: what `_columns` takes."""
        if self.band is None:
            return self.of(cls, a), sizes, options
        length, ((before, _), *others) = a.shape[2], options.padding
        first = self.band[0] * options.stride[0] - before
        after = (self.band[1] - 1) * options.stride[0] + (sizes[0] - 1) * options.dilation[0] + 1 - before
        start, stop = (min(max(place, 0), length) for place in (first, after))
        missing = min(max(-first, 0), after - first)
        padding = ((missing, after - first - missing - (stop - start)), *others)
        rows = self._replace(band=(start, stop))
        return rows.of(cls, a), sizes, options._replace(padding=padding)


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


COLUMNS = 2**18
"""Elements of columns that are made at once: a megabyte, which the second cache of most processors holds."""

SHARE = 4


def _steps(size: int, step: int) -> list[tuple[int, int]]:
    """From 0 to a size in steps, each with its start and its end."""
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def _joined(cls: Any, results: list[Array], shape: Shape, pieces: list[Piece]) -> Array:
    """The results of some pieces, each at its place in an array of a shape."""
    if len(results) == 1:
        return results[0]
    return cls.cat(tuple([piece.places(shape) for piece in pieces]), *results)
