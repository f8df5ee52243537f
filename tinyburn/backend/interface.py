"""The interface that every backend has: what it must do, and what it can leave to a default.

A backend is a class that is never instantiated. Its methods take and return *primitives*, whatever the backend
computes with, and check nothing: the tensor has done that. Operands have equal ranks, one device and one dtype,
and shapes that broadcast; dims are not negative; a number may stand in place of one operand of a binary op.

Three promises make every backend count alike:

- a result is a new row-major buffer, and no other buffer is allocated for it (but for `into`, which says so), or
- it is a view of the first operand, where the declaration says ``view``: always, or if that lies in memory as asked;
- values never change once they are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType, to_dtype
from tinyburn.base.shape import (
    Shape,
    broadcast_shape,
    part_shape,
    permuted,
    reduced_count,
    reduced_shape,
    window_count,
)

from . import convolution
from .activations import Activations
from .convolution import ConvOptions
from .device import Device, SeededDevice, check_only_device
from .elementary import Elementary
from .normalization import Normalization
from .operations import OPERATIONS, composed, like_first, required
from .scans import Scans
from .training import Training

Array: TypeAlias = Any
"""A primitive of the backend. Each has a ``shape``, a tuple of ints, and a ``dtype``, which is NumPy's everywhere."""

Number: TypeAlias = float | int
Operand: TypeAlias = Any  # an Array, or a Number
Dims: TypeAlias = tuple[int, ...]
Swap: TypeAlias = Callable[[Array, bool], Array]
Parts: TypeAlias = tuple[slice, ...]


# How the shape of a result comes about: each takes the arguments of an operation


def reduced(a: Any, dims: Any, *_: Any) -> Shape:
    """Some dims, or one, at size 1."""
    return reduced_shape(a.shape, dims if isinstance(dims, tuple) else (dims,))


def matrix_product(a: Any, b: Any) -> Shape:
    """The last two dims by the rule of matrices; the others broadcast."""
    return (*broadcast_shape(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])


def as_asked(a: Any, shape: Shape) -> Shape:
    """The one that is handed over."""
    return shape


def reordered(a: Any, axes: tuple[int, ...]) -> Shape:
    """The dims in another order."""
    return permuted(a.shape, axes)


def part(a: Any, parts: tuple[slice, ...]) -> Shape:
    """That of a part."""
    return part_shape(parts)


def joined(places: Any, *_: Any) -> Shape:
    """Where the last part ends in each dim, there ends the whole."""
    return tuple([place.stop for place in places[-1]])


def like_indices(a: Any, dim: int, indices: Any) -> Shape:
    """An element for each index."""
    return like_first(indices)


def picked(a: Any, dim: int, indices: Any) -> Shape:
    """A whole entry of one dim for each index."""
    return (*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :])


def windowed(a: Any, dim: int, size: int, step: int, dilation: int) -> Shape:
    """A dim has its windows, and a new last dim the elements of each."""
    return (*a.shape[:dim], window_count(a.shape[dim], size, step, dilation), *a.shape[dim + 1 :], size)


def without_windows(a: Any, dim: int, length: int, *_: Any) -> Shape:
    """A dim has its elements again, and the last dim is gone."""
    return (*a.shape[:dim], length, *a.shape[dim + 1 : -1])


def single(*_: Any) -> Shape:
    """A full reduction leaves one element."""
    return (1,)


class Backend(Elementary, Activations, Scans, Normalization, Training):
    """The base of every backend: devices, the way in and out, and every operation, required or composed of those.

    What it inherits are composed operations too, each file of them with an idea of its own.
    """

    has_values: ClassVar[bool] = True
    on_host: ClassVar[bool] = True
    is_decorator: ClassVar[bool] = False
    is_autodiff: ClassVar[bool] = False
    observed: ClassVar[bool] = False
    widest_int: ClassVar[str] = "int64"
    widest_float: ClassVar[str] = "float64"

    # Devices

    @classmethod
    def device(
        cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str | None = None
    ) -> Device[Self]:
        """The device to make tensors on. ``which`` names one of `devices`; the dtypes are those of new tensors.

        ``int_dtype`` is the widest that the backend has unless given: int64, on Wgpu int32.

        Raises BackendUnavailable, with what is missing, if there is no such device here.
        """
        device: Device[Self] = cls._open(which, to_dtype(float_dtype), to_dtype(int_dtype or cls.widest_int))
        return device

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        """The same. A backend that says nothing else has one device, this computer."""
        check_only_device(cls.__name__, "cpu", which)
        return SeededDevice(cls, "cpu", float_dtype, int_dtype)

    @classmethod
    def devices(cls) -> list[str]:
        """The names of the devices that work now."""
        return ["cpu"]

    @classmethod
    def why_unavailable(cls) -> str | None:
        """What is missing, what was found instead, and the way out; None if the backend works here."""
        return None

    # In and out

    @staticmethod
    def from_numpy(values: np.ndarray[Any, Any], device: Device[Any]) -> Array:
        """A copy of values on the host."""
        raise NotImplementedError

    @staticmethod
    def to_numpy(a: Array) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        raise NotImplementedError

    @classmethod
    def full(cls, shape: Shape, value: Number, dtype: DType, device: Any) -> Array:
        """Every element one value. By default it is made on the host, and comes in from there."""
        with np.errstate(over="ignore"):  # what is too large for the dtype is inf in it
            return cls.from_numpy(np.full(shape, value, np.dtype(dtype)), device)

    @staticmethod
    def random(shape: Shape, distribution: AnyDistribution, dtype: DType, device: Device[Any]) -> Array:
        """Independent draws by the device's generator."""
        raise NotImplementedError

    # About primitives

    @classmethod
    def composes(cls, name: str) -> bool:
        """Whether this backend leaves an operation to its default, or takes the same steps: see `shortcut`."""
        if not OPERATIONS[name].is_default:
            return False
        mine, default = getattr(cls, name), getattr(Backend, name)
        return getattr(mine, "__func__", mine) is default.__func__ or hasattr(mine, "is_shortcut")

    @staticmethod
    def shares_buffer(a: Array, b: Array) -> bool:
        """Whether two primitives are views of one buffer."""
        raise NotImplementedError

    @classmethod
    def into(cls, target: Array, name: str, *arguments: Any) -> Array:
        """The operation ``name``, whose result may take the place of ``target``: a value that nobody can see any more.

        That is how values stay immutable for everyone who can see them, while a gradient that only the backward pass
        holds is added to where it lies. ``target`` may be one of the operands.

        Each of our backends does it for an operation that is declared ``in_place``, if the target is row-major and has
        the shape and the dtype of the result. In all other cases the result is a new buffer, as it always is here.
        """
        return getattr(cls, name)(*arguments)

    @classmethod
    def exchange(cls, name: str, a: Array, shape: Shape, swap: Swap, is_spare: bool) -> Array:
        """What other processes and this one make of ``a`` together: a library of communication does it, and not a
        backend, so it is no row of the table.

        Decorators hand it on, so ``swap`` meets the primitive of the innermost backend.

        Args:
            name: what happens, for the event log, as ``all_reduce``.
            a: row-major, and of rank 1.
            shape: of the result. Its dtype is that of ``a``.
            swap: ``swap(a, may_overwrite)`` returns the result: in a new buffer; or in that of ``a``, if it may.
            is_spare: whether nobody can see ``a`` any more. Then a result of its shape takes its place.
        """
        return swap(a, is_spare and a.shape == shape)

    @classmethod
    def overwrite(cls, a: Array, values: np.ndarray[Any, Any], device: Any) -> Array:
        """Values of the host in place of those of ``a``, a row-major array of their shape and dtype that nobody can see
        any more: in its buffer, or where a backend cannot write there, in a new one."""
        return cls.from_numpy(values, device)

    @staticmethod
    def index_bounds(a: Array) -> tuple[int, int] | None:
        """The smallest and largest of some indices; None if there are none or it would cost too much to know."""
        return None

    @staticmethod
    def detach(a: Array) -> Array:
        """The primitive without what a decorator knows of it."""
        return a

    @classmethod
    def separate(cls, a: Array) -> Array:
        """The same values in no graph, for a copy: a leaf becomes another leaf, any other result a constant."""
        return a

    @staticmethod
    def note(a: Array, event: str, detail: Any = "") -> None:
        """What a floor above has done with a primitive. Only `Traced` listens; ``observed`` says whether anybody does.

        Args:
            event: ``save`` or ``release``, with the operand, the operation and the module path of the node that keeps
                it or has let it go; ``phase``, with a name for what runs now; ``node``, with what it is for a node of
                the graph and the node's number (`log.Role`); ``gradient`` for the gradient of a leaf; ``returned`` for
                the result of a module; else its category from now on, as ``parameter``.
            detail: what belongs to the event, as said above.
        """

    # The operations that only a backend itself can compute: the parameters, the meaning, and the facts where they are
    # not those of most: an elementwise function, cheap to compute again, of a new buffer and the dtype of its operand.

    # fmt: off
    # Two operands
    add             = required("a, b",               "``a + b``", in_place=True)
    sub             = required("a, b",               "``a - b``", in_place=True)
    mul             = required("a, b",               "``a * b``", in_place=True)
    multiply_no_nan = required("a, b",               "``a * b``, but 0 where ``a`` is 0", label="mul", in_place=True)
    scaled_mul      = required("a, b, scale",        "``a * b * scale``, but 0 where ``a`` is 0", label="mul")
    relu_backward   = required("a, out",             "``a`` where ``out`` of a relu is above 0, else 0", in_place=True)
    div             = required("a, b",               "``a / b``, by IEEE 754: no error for a zero", in_place=True)
    remainder       = required("a, b",               "what ``a / b`` leaves, with the sign of ``b``")
    powf            = required("a, b",               "``a ** b``", label="pow")
    powf_scalar     = required("a, exponent",        "``a ** exponent``", label="pow")
    maximum         = required("a, b",               "the larger of two; NaN if either is")
    minimum         = required("a, b",               "the smaller of two; NaN if either is")
    atan2           = required("a, b",               "the angle of the point ``(b, a)`` as seen from the origin")
    equal           = required("a, b",               "``a == b``; NaN equals nothing", result="bool")
    not_equal       = required("a, b",               "``a != b``", result="bool")
    greater         = required("a, b",               "``a > b``", result="bool")
    greater_equal   = required("a, b",               "``a >= b``", result="bool")
    lower           = required("a, b",               "``a < b``", result="bool")
    lower_equal     = required("a, b",               "``a <= b``", result="bool")
    matmul          = required("a, b",               "the product over the last two dims", matrix_product, cheap=False)
    bool_and        = required("a, b",               "True where both are", result="bool")
    bool_or         = required("a, b",               "True where at least one is", result="bool")
    bool_xor        = required("a, b",               "True where exactly one is", result="bool")
    mask_where      = required("a, mask, b",         "``b`` where the mask is True, else ``a``", label="where")

    # One operand
    neg             = required("a",                  "``-a``")
    abs             = required("a",                  "the distance from 0")
    sign            = required("a",                  "-1, 0 or 1")
    exp             = required("a",                  "e to the power a", in_place=True)
    log             = required("a",                  "the natural logarithm")
    log1p           = required("a",                  "``log(1 + a)``, exact for small a")
    sqrt            = required("a",                  "the square root")
    sin             = required("a",                  "the sine, in radians")
    cos             = required("a",                  "the cosine, in radians")
    sinh            = required("a",                  "the hyperbolic sine")
    cosh            = required("a",                  "the hyperbolic cosine")
    tanh            = required("a",                  "the hyperbolic tangent")
    erf             = required("a",                  "the error function", cheap=False)
    floor           = required("a",                  "the next whole number below")
    ceil            = required("a",                  "the next whole number above")
    round           = required("a",                  "the nearest whole number, of two the even one")
    is_nan          = required("a",                  "True for NaN", result="bool")
    is_inf          = required("a",                  "True for inf and -inf", result="bool")
    bool_not        = required("a",                  "True for False", result="bool")
    cast            = required("a, dtype",           "another format", like_first, result="dtype", view="maybe")

    # Reductions keep their dims, at size 1
    sum_dims        = required("a, dims",            "the sum over some dims", reduced)
    mean_dims       = required("a, dims",            "the mean over some dims; float16 adds up in float32", reduced)
    max_dims        = required("a, dims",            "the largest over some dims; NaN if there is one", reduced)
    min_dims        = required("a, dims",            "the smallest over some dims; NaN if there is one", reduced)
    argmax          = required("a, dim, dtype",      "the first index of the largest", reduced, result="index")
    argmin          = required("a, dim, dtype",      "the first index of the smallest", reduced, result="index")
    argsort         = required("a, dim, descending, dtype", "the indices that sort a dim, stable; NaN is the largest",
                               like_first, result="index", cheap=False)

    # Movement
    reshape         = required("a, shape",           "another shape, copied if not contiguous", as_asked, view="maybe")
    permute         = required("a, axes",            "the dims in another order", reordered, view="always")
    expand          = required("a, shape",           "dims of size 1 read again and again", as_asked, view="always")
    flip            = required("a, dims",            "some dims read from their end", like_first, view="always")
    slice           = required("a, parts",           "a forward slice of each dim", part, view="always")
    unfold          = required("a, dim, size, step, dilation", "windows of one dim", windowed, view="always")
    slice_assign    = required("a, parts, b",        "``a`` with one part replaced", like_first, in_place=True)
    cat             = required("places, *part",      "parts side by side, each at its place", joined)
    gather          = required("a, dim, indices",    "an entry for each index", like_indices, cheap=False)
    scatter         = required("a, dim, indices, b", "``b`` added where `gather` reads", like_first, cheap=False)
    select          = required("a, dim, indices",    "whole entries of one dim", picked, cheap=False)
    select_assign   = required("a, dim, indices, b", "``b`` added where `select` reads", like_first, cheap=False)
    # fmt: on

    # The operations that are composed of those: right on every backend, decorators included. They call ``cls``, so on
    # `Autodiff` each part is recorded (unless the table has a rule for the whole), and on `Traced` each part is an
    # event: nothing that a default allocates is hidden. Override one only where the device has a better one.

    @classmethod
    @composed(single)
    def sum(cls, a: Array) -> Array:
        """All elements added up."""
        return cls.reshape(cls.sum_dims(a, every_dim(a)), (1,))

    @classmethod
    @composed(single)
    def mean(cls, a: Array) -> Array:
        """The mean of all elements."""
        return cls.reshape(cls.mean_dims(a, every_dim(a)), (1,))

    @classmethod
    @composed(single)
    def max(cls, a: Array) -> Array:
        """The largest element."""
        return cls.reshape(cls.max_dims(a, every_dim(a)), (1,))

    @classmethod
    @composed(single)
    def min(cls, a: Array) -> Array:
        """The smallest element."""
        return cls.reshape(cls.min_dims(a, every_dim(a)), (1,))

    @classmethod
    @composed(single)
    def prod(cls, a: Array) -> Array:
        """All elements multiplied."""
        return cls.prod_dim(cls.reshape(a, (reduced_count(a.shape, every_dim(a)),)), 0)

    @classmethod
    @composed(reduced)
    def prod_dim(cls, a: Array, dim: int) -> Array:
        """The product along one dim: one half times the other, until a single entry is left.

        The derivative of a product of two needs no division, so zeros are no trouble (the usual ``out / x`` is).
        """
        size = a.shape[dim]
        if size == 0:
            return cls.add(cls.sum_dims(a, (dim,)), 1)
        while size > 1:
            half = size // 2
            product = cls.mul(_part(cls, a, dim, 0, half), _part(cls, a, dim, half, 2 * half))
            if size % 2:
                last = _part(cls, a, dim, size - 1, size)
                first = cls.mul(_part(cls, product, dim, 0, 1), last)
                product = first if half == 1 else cls.slice_assign(product, _parts(product, dim, 0, 1), first)
            a, size = product, half
        return a

    @classmethod
    @composed(single, result="bool")
    def any(cls, a: Array) -> Array:
        """Whether any element is True."""
        return cls.greater(cls.sum(cls.cast(a, DType.FLOAT32)), 0.0)  # a sum of ones may round, but never to 0

    @classmethod
    @composed(single, result="bool")
    def all(cls, a: Array) -> Array:
        """Whether every element is True."""
        return cls.bool_not(cls.any(cls.bool_not(a)))

    # Spread

    @classmethod
    @composed(reduced)
    def var(cls, a: Array, dim: int, correction: int) -> Array:
        """The variance along one dim: squares of the distances from the mean, over ``n - correction``.

        Bessel's correction is 1. The first entry is taken off before: that changes no distance, and makes those of a
        constant exactly 0.
        """
        shifted = cls.sub(a, _part(cls, a, dim, 0, 1))
        centred = cls.sub(shifted, cls.mean_dims(shifted, (dim,)))
        del shifted
        squares = cls.mul(centred, centred)
        del centred
        mean = cls.mean_dims(squares, (dim,))
        size = a.shape[dim]
        if correction == 0:
            return mean
        return cls.mul(mean, size / (size - correction) if size > correction else math.nan)

    @classmethod
    @composed(reduced)
    def std(cls, a: Array, dim: int, correction: int) -> Array:
        """The root of `var`, with the distances scaled, so that no square overflows or is lost."""
        shifted = cls.sub(a, _part(cls, a, dim, 0, 1))
        scale = _scale(cls, shifted, (dim,))
        shifted = cls.div(shifted, scale)
        return cls.mul(cls.sqrt(cls.var(shifted, dim, correction)), scale)

    @classmethod
    @composed(single)
    def norm(cls, a: Array) -> Array:
        """The root of the sum of all squares, scaled, so that none overflows or is lost."""
        if 0 in a.shape:
            return cls.sum(a)
        scale = _scale(cls, a, every_dim(a))
        scaled = cls.div(a, scale)
        return cls.mul(cls.sqrt(cls.sum(cls.mul(scaled, scaled))), cls.reshape(scale, (1,)))

    # Windows

    @classmethod
    @composed(without_windows, fused=True)
    def add_windows(cls, a: Array, dim: int, length: int, step: int, dilation: int) -> Array:
        """Windows added up in a dim of a length, each element where `unfold` reads it; 0 where none is."""
        shape = without_windows(a, dim, length)
        out = cls.expand(cls.reshape(convolution.zero_like(cls, a), (1,) * len(shape)), shape)
        for at in range(a.shape[-1]):
            places = window_places(shape, dim, a.shape[dim], at * dilation, step)
            element = cls.reshape(_part(cls, a, len(shape), at, at + 1), part_shape(places))
            out = cls.slice_assign(out, places, cls.add(cls.slice(out, places), element))
        return out

    @classmethod
    @composed(convolution.conv_shape, cheap=False)
    def conv(cls, a: Array, weight: Array, options: ConvOptions) -> Array:
        """A weight that slides over the last dims of ``a``, and is multiplied with each of its windows."""
        return convolution.conv(cls, a, weight, options)

    @classmethod
    @composed(convolution.conv_transpose_shape, cheap=False)
    def conv_transpose(cls, a: Array, weight: Array, lengths: Shape, options: ConvOptions) -> Array:
        """The derivative of `conv` by its input, of these lengths: each window gets the weight, times an element."""
        return convolution.conv_transpose(cls, a, weight, lengths, options)

    @classmethod
    @composed(convolution.conv_weight_shape, cheap=False, label="conv")
    def conv_weight_backward(cls, a: Array, b: Array, sizes: Shape, options: ConvOptions) -> Array:
        """The derivative of `conv` by its weight, of these sizes, for an input ``a`` and a gradient ``b``."""
        return convolution.conv_weight_backward(cls, a, b, sizes, options)


def _scale(cls: type[Backend], a: Array, dims: Dims) -> Array:
    """The largest distance from 0 along some dims; 1 where that is 0 or infinite."""
    largest = cls.maximum(cls.max_dims(a, dims), cls.neg(cls.min_dims(a, dims)))
    largest = cls.mask_where(largest, cls.is_inf(largest), 1.0)
    return cls.mask_where(largest, cls.equal(largest, 0.0), 1.0)


def window_places(shape: Shape, dim: int, count: int, first: int, step: int) -> Parts:
    """Where one element of each of ``count`` windows lies along a dim; ``first`` is its place in the first of them."""
    whole = [slice(0, size, 1) for size in shape]
    return (*whole[:dim], slice(first, first + count * step, step), *whole[dim + 1 :])


def every_dim(a: Array) -> tuple[int, ...]:
    """The dims of a full reduction."""
    return tuple(range(len(a.shape)))


def _parts(a: Array, dim: int, start: int, stop: int) -> tuple[slice, ...]:
    bounds = [(0, size) for size in a.shape]
    bounds[dim] = (start, stop)
    return tuple(slice(*pair, 1) for pair in bounds)


def _part(cls: Any, a: Array, dim: int, start: int, stop: int) -> Array:
    return cls.slice(a, _parts(a, dim, start, stop))
