"""The gradient of the whole batch, of which each rank has a part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from tinyburn.autodiff import Gradients
from tinyburn.base.errors import ConfigError
from tinyburn.module import Module, Param
from tinyburn.optim.update import phase
from tinyburn.tensor import Tensor

from .buckets import (
    BUCKET_BYTES,
    Bucket,
    Entry,
    buckets_of,
    check_bytes,
    entries_of,
    joined,
    parted,
    said_of,
    trained,
)
from .communicator import MOST_NUMBERS, AnyTensor, Communicator, check_comm

AnyParam: TypeAlias = Param[Any, Any]

_BITS = 52
"""How many yes or no go into one number of a meeting."""


class Part(NamedTuple):
    """What one rank brings to a step, and what all of them have agreed on.

    Attributes:
        params: those that a gradient can reach, with their paths.
        entries: the same as every rank knows them.
        wanted: for each of them whether some rank has a gradient of it.
        weight: this rank's share of all samples.
        grads: this rank's gradients; None if it has no samples.
    """

    params: list[tuple[str, AnyParam]]
    entries: tuple[Entry, ...]
    wanted: tuple[bool, ...]
    weight: float
    grads: Gradients[Any] | None

    def taken(self, at: int, asked: str) -> tuple[AnyTensor, bool]:
        """This rank's gradient of one parameter, taken out, and whether nobody else can see it.

        Zeros where it has none: a sample that does not reach a parameter adds nothing to the sum.
        """
        tensor: Any = self.params[at][1].val()
        if self.grads is not None and self.grads.reaches(tensor):
            return self.grads.take(tensor, asked)
        return Tensor.zeros(tensor.shape, tensor.device.inner, dtype=tensor.dtype), True


def all_reduce(
    grads: Gradients[Any] | None,
    model: Module,
    comm: Communicator,
    samples: float | None = None,
    *,
    bucket_bytes: int = BUCKET_BYTES,
) -> Gradients[Any]:
    """The gradients of the mean over all ranks' samples, on every rank with the same bits.

    Each rank's loss is the mean over its own samples, so its gradient counts by how many these are: ``sum of
    samples * gradient / sum of samples``. That is the gradient of the mean over the whole batch, up to rounding.

    The gradients of the model's parameters are taken out of ``grads``; those that nobody else can see are written
    over. Gradients of other tensors stay there, and are of this rank alone.

    Args:
        grads: of this rank; None if it had no samples.
        model: with the same parameters everywhere.
        comm: who takes part. With a single rank ``grads`` are returned as they are.
        samples: how many this rank's loss was the mean of; without it, each rank with gradients counts alike. 0 for
            none; then its gradients do not count.
        bucket_bytes: gradients of at most so many bytes share messages of at most so many; 0 for one message each.

    Raises:
        RanksDiffer: the models have other names, shapes or dtypes, or a rank does something else.
        ConfigError: no rank has samples, or their number is negative or no number; or these are no gradients, no model
            or no communicator.
    """
    check_bytes("all_reduce", bucket_bytes)
    weight = check_part("all_reduce", grads, comm, samples)
    if comm.size == 1 and grads is not None:
        return grads
    part = meet_for("all_reduce", grads, trained("all_reduce", model), comm, weight)
    leaves: dict[Any, AnyTensor] = {}
    exclusive: set[Any] = set()
    with phase("communication", part.params[0][1].val()):
        for bucket in buckets_of(part.entries, part.wanted, bucket_bytes):
            nodes = [part.params[at][1].val().primitive.node for at in bucket]
            total = comm.all_reduce(weighted(part, bucket, "all_reduce"), is_spare=True, is_met=True)
            leaves |= zip(nodes, _gradients(total, [part.entries[at] for at in bucket]), strict=True)
            exclusive |= set(nodes) if len(nodes) == 1 else set()  # views of one bucket cannot be written over
    return Gradients(leaves, None, exclusive)


def _gradients(total: AnyTensor, entries: Sequence[Entry]) -> list[AnyTensor]:
    total.backend.note(total.primitive, "gradient")
    return parted(total, entries) if len(entries) > 1 else [total]


def weighted(part: Part, bucket: Bucket, asked: str) -> AnyTensor:
    """What this rank adds to the sum of a bucket, in a buffer that nobody else sees: of the gradient's own shape if it
    is one, else a row of numbers."""
    first, *others = bucket
    if others:
        whole, is_spare = joined([part.taken(at, asked)[0] for at in bucket]), True
    else:
        whole, is_spare = part.taken(first, asked)
    backend = whole.device.backend
    if is_spare:
        return whole._new(backend.into(whole.primitive, "mul", whole.primitive, part.weight))
    return whole * part.weight


def check_part(asked: str, grads: Any, comm: Any, samples: Any) -> float:
    """By how many samples this rank's gradients count. Raises ConfigError, with every reason."""
    check_comm(asked, comm)
    if samples is None:
        samples = 0 if grads is None else 1
    reasons = []
    if not (grads is None or isinstance(grads, Gradients)):
        reasons.append(f"{type(grads).__name__} holds no gradients: hand it what loss.backward() returns")
    if not _is_count_or_weight(samples):
        reasons.append(f"rank {comm.rank} has {samples!r} samples, and that is no number of 0 or more")
    elif grads is None and samples:
        reasons.append(f"rank {comm.rank} has {samples!r} samples and no gradients of them")
    if reasons:
        raise ConfigError(asked, reasons, hint="samples is how many this rank's loss was the mean of: x.shape[0]")
    return float(samples)


def _is_count_or_weight(samples: Any) -> bool:
    is_number = type(samples) is int or (isinstance(samples, Real) and not isinstance(samples, bool))
    return is_number and 0 <= float(samples) < math.inf


def meet_for(
    asked: str, grads: Gradients[Any] | None, params: list[tuple[str, AnyParam]], comm: Communicator, samples: float
) -> Part:
    """Agrees with all ranks on a step: that their models are alike, on the weights, and on which gradients there are.

    Raises as `all_reduce` does.
    """
    entries = entries_of(params)
    grads = grads if samples else None
    values = [param.val() for _, param in params]
    own = [value.is_require_grad if grads is None else grads.reaches(value) for value in values]
    flags = _numbers(own)
    met = comm.meet(f"{asked} of these gradients\n{said_of(entries)}", samples, *flags[: MOST_NUMBERS - 1])
    weights = [row[0] for row in met]
    if not any(weights):
        reason = "no rank has any samples, so there is no mean"
        raise comm.on_every_rank(ConfigError(asked, reason, hint="leave out a step for which nobody has samples"))
    told = [list(row[1:]) for row in met]
    if len(flags) >= MOST_NUMBERS:
        rest = comm.gather(f"{asked}: which gradients there are", flags[MOST_NUMBERS - 1 :])
        told = [one + other for one, other in zip(told, rest, strict=True)]
    wanted = _any_of([row for row, weight in zip(told, weights, strict=True) if weight], len(params))
    return Part(params, entries, wanted, samples / sum(weights), grads)


def _any_of(told: Sequence[Sequence[float]], count: int) -> tuple[bool, ...]:
    """For each of them whether it is true on some rank that has samples."""
    together = [0] * len(told[0])
    for row in told:
        together = [one | int(other) for one, other in zip(together, row, strict=True)]
    return tuple(_flags(together, count))


def _numbers(flags: Sequence[bool]) -> list[int]:
    """As the digits of numbers."""
    parts = (flags[start : start + _BITS] for start in range(0, len(flags), _BITS))
    return [int("".join("1" if flag else "0" for flag in part), 2) for part in parts]


def _flags(numbers: Sequence[int], count: int) -> Iterator[bool]:
    for at, number in enumerate(numbers):
        width = min(_BITS, count - at * _BITS)
        yield from (digit == "1" for digit in f"{number:0{width}b}")
