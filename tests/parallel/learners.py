"""A `Learner` on several ranks: ``mpiexec -n 3 python learners.py FOLDER JOB``; each rank answers into the folder.

``cases`` trains in several ways; ``save FILE`` trains a while and leaves a state; ``resume FILE`` goes on from it;
``fewer``, ``nan`` and ``stop`` are what can go wrong.
"""

from __future__ import annotations

import os
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tests.parallel.ranks import answer
from tinyburn import Autodiff, Device, Module, NdArray, data, nn, optim, parallel, record, train

ITEMS, BATCH, EPOCHS = 22, 5, 3
SAVED_AT = 7
"""The step after which a state is saved: in the middle of the second epoch of 5 batches."""


class Net(Module):
    def __init__(self, device: Device[Any], dropout: float = 0.0, norm: bool = False) -> None:
        self.first = nn.LinearConfig(4, 6).init(device)
        self.norm = nn.BatchNormConfig(6).init(device) if norm else None
        self.dropout = nn.DropoutConfig(dropout).init()
        self.last = nn.LinearConfig(6, 3).init(device)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        x = x if self.norm is None else self.norm(x)
        return self.last(self.dropout(x.tanh()))


def loader(comm: Any, device: Device[Any], seed: int, items: int = ITEMS) -> data.DataLoader[Any]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(items, 4))
    labels = (x[:, :3] + 0.3 * draw.normal(size=(items, 3))).argmax(1)
    part = (comm.rank, comm.size)
    return data.DataLoader(data.InMemory.from_arrays(x, labels), BATCH, device, shuffle=True, seed=seed, part=part)


def learner(comm: Any, optimizer: Any = None, net: Any = Net, **options: Any) -> tuple[Any, Any, Any]:
    """With its batches to train on, and those to look at it with."""
    device = Autodiff[NdArray].device(float_dtype="float64")
    device.seed(comm.rank)  # each rank makes a model of its own; rank 0's counts
    loss = nn.CrossEntropyLossConfig().init(device)
    metrics = options.pop("metrics", [train.Accuracy(), train.ConfusionMatrix(), train.F1(), train.LearningRate()])
    made = train.Learner(
        net(device), optimizer or optim.AdamConfig().init(), loss, lr=0.02, comm=comm, metrics=metrics, **options
    )
    return made, loader(comm, device, 1), loader(comm, device, 2, 11)


def described(made: Any) -> dict[str, Any]:
    values = {path: param.val().to_numpy() for path, param in made.model.named_params()}
    values |= {path: tensor.to_numpy() for path, tensor in made.model.named_tensors()}
    return {
        "bits": sha256(b"".join(array.tobytes() for array in values.values())).hexdigest(),
        "values": {path: array.tolist() for path, array in values.items()},
        "losses": made.history.losses,
        "rows": made.history.rows,
        "random": made.device.random_state(),
    }


def fitted(comm: Any, epochs: int = EPOCHS, **options: Any) -> dict[str, Any]:
    made, batches, valid = learner(comm, **options)
    made.fit(batches, valid, epochs)
    return described(made)


def sharded(comm: Any, config: Any) -> Any:
    return parallel.Sharded(config.init(), comm, bucket_bytes=100)


GLOBAL_NORM = optim.GradientClippingConfig.GlobalNorm(0.1)


def every_case(comm: Any) -> dict[str, Any]:
    adam, own = optim.AdamConfig(), [train.Accuracy(), train.Perplexity()]
    norms = [train.GradientNorm(), train.UpdateRatio(), train.PeakMemory()]
    stopping = train.EarlyStoppingConfig(patience=1)
    return {
        "plain": fitted(comm),
        "accumulate": fitted(comm, accumulate=2, metrics=own),
        "clip": fitted(comm, clip=GLOBAL_NORM, metrics=norms),
        "sharded": fitted(comm, optimizer=sharded(comm, adam)),
        "sharded clip": fitted(comm, optimizer=sharded(comm, adam), clip=GLOBAL_NORM, accumulate=2),
        "early": fitted(comm, epochs=8, early_stopping=stopping, optimizer=optim.SgdConfig(momentum=0.99).init()),
        "noise": fitted(comm, net=lambda device: Net(device, dropout=0.5, norm=True), seed=3),
    }


def resumable(comm: Any, net: Any) -> tuple[Any, Any, Any]:
    return learner(comm, net=net, optimizer=sharded(comm, optim.AdamConfig()), accumulate=1)


def save(comm: Any, path: str, net: Any = Net) -> dict[str, Any]:
    made, batches, valid = resumable(comm, net)

    def after_step(learner: Any) -> None:
        if len(learner.history.losses) == SAVED_AT:
            learner.save(path)

    made.fit(batches, valid, EPOCHS, after_step=after_step)
    return described(made)


def resume(comm: Any, path: str, net: Any = Net) -> dict[str, Any]:
    made, batches, valid = resumable(comm, net)
    made.load_state(record.load(path))
    made.fit(batches, valid, EPOCHS - made.epoch)
    return described(made)


def noisy(device: Device[Any]) -> Net:
    """It draws random numbers in each forward pass. The last batch of 2 items leaves a rank of three without any."""
    return Net(device, dropout=0.5, norm=True)


def go_wrong(comm: Any, job: str, folder: str) -> None:
    Path(folder, f"{comm.rank}.pid").write_text(str(os.getpid()), encoding="utf-8")
    made, batches, _ = learner(comm, net=noisy if job == "stop" else Net)
    odd = comm.rank == 1
    if job == "fewer":
        made.fit(list(batches)[1:] if odd else list(batches))
    elif job == "nan":
        spoilt = [(x / 0.0 if odd and at == 2 else x, y) for at, (x, y) in enumerate(batches)]
        made.fit(spoilt)
    else:
        stop(comm, made, batches, folder)


def stop(comm: Any, made: Any, batches: Any, folder: str) -> None:
    """Goes on until somebody presses Ctrl-C."""

    def after_step(learner: Any) -> None:
        Path(folder, "waits").touch()

    history = made.fit(batches, epochs=10**6, after_step=after_step, sinks=[Slow()])
    answer(comm, folder, [len(history.losses), history.stopped, described(made)["bits"]])


class Slow(train.Sink):
    """Only rank 0 has sinks, so it is the last one to hear of Ctrl-C: while it is busy here."""

    def on_step(self, number: int, loss: float) -> None:
        time.sleep(0.01)


if __name__ == "__main__":
    folder, job, *words = sys.argv[1:]
    world = parallel.Mpi()
    if job == "cases":
        answer(world, folder, every_case(world))
    elif job in ("save", "resume"):
        path, *noise = words
        answer(world, folder, (save if job == "save" else resume)(world, path, noisy if noise else Net))
    else:
        go_wrong(world, job, folder)
