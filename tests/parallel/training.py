"""Trainings that are the same on one rank and on many: a program for ``mpiexec``, and what its cases are made of.

``mpiexec -n 4 python -m mpi4py training.py FOLDER`` runs them, and each rank writes its answers into the folder.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import Any

import numpy as np

from tests.parallel.ranks import answer
from tinyburn import Autodiff, Device, Module, NdArray, Tensor, data, nn, optim, parallel

BATCHES = (12, 7, 5, 2, 1)
"""The samples of each batch: even shares and uneven ones, and some without any from two ranks on."""

OPTIMIZERS: dict[str, Any] = {
    "sgd": optim.SgdConfig(),
    "momentum": optim.SgdConfig(momentum=0.9),
    "adam": optim.AdamConfig(),
}
MORE_OPTIMIZERS: dict[str, Any] = {
    "nesterov": optim.SgdConfig(momentum=optim.MomentumConfig(0.9, nesterov=True), weight_decay=0.01),
    "amsgrad": optim.AdamConfig(amsgrad=True, weight_decay=0.01),
    "adamw": optim.AdamWConfig(weight_decay=0.01),
    "rmsprop": optim.RmsPropConfig(momentum=0.5),
    "adagrad": optim.AdaGradConfig(lr_decay=0.01),
    "lion": optim.LionConfig(),
    "value": optim.SgdConfig(momentum=0.9, grad_clipping=optim.GradientClippingConfig.Value(0.05)),
    "norm": optim.SgdConfig(momentum=0.9, grad_clipping=optim.GradientClippingConfig.Norm(0.05)),
    "global norm": optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.05)),
}
EVERY_OPTIMIZER = OPTIMIZERS | MORE_OPTIMIZERS
WAYS = ("one each", "buckets", "sharded", "sharded buckets")
BUCKET_BYTES = {"one each": 0, "buckets": 200, "sharded": 0, "sharded buckets": 200}
"""200 bytes hold some of the model's gradients together, and not the largest."""


class Net(Module):
    """With a weight in two places, a frozen parameter, one that no loss reaches, and a bias of 3 numbers."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.LinearConfig(6, 8).init(device)
        self.middle = [nn.LinearConfig(8, 8).init(device)] * 2
        self.unused = nn.LinearConfig(2, 2).init(device)
        self.fixed = nn.LinearConfig(8, 8).init(device)
        self.last = nn.LinearConfig(8, 3).init(device)

    def forward(self, x: Any) -> Any:
        x = self.first(x).tanh()
        for layer in (*self.middle, self.fixed):
            x = layer(x).tanh()
        return self.last(x)


def samples(batch: int, number: int) -> tuple[Any, Any]:
    draw = np.random.default_rng([batch, number])
    return draw.normal(size=(batch, 6)), draw.normal(size=(batch, 3))


def fresh_model(device: Device[Any], comm: parallel.Communicator, seed: int) -> Any:
    """Each rank draws a model of its own; `same_start` has to make them one."""
    device.seed(seed + comm.rank)
    return parallel.same_start(Net(device).freeze("fixed"), comm)


def one_step(comm: Any, way: str, optimizer: Any, model: Any, x: Any, y: Any) -> tuple[Any, Any, int]:
    """A step on this rank's samples; its loss, if there are any, and how many they are."""
    count = x.shape[0]
    grads = loss = None
    if count:
        difference = model(x) - y
        loss = (difference * difference).mean()
        del difference
        grads = loss.backward()
    if way.startswith("sharded"):
        return optimizer.step(0.05, model, grads, count), loss, count
    grads = parallel.all_reduce(grads, model, comm, count, bucket_bytes=BUCKET_BYTES[way])
    return optimizer.step(0.05, model, grads), loss, count


def optimizer_of(comm: Any, way: str, config: Any) -> Any:
    made = config.init()
    return parallel.Sharded(made, comm, bucket_bytes=BUCKET_BYTES[way]) if way.startswith("sharded") else made


def trained(comm: Any, way: str, config: Any) -> dict[str, Any]:
    """Five batches of every size, each shared out."""
    device = Autodiff[NdArray].device(float_dtype="float64")
    model = fresh_model(device, comm, 3)
    optimizer = optimizer_of(comm, way, config)
    losses = []
    for number, batch in enumerate(BATCHES):
        x, y = (array[parallel.shard(batch, comm)] for array in samples(batch, number))
        pair = Tensor.from_data(x, device), Tensor.from_data(y, device)
        model, loss, count = one_step(comm, way, optimizer, model, *pair)
        losses.append(mean_of(comm, loss, count))
    return described(model) | {"losses": losses}


def loaded(comm: Any, way: str, config: Any, workers: int = 0) -> dict[str, Any]:
    """Two epochs of 19 items in batches of 4, in an order of their own, of which each rank reads its part."""
    device = Autodiff[NdArray].device(float_dtype="float64")
    model = fresh_model(device, comm, 4)
    optimizer = optimizer_of(comm, way, config)
    items = data.InMemory.from_arrays(*samples(19, 0))
    part = (comm.rank, comm.size)
    losses = []
    with data.DataLoader(items, 4, device, shuffle=True, seed=5, workers=workers, part=part) as loader:
        for _ in range(2):
            for x, y in loader:
                model, loss, count = one_step(comm, way, optimizer, model, x, y)
                losses.append(mean_of(comm, loss, count))
    return described(model) | {"losses": losses}


def mean_of(comm: Any, loss: Any, count: int) -> float:
    total = 0.0 if loss is None else loss.into_scalar() * count
    met = comm.meet("the mean of a loss", total, count)
    return float(sum(row[0] for row in met) / sum(row[1] for row in met))


def described(model: Any) -> dict[str, Any]:
    values = {path: param.val().to_numpy() for path, param in model.named_params()}
    bits = sha256(b"".join(array.tobytes() for array in values.values())).hexdigest()
    return {"bits": bits, "values": {path: array.tolist() for path, array in values.items()}}


def every_case(comm: Any, optimizers: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, config in optimizers.items():
        for way in WAYS:
            found[f"batches, {name}, {way}"] = trained(comm, way, config)
            found[f"loader, {name}, {way}"] = loaded(comm, way, config)
    return found


if __name__ == "__main__":
    world = parallel.Mpi()
    answer(world, sys.argv[1], every_case(world, EVERY_OPTIMIZER if "all" in sys.argv else OPTIMIZERS))
