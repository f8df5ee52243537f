"""Lesson 19: several processes that train one model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tinyburn import Autodiff, NdArray, Tensor, memory, nn, optim, parallel
from tinyburn.backend import Device

from .exercises import exercise


@exercise(
    "19.1",
    hints=(
        "In each of the two rounds a rank sends seven eighths of the gradients.",
        "The gradients have as many bytes as the parameters: 4 · 25 000 000.",
    ),
    solution="answer = 2 * 7 * 4 * 25_000_000 // 8",
    wrong=(
        "answer = 7 * 4 * 25_000_000 // 8",
        "answer = 2 * 7 * 25_000_000 // 8",
        "answer = 7 * 4 * 25_000_000",
        "answer = 2 * 4 * 25_000_000",
    ),
)
def counts_what_is_sent(answer: float) -> bool:
    """The formula of a reduce_scatter and an all_gather."""
    return answer == 175_000_000


@exercise(
    "19.2",
    hints=(
        "Multiply each loss by its number of samples, add these up, and divide by the number of all samples.",
        "0 times NaN is NaN, so leave out the ranks that have no samples.",
    ),
    solution="""
def answer(losses, samples):
    total = sum(loss * count for loss, count in zip(losses, samples) if count)
    return total / sum(samples)
""",
    wrong=(
        """
def answer(losses, samples):
    return sum(losses) / len(losses)
""",
        """
def answer(losses, samples):
    return sum(loss * count for loss, count in zip(losses, samples)) / sum(samples)
""",
        """
def answer(losses, samples):
    present = [loss for loss, count in zip(losses, samples) if count]
    return sum(present) / len(present)
""",
        """
def answer(losses, samples):
    total = sum(loss * count for loss, count in zip(losses, samples) if count)
    return total / len(samples)
""",
    ),
)
def weighs_by_samples(answer: Callable[[Sequence[float], Sequence[int]], float]) -> bool:
    """Each sample counts alike, and a rank without any does not count."""
    given = [([1.0, 5.0], [3, 1], 2.0), ([2.0, 4.0, 6.0], [1, 1, 1], 4.0), ([1.0, math.nan, 4.0], [1, 0, 2], 3.0)]
    return all(math.isclose(answer(losses, samples), mean) for losses, samples, mean in given)


@exercise(
    "19.3",
    hints=(
        "count // size samples are sure for each rank. How many ranks get one more?",
        "The shard of a rank may start at rank * count // size. Where does it stop?",
    ),
    solution="""
def answer(count, rank, size):
    return rank * count // size, (rank + 1) * count // size
""",
    wrong=(
        """
def answer(count, rank, size):
    part = count // size
    return rank * part, (rank + 1) * part
""",
        """
def answer(count, rank, size):
    part = count // size
    return rank * part, count if rank == size - 1 else (rank + 1) * part
""",
        """
def answer(count, rank, size):
    part = -(-count // size)
    return min(rank * part, count), min((rank + 1) * part, count)
""",
    ),
)
def cuts_shards(answer: Callable[[int, int, int], tuple[int, int]]) -> bool:
    """Also with fewer samples than ranks, and with none."""
    for count, size in ((10, 4), (1024, 4), (7, 7), (3, 5), (0, 3), (9, 1), (100, 7)):
        shards = [tuple(answer(count, rank, size)) for rank in range(size)]
        lengths = [stop - start for start, stop in shards]
        ends = [0, *(stop for _, stop in shards)]
        if [start for start, _ in shards] != ends[:-1] or ends[-1] != count or max(lengths) - min(lengths) > 1:
            return False
    return True


@exercise(
    "19.4",
    hints=(
        "The job is job_of(parallel.Pretend(0, 64)), and the other one job_of(parallel.Pretend(0, 64), True).",
        "If not a single sample fits, max_batch_size raises an error. Then the number is 0.",
    ),
    solution="""
budget = 2 * 2**20
shared = tb.memory.max_batch_size(job_of(parallel.Pretend(0, 64), True), budget)
answer = 0, shared.batch_size
""",
    wrong=("answer = 0, 164", "answer = 64, 10_496", "answer = 10_496, 10_496", "answer = 0, 10_497"),
)
def plans_for_a_rank(answer: tuple[int, int]) -> bool:
    """Without `Sharded` the parameters, gradients and Adam's numbers of one rank need more than there is."""
    return tuple(answer) == (_largest(False), _largest(True))


_BUDGET, _RANKS = 2 * 2**20, 64


def _largest(shares_adam: bool) -> int:
    """The largest batch of the lesson's job on rank 0; 0 if no sample fits."""
    job = _job_of(parallel.Pretend(0, _RANKS), shares_adam)
    try:
        return memory.max_batch_size(job, _BUDGET, device=Autodiff[NdArray].device()).batch_size
    except memory.JobError:
        return 0


def _job_of(comm: parallel.Communicator, shares_adam: bool) -> Callable[[Device[Any], int], None]:
    """Two steps of a dense block with Adam, as the lesson has them."""

    def job(device: Device[Any], batch_size: int) -> None:
        block: Any = parallel.same_start(nn.LinearConfig(512, 256).init(device), comm)
        adam = optim.AdamConfig().init()
        sharded = parallel.Sharded(adam, comm)
        mine = parallel.shard(batch_size, comm)
        samples = mine.stop - mine.start
        x, target = Tensor.ones((samples, 512), device), Tensor.zeros((samples, 256), device)
        for _ in range(2):
            grads: Any = ((block(x) - target) ** 2).mean().backward()
            if shares_adam:
                block = sharded.step(0.01, block, grads, samples)
            else:
                block = adam.step(0.01, block, parallel.all_reduce(grads, block, comm, samples))

    return job
