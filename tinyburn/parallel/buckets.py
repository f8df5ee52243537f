"""Which gradients travel together.

A message costs some time however short it is, and to put several together costs a copy of each. So small gradients
share a message, a bucket, and a large one travels by itself, without a copy. The buckets are the same on every rank:
they follow from the names, shapes and dtypes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from tinyburn.base.dtype import DType
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import Shape, is_count, num_elements
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
AnyParam: TypeAlias = Param[Any, Any]

BUCKET_BYTES = 2**20
"""A gradient with more bytes travels by itself; smaller ones together, up to so many. ``benchmarks/parallel.py`` has
the times of other sizes: this one is the fastest, or near it, for layers of 32 to 1 024."""


class Entry(NamedTuple):
    """One gradient, as every rank knows it.

    Attributes:
        path: of its parameter.
    """

    path: str
    shape: Shape
    dtype: DType

    @property
    def numbers(self) -> int:
        """How many numbers it has."""
        return num_elements(self.shape)

    @property
    def bytes(self) -> int:
        """How many bytes these take."""
        return self.numbers * self.dtype.bytes

    def __str__(self) -> str:
        return f"{self.path} {tuple(self.shape)} {self.dtype}"


Bucket: TypeAlias = tuple[int, ...]
"""The entries that travel in one message, by their places in the list of all."""


def check_bytes(asked: str, bucket_bytes: object) -> None:
    """Raises ConfigError for what is no size of buckets."""
    if not is_count(bucket_bytes):
        reason = f"bucket_bytes is {bucket_bytes!r}, and must be a whole number of 0 or more"
        raise ConfigError(asked, reason, hint=f"leave it out: it is {BUCKET_BYTES}")


def trained(asked: str, model: Any) -> list[tuple[str, AnyParam]]:
    """The parameters that a gradient can reach, with their paths. Raises ConfigError if there are none."""
    if not isinstance(model, Module):
        raise ConfigError(asked, f"{type(model).__name__} is no Module", hint="hand it the gradients, then the model")
    params = [
        (path, param)
        for path, param in model.named_params()
        if param.val().backend.is_autodiff and param.val().is_require_grad
    ]
    if not params:
        reason = f"no parameter of {type(model).__name__} is trained: all are frozen, or on no autodiff backend"
        raise ConfigError(asked, reason, hint="make the model on Autodiff[NdArray].device(), and unfreeze a part of it")
    return params


def entries_of(params: Iterable[tuple[str, AnyParam]]) -> tuple[Entry, ...]:
    """What every rank has to have alike."""
    return tuple([Entry(path, tuple(param.val().shape), param.val().dtype) for path, param in params])


@cache
def said_of(entries: tuple[Entry, ...]) -> str:
    """All of it in words, a line for each."""
    return "\n".join(map(str, entries))


@cache
def buckets_of(entries: tuple[Entry, ...], wanted: tuple[bool, ...], most: int) -> tuple[Bucket, ...]:
    """The wanted entries in order; neighbours of one dtype together, as long as they have at most ``most`` bytes."""
    made: list[list[int]] = []
    room = 0
    for at, entry in enumerate(entries):
        if not wanted[at]:
            continue
        if made and entry.bytes <= room and entries[made[-1][-1]].dtype is entry.dtype:
            made[-1].append(at)
            room -= entry.bytes
        else:
            made.append([at])
            room = most - entry.bytes
    return tuple(map(tuple, made))


def joined(tensors: Sequence[AnyTensor]) -> AnyTensor:
    """Several tensors as one row of numbers, in a new buffer."""
    whole = Tensor.cat([tensor.reshape((num_elements(tensor.shape),)) for tensor in tensors], 0)
    whole.backend.note(whole.primitive, "communication")
    return whole


def parted(whole: AnyTensor, entries: Sequence[Entry]) -> list[AnyTensor]:
    """The other way round: each with its shape, as views of the one buffer."""
    parts = whole.split_with_sizes([entry.numbers for entry in entries], 0)
    return [part.reshape(entry.shape) for part, entry in zip(parts, entries, strict=True)]
