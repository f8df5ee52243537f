"""What is done once, before the first step: one model everywhere, and random numbers that differ."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count
from tinyburn.base.shares import share
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

from .communicator import AnyTensor, Communicator, check_comm

M = TypeVar("M", bound=Module)

WORD, LONG = 32, 64
"""Bits: of the part of a seed that tells the ranks apart, and of a seed."""


def shard(count: int, comm: Communicator) -> slice:
    """This rank's part of ``count`` samples: ``x[shard(x.shape[0], comm)]`` are its rows of a batch.

    The parts of all ranks are the batch, in order; their sizes differ by 1 at most. With fewer samples than ranks the
    last ranks have none. Raises ConfigError for what is no number of samples.
    """
    check_comm("shard", comm)
    if not is_count(count):
        raise ConfigError("shard", f"count is {count!r}, and must be a whole number of 0 or more")
    return share(count, comm.rank, comm.size)


def sent_bytes(gradient_bytes: int, comm: Communicator) -> int:
    """How many bytes this rank sends in a step, for gradients of so many bytes: ``2 (n - 1) / n`` times as many.

    Each rank sends all but its own share, and then its share of the sum to all others: `all_reduce` does both, and
    `Sharded` with its step between them. No way of adding up sends less: Patarasuk and Yuan 2009, "Bandwidth optimal
    all-reduce algorithms for clusters of workstations". Raises ConfigError for what is no number of bytes.
    """
    check_comm("sent_bytes", comm)
    if not is_count(gradient_bytes):
        raise ConfigError(
            "sent_bytes", f"gradient_bytes is {gradient_bytes!r}, and must be a whole number of 0 or more"
        )
    return 2 * (comm.size - 1) * gradient_bytes // comm.size


def same_start(model: M, comm: Communicator) -> M:
    """The model of rank 0 on every rank. From here on models are equal, and random numbers are not.

    Each rank makes a model by the same program, with whatever values; those of rank 0 are sent to the others. The
    parameters keep who they are. The random numbers of the model's device go on as on rank 0, but each rank has a
    sequence of its own: a dropout differs from rank to rank, and the same seed gives the same training again.

    Raises RanksDiffer if the models differ in their names, shapes or dtypes, or in what is frozen.
    """
    check_comm("same_start", comm)
    if comm.size == 1:
        return model
    comm.meet("same_start of a model\n" + described(model))
    started = _same_tensors(model.map(lambda _, param: _started(param, comm)), comm)
    for device in devices_of(model):
        spread_random(device, comm)
    return started


def same_tensors(model: M, comm: Communicator) -> M:
    """The constants of rank 0 on every rank: what a forward pass changes, as that of a batch norm does, has come to
    differ, for each rank has seen its own samples. Raises as `same_start` does."""
    if comm.size == 1:
        return model
    comm.meet("same_tensors of a model\n" + described(model))
    return _same_tensors(model, comm)


def _same_tensors(model: M, comm: Communicator) -> M:
    return model.with_tensors({path: _sent(tensor, comm) for path, tensor in model.named_tensors()})


def described(model: Module) -> str:
    """A line for each value of a model: what has to be the same on all ranks, and cannot be told from the values."""
    lines = [type(model).__name__]
    for path, part in model.named_values():
        tensor = part.val() if isinstance(part, Param) else part
        kind = "constant" if not isinstance(part, Param) else "frozen" if part.is_frozen else "parameter"
        lines.append(f"{path} {tuple(tensor.shape)} {tensor.dtype}, {kind}")
    return "\n".join(lines)


def _started(param: Param[Any, Any], comm: Communicator) -> Param[Any, Any]:
    return param.replaced(_sent(param.val(), comm))


def _sent(tensor: AnyTensor, comm: Communicator) -> AnyTensor:
    """The values of rank 0 as a constant on this rank's device."""
    if not tensor.backend.is_autodiff:
        return comm.broadcast(tensor, is_met=True)
    inner: Any = tensor.detach()
    return Tensor.from_inner(comm.broadcast(inner.inner(), is_met=True), tensor.device)


def devices_of(model: Module) -> list[Device[Any]]:
    """Where the values of a model are: mostly one device."""
    tensors = [part.val() if isinstance(part, Param) else part for _, part in model.named_values()]
    return list({id(tensor.device): tensor.device for tensor in tensors}.values())


def spread_random(device: Device[Any], comm: Communicator) -> None:
    """The random numbers of rank 0 on each rank, but in a sequence of its own; on rank 0 they go on as they were.

    The sequence is told by the seed's upper half, to which the rank is added.
    """
    state = device.random_state()
    if state is None or comm.size == 1:
        return
    seed, draws = state
    words = (seed & (2**WORD - 1), seed >> WORD & (2**WORD - 1), draws)
    low, high, draws = map(int, comm.meet("random numbers of a device", *words)[0])
    device.set_random_state((low | (high + comm.rank) % 2**WORD << WORD, draws))
