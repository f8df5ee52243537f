"""A rank that fails, and whose error is caught: ``mpiexec -n 3 python failures.py FOLDER``. No rank waits for ever, all
of them leave by an error, and after ``comm.renew()`` they go on. Each rank answers what it has seen, case by case."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.parallel.ranks import answer
from tinyburn import Autodiff, Finite, NdArray, Tensor, nn, optim, parallel, train
from tinyburn.parallel.ending import tell_of

ODD = 1
"""The rank that fails."""


class Broken(Exception):
    """What goes wrong."""


def before_a_meeting(comm: Any) -> None:
    comm.meet("both")
    if comm.rank == ODD:
        raise Broken("before a meeting")
    comm.meet("the others alone")


def in_a_gathering(comm: Any) -> None:
    comm.gather("values", (lambda: 0) if comm.rank == ODD else 0)  # a lambda cannot be pickled


def between_meeting_and_exchange(comm: Any) -> None:
    comm.meet("a sum")
    if comm.rank == ODD:
        raise Broken("before the exchange")
    comm.all_reduce(Tensor.ones((2**18,), NdArray.device()), is_met=True)


def in_a_sharded_update(comm: Any) -> None:
    """Only the last number of the weight overflows, and it is not in rank 0's share."""
    device = Autodiff[Finite[NdArray]].device()
    layer = parallel.same_start(nn.LinearConfig(6, 1, bias=False).init(device), comm)
    x = Tensor.from_data([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]], device)
    sharded = parallel.Sharded(optim.SgdConfig().init(), comm)
    sharded.step(1e20, layer, (layer(x).sum() * 1e30).backward(), 1)


def interrupted(comm: Any) -> None:
    """Ctrl-C reaches a rank that waits for the others. It has come to this meeting, but will not come to the next."""
    if comm.rank == ODD:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
    else:
        time.sleep(0.5)
    comm.meet("all of them")
    comm.meet("the others alone")


def all_at_one_place(comm: Any) -> None:
    """As by a mistake in a cell that all ranks run: they are still together."""
    comm.meet("all of them")
    raise Broken("everywhere")


def learning(fault: str) -> Callable[[Any], None]:
    """A rank fails in some part of a fit."""

    def fails(part: str, comm: Any) -> None:
        if part == fault and comm.rank == ODD:
            raise Broken(f"in the {part}")

    def job(comm: Any) -> None:
        device = Autodiff[NdArray].device()

        class Watched(train.LearningRate):
            def update(self, step: Any) -> None:
                fails("metric", comm)
                super().update(step)

        def batches(part: str) -> Iterator[Any]:
            for at in range(3):
                if at == 1:
                    fails(part, comm)
                yield Tensor.ones((2, 6), device), Tensor.ones((2, 3), device)

        class Loader:
            def __init__(self, part: str) -> None:
                self.part = part

            def __len__(self) -> int:
                return 3

            def __iter__(self) -> Iterator[Any]:
                return batches(self.part)

        learner = train.Learner(
            nn.LinearConfig(6, 3).init(device), optim.SgdConfig().init(), nn.MseLoss(), lr=0.1, comm=comm,
            metrics=[Watched()] if fault == "metric" else [],
        )  # fmt: skip
        learner.fit(Loader("loader"), Loader("valid"), after_step=lambda _: fails("after_step", comm), progress=False)

    return job


CASES: dict[str, Callable[[Any], None]] = {
    "before a meeting": before_a_meeting,
    "in a gathering": in_a_gathering,
    "between meeting and exchange": between_meeting_and_exchange,
    "in a sharded update": in_a_sharded_update,
    "interrupted": interrupted,
    "all at one place": all_at_one_place,
    **{part: learning(part) for part in ("loader", "valid", "metric", "after_step")},
}


def outcome(comm: Any, job: Callable[[Any], None]) -> list[Any]:
    """The error that this rank leaves by, and whether all of them go on afterwards."""
    try:
        job(comm)
        said = "no error"
    except BaseException as error:
        tell_of(error, comm)  # as a notebook does after a cell that has failed
        said = f"{type(error).__name__}: {error}"
    if job is not all_at_one_place:
        comm.renew()
    return [said, comm.gather("afterwards", comm.rank) == list(range(comm.size))]


if __name__ == "__main__":
    world = parallel.Mpi()
    answer(world, sys.argv[1], {name: outcome(world, job) for name, job in CASES.items()})
