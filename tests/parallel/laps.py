"""One training with `Timed` and without: ``mpiexec -n 2 python -m mpi4py laps.py FOLDER``; each rank answers."""

from __future__ import annotations

import sys
from typing import Any

from tests.parallel.learners import described, learner, sharded
from tests.parallel.ranks import answer
from tinyburn import optim, parallel, viz

OPTIMIZERS = ("whole", "sharded")


def trained(comm: Any, optimizer: str) -> tuple[str, list[parallel.Lap]]:
    """The bits of the model at the end, and a lap for each step if times are taken. Shares of a batch are uneven."""
    config = optim.AdamConfig()
    made = learner(comm, sharded(comm, config) if optimizer == "sharded" else config.init(), metrics=[])
    laps: list[parallel.Lap] = []

    def after_step(_: Any) -> None:
        if isinstance(comm, parallel.Timed):
            laps.append(comm.lap())

    after_step(None)  # the start is no step
    made[0].fit(made[1], epochs=2, after_step=after_step)
    return described(made[0])["bits"], laps[1:]


def both(comm: Any, optimizer: str) -> dict[str, Any]:
    plain, _ = trained(comm, optimizer)
    timed, laps = trained(parallel.Timed(comm), optimizer)
    picture = viz.rank_timeline(comm.gather("the laps of a step", laps[2]))
    return {"plain": plain, "timed": timed, "laps": laps, "rows": len(picture.text.splitlines()) - 1}


if __name__ == "__main__":
    world = parallel.Mpi()
    answer(world, sys.argv[1], {optimizer: both(world, optimizer) for optimizer in OPTIMIZERS})
