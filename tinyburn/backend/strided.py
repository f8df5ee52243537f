"""Views by strides: how one buffer is read in many shapes without a copy. `Meta` and `Wgpu` share this.

Element ``(i, j, ...)`` of a view lies ``offset + i * strides[0] + j * strides[1] + ...`` elements into its storage.
To permute, expand or slice is to change these few numbers; the buffer is not touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.shape import Shape, is_contiguous, num_elements, part_shape, permuted, row_major_strides

from .interface import Backend, Dims, Parts, windowed


class StridedArray:
    """A primitive that knows its storage and how it is read. ``storage`` stands for the buffer: views share it.

    Strides and offset are counted in elements. A stride of 0 reads the same element again and again, and a negative one
    walks towards the front of the storage.
    """

    __slots__ = ("dtype", "offset", "shape", "storage", "strides")

    def __init__(
        self, shape: Shape, dtype: np.dtype[Any], storage: Any, strides: tuple[int, ...] | None = None, offset: int = 0
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.storage = storage
        self.strides = row_major_strides(shape) if strides is None else strides
        self.offset = offset

    def __repr__(self) -> str:
        return f"StridedArray({self.shape}, {self.dtype.name}, strides={self.strides}, offset={self.offset})"

    @property
    def size(self) -> int:
        """How many elements it has."""
        return num_elements(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after another, in row-major order."""
        return is_contiguous(self.shape, self.strides)

    def view(self, shape: Shape, strides: tuple[int, ...], offset: int | None = None) -> StridedArray:
        """The same storage, read in another way."""
        return StridedArray(shape, self.dtype, self.storage, strides, self.offset if offset is None else offset)

    def expanded(self, shape: Shape) -> StridedArray:
        """Read in a shape of the same rank, the dims of size 1 again and again."""
        if shape == self.shape:
            return self
        dims = zip(shape, self.shape, self.strides, strict=True)
        return self.view(shape, tuple(0 if size != old else stride for size, old, stride in dims))


class Strided(Backend):
    """Movement for a backend whose primitives are `StridedArray`s. It adds how to copy one into a new buffer."""

    @classmethod
    def contiguous(cls, a: StridedArray) -> StridedArray:
        """A row-major copy."""
        raise NotImplementedError

    @classmethod
    def reshape(cls, a: StridedArray, shape: Shape) -> StridedArray:
        if not a.is_contiguous:
            a = cls.contiguous(a)
        return a.view(shape, row_major_strides(shape))

    @staticmethod
    def permute(a: StridedArray, axes: Dims) -> StridedArray:
        return a.view(permuted(a.shape, axes), permuted(a.strides, axes))

    @staticmethod
    def expand(a: StridedArray, shape: Shape) -> StridedArray:
        return a.view(shape, a.expanded(shape).strides)

    @staticmethod
    def flip(a: StridedArray, dims: Dims) -> StridedArray:
        strides = tuple([-stride if dim in dims else stride for dim, stride in enumerate(a.strides)])
        last = sum((a.shape[dim] - 1) * a.strides[dim] for dim in dims if a.shape[dim])
        return a.view(a.shape, strides, a.offset + last)

    @staticmethod
    def slice(a: StridedArray, parts: Parts) -> StridedArray:
        strides = tuple(stride * part.step for stride, part in zip(a.strides, parts, strict=True))
        start = sum(stride * part.start for stride, part in zip(a.strides, parts, strict=True))
        return a.view(part_shape(parts), strides, a.offset + start)

    @staticmethod
    def unfold(a: StridedArray, dim: int, size: int, step: int, dilation: int) -> StridedArray:
        stride = a.strides[dim]
        strides = (*a.strides[:dim], stride * step, *a.strides[dim + 1 :], stride * dilation)
        return a.view(windowed(a, dim, size, step, dilation), strides)

    @staticmethod
    def shares_buffer(a: StridedArray, b: StridedArray) -> bool:
        return a.storage is b.storage
