"""Lesson 19: several processes that train one model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tinyburn import Tensor, memory, nn, optim, parallel
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
        "The job for rank 0 is job_of(tb.parallel.Pretend(0, size)). Its batch is that of all ranks together.",
        "Write try: ... except tb.memory.JobError: return 0.",
    ),
    solution="""
def answer(job_of, size, budget):
    job = job_of(tb.parallel.Pretend(0, size))
    try:
        return tb.memory.max_batch_size(job, budget).batch_size
    except tb.memory.JobError:
        return 0
""",
    wrong=(
        """
def answer(job_of, size, budget):
    job = job_of(tb.parallel.Pretend(0, size))
    return tb.memory.max_batch_size(job, budget).batch_size
""",
        """
def answer(job_of, size, budget):
    job = job_of(tb.parallel.Pretend(size - 1, size))
    try:
        return tb.memory.max_batch_size(job, budget).batch_size
    except tb.memory.JobError:
        return 0
""",
        """
def answer(job_of, size, budget):
    job = job_of(tb.parallel.Alone())
    try:
        return size * tb.memory.max_batch_size(job, budget).batch_size
    except tb.memory.JobError:
        return 0
""",
    ),
)
def plans_for_a_rank(answer: Callable[[Any, int, int], int]) -> bool:
    """With Adam on each rank and with Adam shared out; the first does not fit where the second does."""
    cases = ((_job_of, 64), (_sharded_job_of, 64), (_sharded_job_of, 3))
    return [answer(job_of, size, _BUDGET) for job_of, size in cases] == [_largest(*case) for case in cases]


_BUDGET = 2 * 2**20
Job: TypeAlias = Callable[[Device[Any], int], None]
JobOf: TypeAlias = Callable[[parallel.Communicator], Job]


def _largest(job_of: JobOf, size: int) -> int:
    """The largest batch on rank 0; 0 if no sample fits."""
    try:
        return memory.max_batch_size(job_of(parallel.Pretend(0, size)), _BUDGET).batch_size
    except memory.JobError:
        return 0


def _job_of(comm: parallel.Communicator) -> Job:
    """Two steps of a dense block with Adam."""

    def job(device: Device[Any], batch_size: int) -> None:
        block: Any = nn.LinearConfig(512, 256).init(device)
        adam = optim.AdamConfig().init()
        x, target = _shard_of(batch_size, comm, device)
        for _ in range(2):
            grads = ((block(x) - target) ** 2).mean().backward()
            grads = parallel.all_reduce(grads, block, comm, x.shape[0])
            block = adam.step(0.01, block, grads)

    return job


def _sharded_job_of(comm: parallel.Communicator) -> Job:
    """The same with Adam shared out."""

    def job(device: Device[Any], batch_size: int) -> None:
        block: Any = nn.LinearConfig(512, 256).init(device)
        adam = parallel.Sharded(optim.AdamConfig().init(), comm)
        x, target = _shard_of(batch_size, comm, device)
        for _ in range(2):
            grads = ((block(x) - target) ** 2).mean().backward()
            block = adam.step(0.01, block, grads, x.shape[0])

    return job


def _shard_of(batch_size: int, comm: parallel.Communicator, device: Device[Any]) -> tuple[Any, Any]:
    mine = parallel.shard(batch_size, comm)
    samples = mine.stop - mine.start
    return Tensor.ones((samples, 512), device), Tensor.zeros((samples, 256), device)
