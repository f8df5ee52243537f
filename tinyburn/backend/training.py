"""What linear layers, losses and optimizers are made of, composed of the operations that every backend has to have."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from tinyburn.base.shape import Shape

from .operations import broadcast, composed

Array: TypeAlias = Any
Number: TypeAlias = float | int
Ops: TypeAlias = Any
"""The class of a backend, which has the operations that are asked for here."""


# How the shape of a result comes about


def projected(a: Any, weight: Any, bias: Any) -> Shape:
    """Other features in the last dim."""
    return (*a.shape[:-1], weight.shape[1])


def times_transposed(a: Any, weight: Any) -> Shape:
    """As many features as the weight has rows."""
    return (*a.shape[:-1], weight.shape[0])


def transposed_times(a: Any, b: Any) -> Shape:
    """A row for each feature of ``b``, and a column for each of ``a``."""
    return (b.shape[-1], a.shape[-1])


def last_dim(a: Any) -> Shape:
    """The features alone."""
    return (a.shape[-1],)


class Training:
    """Part of `Backend`."""

    @classmethod
    @composed(broadcast, fused=True)
    def squared_difference(cls: Ops, a: Array, b: Array) -> Array:
        """``(a - b) ** 2``."""
        difference = cls.sub(a, b)
        return cls.mul(difference, difference)

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def squared_difference_backward(cls: Ops, a: Array, b: Array, out: Array) -> Array:
        """``a * (b - out) * 2``, but 0 where ``a`` is 0."""
        return cls.scaled_mul(a, cls.sub(b, out), 2.0)

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def add_scaled(cls: Ops, a: Array, b: Array, scale: Number) -> Array:
        """``a + b * scale``."""
        return cls.add(a, cls.mul(b, scale))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def weighted_sum(cls: Ops, a: Array, b: Array, first: Number, second: Number) -> Array:
        """``a * first + b * second``."""
        return cls.add(cls.mul(a, first), cls.mul(b, second))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def weighted_square_sum(cls: Ops, a: Array, b: Array, first: Number, second: Number) -> Array:
        """``a * first + b * b * second``."""
        return cls.add(cls.mul(a, first), cls.mul(cls.mul(b, second), b))

    @classmethod
    @composed(broadcast, fused=True, in_place=True)
    def adaptive_sum(cls: Ops, a: Array, b: Array, c: Array, first: Number, second: Number, epsilon: Number) -> Array:
        """``a * first + b * second / (sqrt(c) + epsilon)``."""
        return cls.add(cls.mul(a, first), cls.div(cls.mul(b, second), cls.add(cls.sqrt(c), epsilon)))

    @classmethod
    @composed(projected, fused=True, cheap=False)
    def linear(cls: Ops, a: Array, weight: Array, bias: Array) -> Array:
        """``a @ weight + bias`` over the last dim of ``a``, with a weight of rank 2 and a bias of rank 1."""
        ones = (1,) * (len(a.shape) - 2)
        product = cls.matmul(a, cls.reshape(weight, (*ones, *weight.shape)))
        return cls.add(product, cls.reshape(bias, (*ones, 1, *bias.shape)))

    @classmethod
    @composed(times_transposed, label="linear")
    def linear_input(cls: Ops, a: Array, weight: Array) -> Array:
        """``a @ weight.mT``: the gradient of the input of `linear`, where ``a`` is that of its result."""
        ones = (1,) * (len(a.shape) - 2)
        stacked = cls.reshape(weight, (*ones, *weight.shape)) if ones else weight
        return cls.matmul(a, cls.permute(stacked, _swapped_last(len(a.shape))))

    @classmethod
    @composed(transposed_times, label="linear")
    def linear_weight(cls: Ops, a: Array, b: Array) -> Array:
        """``b.mT @ a``: that of its weight, where ``b`` is the input. All rows count, whatever the dims before are."""
        return cls.matmul(cls.permute(_rows(cls, b), (1, 0)), _rows(cls, a))

    @classmethod
    @composed(last_dim, label="linear")
    def linear_bias(cls: Ops, a: Array) -> Array:
        """The sum of all rows of ``a``: that of its bias."""
        return cls.reshape(cls.sum_dims(a, tuple(range(len(a.shape) - 1))), a.shape[-1:])


def _rows(cls: Ops, a: Array) -> Array:
    """All dims but the last as one."""
    shape = a.shape
    return a if len(shape) == 2 else cls.reshape(a, (math.prod(shape[:-1]), shape[-1]))


def _swapped_last(rank: int) -> tuple[int, ...]:
    """The order of dims with the last two exchanged."""
    return (*range(rank - 2), rank - 1, rank - 2)
