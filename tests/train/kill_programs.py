"""A training that is a process of its own, and a program that kills it again and again.

``python -m tests.train.kill_programs train FOLDER EPOCHS`` trains, or goes on from what is in the folder.
``python -m tests.train.kill_programs kill FOLDER KILLS`` does so in processes that are killed, each but the last.

It imports only what it needs: an interpreter that has to start is most of what such a test costs.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tinyburn import Autodiff, Device, Module, NdArray, data, nn, optim, record, train

BATCHES, BATCH, SAVED_EACH = 5, 8, 3


class Net(Module):
    """With a dropout, which draws, and a batch norm, which a forward pass changes."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.LinearConfig(6, 8).init(device)
        self.norm = nn.BatchNormConfig(8).init(device)
        self.dropout = nn.DropoutConfig(0.3).init()
        self.second = nn.LinearConfig(8, 3).init(device)

    def forward(self, x: Any) -> Any:
        return self.second(self.dropout(self.norm(self.first(x)).tanh()))


def loader(device: Device[Any], seed: int, shuffle: bool) -> data.DataLoader[Any]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(BATCHES * BATCH, 6)).astype(np.float32)
    labels = (x[:, :3] + 0.5 * draw.normal(size=(len(x), 3))).argmax(1).astype(np.int64)
    return data.DataLoader(data.InMemory([*zip(x, labels, strict=True)]), BATCH, device, shuffle=shuffle, seed=3)


def training(folder: Path, epochs: int) -> None:
    """Trains until so many epochs are done. Each step adds a line to the folder's ``losses``."""
    device = Autodiff[NdArray].device()
    device.seed(1)
    learner = train.Learner(
        Net(device),
        optim.AdamConfig().init(),
        nn.CrossEntropyLossConfig().init(device),
        scheduler=optim.CosineAnnealingLrSchedulerConfig(0.02, 40),
        metrics=[train.Accuracy(), train.LearningRate()],
        early_stopping=train.EarlyStoppingConfig("valid loss", patience=10**6),
    )
    keeper = record.Keeper(folder / "kept", last=2, best=1)
    latest = keeper.latest()
    if latest is not None:
        learner.load_state(record.load(latest))

    with open(folder / "losses", "ab", buffering=0) as losses:

        def after(learner: train.Learner[Any]) -> None:
            step, loss = len(learner.history.losses), learner.history.losses[-1]
            losses.write(f"{step} {loss.hex()}\n".encode())
            if step % SAVED_EACH == 0:
                keeper.save(step, learner.state(), loss)

        batches, held_back = loader(device, 1, shuffle=True), loader(device, 2, shuffle=False)
        learner.fit(batches, held_back, epochs - learner.epoch, progress=False, after_step=after)
    keeper.save(len(learner.history.losses), learner.state(), learner.history.losses[-1])


def lines(folder: Path) -> list[list[str]]:
    """What all processes so far have written: the number of a step, and its loss."""
    path = folder / "losses"
    return [line.split() for line in path.read_text("ascii").splitlines()] if path.exists() else []


def drafts(folder: Path) -> set[str]:
    """The drafts of saves that run, and of those that a kill has ended."""
    return {path.name for path in (folder / "kept").glob("*.part")}


def killing(folder: Path, kills: int) -> dict[str, int]:
    """Kills a training at moments that a seed draws, then lets it come to its end.

    A moment is a number of steps, so that a slow machine gets as far, and then a part of a step, or, each second time,
    of a save. Each fifth process is a new interpreter; the others are forked from this one, which has never trained,
    so all that any of them knows of those before it is in the folder.
    """
    fork, spawn = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
    draw, halves = random.Random(1), 0
    for kill in range(kills):
        process: Any = (fork if kill % 5 else spawn).Process(target=training, args=(folder, 10**6))
        before, target = drafts(folder), len(lines(folder)) + draw.randrange(9)
        process.start()
        while len(lines(folder)) < target and process.is_alive():
            time.sleep(0.0005)
        if kill % 2:
            while drafts(folder) <= before and process.is_alive():
                pass
        time.sleep(draw.uniform(0, 0.0005 if kill % 2 else 0.01))
        process.kill()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            sys.exit(f"the training ended by itself, with exit code {process.exitcode}")
        halves += not drafts(folder) <= before
    epochs = max(int(step) for step, _ in lines(folder)) // BATCHES + 2
    process = spawn.Process(target=training, args=(folder, epochs))
    process.start()
    process.join()
    return {"epochs": epochs, "half_saved": halves, "exitcode": process.exitcode or 0}


if __name__ == "__main__":
    what, where, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(training(where, count) if what == "train" else killing(where, count)))
