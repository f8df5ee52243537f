"""Convolution: a training step of a network of LeNet's size, one convolution forward and backward, and their peaks.

Both libraries' models are written alike and start from the same parameters. PyTorch's convolutions are oneDNN's, whose
scratch memory its profiler does not see; ours are products of columns, which our ledger does see.

Each row of times is the middle one of three races, and its range is from the lowest to the highest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from race import RACES, race, repeated_row, timer
from result import Row, Target, exact_row
from torch_memory import profiled_peak
from training_step import EAGER

from tinyburn import Autodiff, Device, Module, NdArray, Tensor, activation, memory, nn, optim

ROUNDS = 20
STILL = 1e-9
"""The learning rate of a race: the numbers stay, so that the last round is as the first."""

BATCH = 64
MOST_TIME, MOST_TIME_OF_ONE, MOST_BYTES = 1.3, 2.0, 1.0
"""Targets for tinyburn's time and peak over PyTorch's."""


class LeNet(Module):
    """LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition", with relu and max pooling."""

    def __init__(self, device: Device[Any]) -> None:
        self.first = nn.Conv2dConfig((1, 6), 5, padding=nn.PaddingConfig2d.Same).init(device)
        self.second = nn.Conv2dConfig((6, 16), 5).init(device)
        self.pool = nn.MaxPool2dConfig(2).init()
        self.layers = [nn.LinearConfig(*sizes).init(device) for sizes in ((400, 120), (120, 84), (84, 10))]

    def forward(self, x: Any) -> Any:
        """From (n, 1, 28, 28) to (n, 10)."""
        x = self.pool(activation.relu(self.first(x)))
        x = self.pool(activation.relu(self.second(x))).reshape((x.shape[0], -1))
        for layer in self.layers[:-1]:
            x = activation.relu(layer(x))
        return self.layers[-1](x)


def torch_lenet() -> torch.nn.Sequential:
    """The same."""
    relu, pool, linear = torch.nn.ReLU, torch.nn.MaxPool2d, torch.nn.Linear
    convolutions = [torch.nn.Conv2d(1, 6, 5, padding=2), relu(), pool(2), torch.nn.Conv2d(6, 16, 5), relu(), pool(2)]
    layers = [torch.nn.Flatten(), linear(400, 120), relu(), linear(120, 84), relu(), linear(84, 10)]
    return torch.nn.Sequential(*convolutions, *layers)


class One(Module):
    """A convolution by itself, of 3x3, from 64 channels to 64."""

    def __init__(self, device: Device[Any]) -> None:
        self.layer = nn.Conv2dConfig((64, 64), 3, padding=nn.PaddingConfig2d.Same).init(device)

    def forward(self, x: Any) -> Any:
        """From (n, 64, h, w) to the same."""
        return self.layer(x)


@dataclass(frozen=True)
class Job:
    """A model, and the shapes of its batch and of its targets.

    Attributes:
        tracks_input: whether a gradient goes to the input too, as in the middle of a network.
        most_time: the target for the time over PyTorch's.
    """

    title: str
    model: Callable[[Device[Any]], Any]
    torch_model: Callable[[], torch.nn.Module]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tracks_input: bool
    most_time: float


JOBS = (
    Job(f"LeNet, batch {BATCH}, with SGD", LeNet, torch_lenet, (BATCH, 1, 28, 28), (BATCH, 10), False, MOST_TIME),
    Job(
        "conv 3x3, 64 to 64 at 8x28x28",
        One,
        lambda: torch.nn.Sequential(torch.nn.Conv2d(64, 64, 3, padding=1)),
        (8, 64, 28, 28),
        (8, 64, 28, 28),
        True,
        MOST_TIME_OF_ONE,
    ),
)


class Tinyburn:
    """One job's model and batch, and its step."""

    def __init__(self, job: Job, device: Device[Any], lr: float) -> None:
        self.model = job.model(device)
        self.x, self.y = (Tensor.from_data(array, device) for array in make_batch(job))
        self.tracks_input, self.sgd, self.lr = job.tracks_input, optim.SgdConfig().init(), lr

    def step(self) -> Any:
        """Forward and backward, and SGD where the input is not tracked."""
        x = self.x.detach().require_grad() if self.tracks_input else self.x
        grads = nn.MseLoss()(self.model(x), self.y).backward()
        if not self.tracks_input:
            self.model = self.sgd.step(self.lr, self.model, grads)
        return grads

    def parameters(self) -> list[Any]:
        return [parameter.val().to_numpy() for _, parameter in self.model.named_params()]


class PyTorch:
    """The same with PyTorch, starting from the same parameters."""

    def __init__(self, job: Job, lr: float, start: list[Any] | None = None) -> None:
        self.model = job.torch_model()
        for mine, theirs in zip(start or [], self.model.parameters(), strict=bool(start)):
            theirs.data.copy_(torch.from_numpy(mine.T if mine.ndim == 2 else mine))
        self.x, self.y = (torch.from_numpy(array) for array in make_batch(job))
        self.x.requires_grad_(job.tracks_input)
        self.loss, self.sgd = torch.nn.MSELoss(), torch.optim.SGD(self.model.parameters(), lr)
        self.tracks_input = job.tracks_input

    def step(self) -> None:
        self.x.grad = None
        self.sgd.zero_grad()
        self.loss(self.model(self.x), self.y).backward()
        if not self.tracks_input:
            self.sgd.step()

    def parameters(self) -> list[Any]:
        """As tinyburn stores them."""
        values = [parameter.detach().numpy() for parameter in self.model.parameters()]
        return [value.T if value.ndim == 2 else value for value in values]


def make_batch(job: Job) -> list[Any]:
    """Input and target, the same numbers for both libraries."""
    draw = np.random.default_rng(0).standard_normal
    return [draw(shape, "float32") for shape in (job.inputs, job.outputs)]


def make_contenders(job: Job, lr: float) -> tuple[Tinyburn, PyTorch]:
    device: Device[Any] = Autodiff[NdArray].device()
    device.seed(0)
    ours = Tinyburn(job, device, lr)
    return ours, PyTorch(job, lr, ours.parameters())


def check_equal_training(job: Job) -> None:
    """A race between steps that compute different things would say nothing: a few steps must end in the same model."""
    contenders = make_contenders(job, lr=0.1)
    for contender in contenders:
        for _ in range(3):
            contender.step()
    for found, wanted in zip(*[contender.parameters() for contender in contenders], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5, err_msg=job.title)


def time_row(job: Job) -> Row:
    check_equal_training(job)
    races = []
    for _ in range(RACES):
        ours, theirs = make_contenders(job, STILL)
        races.append(race({"tinyburn": timer(ours.step), EAGER: timer(theirs.step)}, ROUNDS))
    return repeated_row("convolution", job.title, races, "tinyburn", EAGER, "ms", Target("ratio", job.most_time))


def peak_row(job: Job) -> Row:
    """Of two steps: only in the second one are there gradients of the step before."""

    def ours(device: Device[Any]) -> Any:
        contender = Tinyburn(job, device, STILL)
        return [contender.step() and None for _ in range(2)]

    def theirs() -> None:
        contender = PyTorch(job, STILL)
        for _ in range(2):
            contender.step()

    mine = memory.measure(lambda device, _: ours(device), Autodiff[NdArray].device(), 1).peak_bytes
    return exact_row(
        "convolution", f"{job.title}, peak", mine, EAGER, profiled_peak(theirs), Target("ratio", MOST_BYTES)
    )


def run() -> list[Row]:
    return [*map(time_row, JOBS), *map(peak_row, JOBS)]
