"""What each rank does with memory, measured there, and planned there for a rank like it:
``mpiexec -n 4 python ledgers.py FOLDER momentum``."""

from __future__ import annotations

import sys
from collections.abc import Container
from typing import Any

from tests.parallel.ranks import answer
from tests.parallel.training import BUCKET_BYTES, WAYS, Net, one_step, optimizer_of
from tinyburn import Autodiff, Device, NdArray, Tensor, Wgpu, memory, optim, parallel
from tinyburn.backend import Category

BATCHES = (8, 5, 1)
CONFIGS: dict[str, Any] = {
    "momentum": optim.SgdConfig(momentum=0.9),
    "adam": optim.AdamConfig(),
    "clipped": optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.1)),
}


def job_of(comm: parallel.Communicator, way: str, config: Any) -> Any:
    """Two steps on this rank's part of a batch."""

    def job(device: Device[Any], batch_size: int) -> Any:
        model = parallel.same_start(Net(device).freeze("fixed", "unused"), comm)
        optimizer = optimizer_of(comm, way, config)
        part = parallel.shard(batch_size, comm)
        for _ in range(2):
            x = Tensor.ones((part.stop - part.start, 6), device)
            y = Tensor.zeros((part.stop - part.start, 3), device)
            model, _, _ = one_step(comm, way, optimizer, model, x, y)
        return model, optimizer  # which the job holds to its end

    return job


def ledger(comm: parallel.Communicator, way: str, config: Any, batch: int, backend: Any = NdArray) -> dict[str, Any]:
    device = Autodiff[backend].device()
    job = job_of(comm, way, config)
    measured = memory.measure(job, device, batch)
    planned = memory.plan(job_of(parallel.Pretend(comm.rank, comm.size), way, config), batch, device=device)
    most = max(memory.timeline.walk(measured.events), key=lambda row: row[2][Category.OPTIMIZER])
    return {
        "same": measured.events.events == planned.events.events and measured.events.names == planned.events.names,
        "peak": [measured.peak_bytes, planned.peak_bytes],
        "state": most[2][Category.OPTIMIZER],
        "phases": sorted({str(row.phase) for row in measured.operations}),
        "communication": max(row[2][Category.COMMUNICATION] for row in memory.timeline.walk(measured.events)),
    }


def every_ledger(comm: parallel.Communicator, names: Container[str]) -> dict[str, Any]:
    return {
        f"{name}, {way}, {batch}": ledger(comm, way, config, batch)
        for name, config in CONFIGS.items()
        for way in WAYS
        for batch in BATCHES
        if name in names
    }


def on_a_gpu(comm: parallel.Communicator) -> dict[str, Any]:
    """Its tensors go through the host, and take their place again."""
    config = CONFIGS["momentum"]
    return {f"wgpu, {way}, {batch}": ledger(comm, way, config, batch, Wgpu) for way in WAYS for batch in BATCHES}


if __name__ == "__main__":
    assert set(BUCKET_BYTES) == set(WAYS)
    world = parallel.Mpi()
    answer(world, sys.argv[1], on_a_gpu(world) if sys.argv[2:] == ["wgpu"] else every_ledger(world, sys.argv[2:]))
