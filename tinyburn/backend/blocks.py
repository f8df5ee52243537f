"""How a function of many steps runs on NumPy in the time of a few: block by block, through a memory in the cache.

NumPy makes one pass over the memory for each step, and one new array. Ten steps over an array of 4 MB move ten times
4 MB in and out, and leave nine arrays behind. So a *kernel* here takes its steps on one block after another. What lies
between the steps is in a scratch memory, which is so small that it stays in the processor's cache, and which is made
once: all that a call allocates is its result.

A kernel is a function ``kernel(s, out, *tensors, *numbers)`` over one block:

- ``s`` is its `Scratch`, and what is in there before does not matter.
- It writes ``out`` in its last step that reads a tensor, or after that. So ``out`` may be the memory of a tensor.
- It uses functions of NumPy that write into an array alone. So tensors may have any layout that broadcasts to ``out``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.shape import Shape

from .array_namespace import IGNORED, ignore_errors, restore_errors
from .operations import broadcast
from .room import NO_ROOM, explain

NumPyArray: TypeAlias = np.ndarray[Any, Any]
Kernel: TypeAlias = Callable[..., None]

BLOCK_BYTES = 131_072
"""Of one tensor in a block of float32. A few blocks have to fit into the second cache of a processor, often 1 MB; with
half the size, the time that Python takes for each call shows."""
_FEW = 8192
"""The elements of a block of any other dtype: OpenBLAS hands a dot product of more than 10 000 float64 to several
threads, which take longer to wake up than the product takes."""
_MANY = BLOCK_BYTES // 4
_ARRAYS = 4
_NUMBER = (_ARRAYS + 2) * BLOCK_BYTES  # where the single number lies, behind the arrays and the truth values
_MOST_VIEWS = 100

_ZEROS = bytes(BLOCK_BYTES)
"""The larger of two takes NumPy far longer where one of them is a number."""

_HALF = np.dtype("float16")
_SINGLE = np.dtype("float32")


class Scratch:
    """The scratch memory of one thread, as arrays of one shape and dtype.

    Attributes:
        x, y, z, w: numbers.
        flat: ``x`` as one line.
        bits: ``x`` as whole numbers, for the bits of others.
        truth, other: truth values.
        zeros: zeros, and nobody may write there.
        zero, one: the two numbers. As an array, NumPy takes a number in half the time that it needs for Python's.
        number: for another one, as an array too.
        whole: the dtype of a whole number of as many bits.
        one_bits, number_bits: these as whole numbers.
        last_bit: how far the first bit of a number, its sign, is from the last.
    """

    __slots__ = (
        *("bits", "dtype", "flat", "last_bit", "number", "number_bits", "one", "one_bits"),
        *("other", "truth", "w", "whole", "x", "y", "z", "zero", "zeros"),
    )

    def __init__(self, memory: bytearray, shape: Shape, dtype: np.dtype[Any]) -> None:
        size = int(np.prod(shape))
        arrays = [np.frombuffer(memory, dtype, size, at * BLOCK_BYTES).reshape(shape) for at in range(_ARRAYS)]
        self.x, self.y, self.z, self.w = arrays
        self.flat = self.x.reshape(-1)
        truths = [np.frombuffer(memory, bool, size, (_ARRAYS + at) * BLOCK_BYTES).reshape(shape) for at in range(2)]
        self.truth, self.other = truths
        self.zeros = np.frombuffer(_ZEROS, dtype, size).reshape(shape)
        self.dtype = dtype
        self.zero, self.one = number(0, dtype), number(1, dtype)
        self.number = np.frombuffer(memory, dtype, 1, _NUMBER).reshape(())
        self.whole = whole = np.dtype(f"int{8 * dtype.itemsize}")
        self.bits, self.one_bits, self.number_bits = (array.view(whole) for array in (self.x, self.one, self.number))
        self.last_bit = number(8 * dtype.itemsize - 1, whole)

    def __repr__(self) -> str:
        return f"Scratch({self.x.shape}, {self.dtype.name})"


class _Memory(threading.local):
    """The scratch memory of each thread, and the ways in which it was looked at.

    It is taken when a thread computes for the first time, and in the main thread when this file is imported. It belongs
    to no array, so no count of the memory of arrays has it. No kernel calls another one while it computes, so there is
    one scratch for all.
    """

    def __init__(self) -> None:
        self.memory = bytearray(_NUMBER + 8)
        self.views: dict[tuple[Shape, np.dtype[Any]], Scratch] = {}

    def scratch(self, shape: Shape, dtype: np.dtype[Any]) -> Scratch:
        """To look at the memory in the shape of a block takes longer than to compute a small one: so it is kept."""
        view = self.views.get((shape, dtype))
        if view is None:
            if len(self.views) == _MOST_VIEWS:
                self.views.clear()
            view = self.views[shape, dtype] = Scratch(self.memory, shape, dtype)
        return view


@cache
def number(value: float, dtype: np.dtype[Any]) -> NumPyArray:
    """One of the numbers of a formula as an array without dims. For those alone: each is kept for ever."""
    array = _one_of_its_own(dtype)
    array[()] = value
    return array


def _one_of_its_own(dtype: np.dtype[Any]) -> NumPyArray:
    """An array without dims, in memory that no count of the memory of arrays has, as the scratch memory."""
    return np.frombuffer(bytearray(dtype.itemsize), dtype).reshape(())


_memory = _Memory()


def scratch(shape: Shape, dtype: np.dtype[Any]) -> Scratch:
    """The scratch memory of this thread, as arrays of one shape and dtype of at most `BLOCK_BYTES` each.

    Seen with another dtype it is the same memory: ``x`` lies where ``x`` lies, ``y`` where ``y`` does.
    """
    return _memory.scratch(shape, dtype)


def few_zeros(a: NumPyArray) -> NumPyArray | None:
    """Zeros of the shape and dtype of an array that is one block, and has been one before; nobody may write there."""
    view = _memory.views.get((a.shape, a.dtype))
    return None if view is None else view.zeros


def blockwise(kernel: Kernel, count: int) -> Callable[..., NumPyArray]:
    """A kernel as an operation: a function of ``count`` tensors and of numbers, whose result is a new row-major array.

    A number may stand for one of two tensors. With ``out``, the result is written there: a row-major array of the shape
    and dtype of the result. It may be one of the tensors, but else has no memory in common with one: see `apart`.
    """

    def compute(*arguments: Any, out: NumPyArray | None = None) -> NumPyArray:
        token = ignore_errors(IGNORED)
        try:
            if out is None:
                out = _new(arguments, count)
            scratch = _memory.views.get((out.shape, out.dtype))
            if scratch is not None:
                kernel(scratch, out, *arguments)
            else:
                _by_blocks(kernel, out, arguments[:count], arguments[count:])
        except NO_ROOM as error:
            explain(error, compute.__name__, arguments)
            raise
        finally:
            restore_errors(token)
        return out

    return compute


def _new(arguments: tuple[Any, ...], count: int) -> NumPyArray:
    """The array of the result, for so many tensors. The usual cases are first: a small array is computed sooner."""
    first, last = arguments[0], arguments[count - 1]
    if count == 1 or (count == 2 and type(first) is type(last) and first.shape == last.shape):
        return np.empty(first.shape, first.dtype)
    dtype = (first if type(first) is np.ndarray else last).dtype
    return np.empty(broadcast(*arguments[:count]), dtype)


def apart(arguments: tuple[Any, ...], out: NumPyArray) -> tuple[Any, ...]:
    """Arguments that may be read while ``out`` is written: one that has its memory in another order is copied."""
    return tuple([x.copy() if _is_overwritten(x, out) else x for x in arguments])


def _is_overwritten(x: Any, out: NumPyArray) -> bool:
    if x is out or type(x) is not np.ndarray or not np.may_share_memory(x, out):
        return False
    return not (x.ctypes.data == out.ctypes.data and _is_flat(x, out))


def _by_blocks(kernel: Kernel, out: NumPyArray, tensors: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
    """In general. The scratch memory is looked at for one block, so who finds it in a shape has one block."""
    is_half = out.dtype is _HALF
    if out.size <= (_MANY if out.dtype is _SINGLE else _FEW) and not is_half:
        kernel(_memory.scratch(out.shape, out.dtype), out, *tensors, *numbers)
    elif not is_half and all(_is_flat(tensor, out) for tensor in tensors):
        _by_slices(kernel, out, (*tensors, *numbers))
    else:
        _by_iterator(kernel, out, tensors, numbers)


def _is_flat(tensor: Any, out: NumPyArray) -> bool:
    """Whether the elements of a tensor lie one after another, as those of the result do; a number fits as well."""
    return type(tensor) is not np.ndarray or (
        tensor.shape == out.shape and tensor.dtype is out.dtype and bool(tensor.flags.c_contiguous)
    )


def _by_slices(kernel: Kernel, out: NumPyArray, arguments: tuple[Any, ...]) -> None:
    """Where everything is row-major, a block is a slice."""
    step, size = _MANY if out.dtype is _SINGLE else _FEW, out.size
    flat = [x.reshape(-1) if type(x) is np.ndarray else x for x in (out, *arguments)]
    scratch = _memory.scratch((step,), out.dtype)
    for start in range(0, size, step):
        if start + step > size:
            scratch = _memory.scratch((size - start,), out.dtype)
        kernel(scratch, *[x[start : start + step] if type(x) is np.ndarray else x for x in flat])


def _by_iterator(kernel: Kernel, out: NumPyArray, tensors: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
    """Any layout: NumPy's iterator finds the blocks, and copies one where its elements do not lie in one line.

    float16 is computed in float32, which is faster, since processors do not calculate in it. A number is rounded to
    float16 first: with a bound of 0.1 that is not rounded, the nearest float16 to it could lie outside.
    """
    dtype = _SINGLE if out.dtype is _HALF else out.dtype
    if out.dtype is _HALF:
        numbers = tuple([float(_HALF.type(x)) for x in numbers])
    new_iterator: Any = np.nditer  # its types do not know a list of operands with a dtype for each
    iterator = new_iterator(
        [*[np.asarray(x, out.dtype) for x in tensors], out],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[*[["readonly"]] * len(tensors), ["writeonly"]],
        op_dtypes=[dtype] * (len(tensors) + 1),
        order="C",
        casting="same_kind",
        buffersize=_FEW,
    )
    with iterator:
        for *parts, part in iterator:
            kernel(_memory.scratch(part.shape, dtype), part, *parts, *numbers)
