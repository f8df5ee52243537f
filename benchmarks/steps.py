"""Whole training steps with modules and an optimizer, each library's as its user writes them.

PyTorch's optimizer steps in place, after `zero_grad`; tinyburn's takes the gradients and returns the next model. The
plain step forgets its gradients in the way that is quickest in PyTorch. An optimizer with ``fused=True`` is no default,
but anybody may ask for it, so it has a row too.

Each row is the middle one of three races, and its range is from the lowest to the highest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mlp import Mlp, copy_parameters, torch_mlp
from race import RACES, race, repeated_row, timer
from result import Row, Target
from training_step import EAGER

from tinyburn import Autodiff, Device, NdArray, Tensor, nn, optim

Step = Callable[[], Any]

FUSED, FUSED_ADAM = "PyTorch fused SGD", "PyTorch fused Adam"
EPSILON = 1e-5
"""Of Adam, for both: the two have other defaults."""
ROUNDS = 30
STILL = 1e-9
"""The learning rate of a race: all that a step computes, and yet the numbers stay, so that the last round is as the
first. A model that has learnt its one batch has gradients close to 0, which some processors handle more slowly."""


@dataclass(frozen=True)
class Job:
    """A model, its batch and its targets.

    Attributes:
        title: of its rows.
        batch: the dims of the input without the last one.
        widths: see `Mlp`.
        plain: the target for forward and backward, over PyTorch's; None for none.
        sgd: the same with a step of SGD.
        adam: the same with a step of Adam; None for no race.
    """

    title: str
    batch: tuple[int, ...]
    widths: tuple[int, ...]
    plain: float | None
    sgd: float | None
    adam: float | None = None


DEEP = (32,) * 21
JOBS = (
    Job("20 layers of 32, batch 1", (1,), DEEP, 0.8, 0.9),
    Job("20 layers of 32, batch 16", (16,), DEEP, 0.8, 0.9),
    Job("20 layers of 32, batch 64", (64,), DEEP, 0.8, 0.9),
    Job("784 to 256 to 10, batch 128", (128,), (784, 256, 10), None, 0.9, 1.0),
    Job("Linear 256 to 256 on 64x16x256", (64, 16), (256, 256), 1.0, None),
)


class Tinyburn:
    """One job's model and batch, and its two steps."""

    def __init__(self, job: Job, lr: float) -> None:
        device: Device[Any] = Autodiff[NdArray].device()
        device.seed(0)
        self.model = Mlp(job.widths, device)
        self.x, self.y = (Tensor.from_data(array, device) for array in make_batch(job))
        self.loss = nn.MseLoss()
        self.sgd, self.adam, self.lr = optim.SgdConfig().init(), optim.AdamConfig(epsilon=EPSILON).init(), lr

    def plain(self) -> Any:
        return self.loss(self.model(self.x), self.y).backward()

    def with_sgd(self) -> None:
        grads = self.loss(self.model(self.x), self.y).backward()
        self.model = self.sgd.step(self.lr, self.model, grads)

    def with_adam(self) -> None:
        grads = self.loss(self.model(self.x), self.y).backward()
        self.model = self.adam.step(self.lr, self.model, grads)

    def parameters(self) -> list[Any]:
        return [parameter.val().to_numpy() for _, parameter in self.model.named_params()]


class PyTorch:
    """The same with PyTorch, starting from the same parameters."""

    def __init__(self, job: Job, source: Mlp, lr: float, fused: bool = False) -> None:
        self.model = torch_mlp(job.widths)
        copy_parameters(source, self.model)
        self.x, self.y = (torch.from_numpy(array) for array in make_batch(job))
        self.loss = torch.nn.MSELoss()
        self.leaves = list(self.model.parameters())
        self.sgd = torch.optim.SGD(self.leaves, lr, fused=fused)
        self.adam = torch.optim.Adam(self.leaves, lr, eps=EPSILON, fused=fused)

    def plain(self) -> None:
        for parameter in self.leaves:
            parameter.grad = None  # quicker than zero_grad, and than torch.autograd.grad
        self.loss(self.model(self.x), self.y).backward()

    def with_sgd(self) -> None:
        self.sgd.zero_grad()
        self.loss(self.model(self.x), self.y).backward()
        self.sgd.step()

    def with_adam(self) -> None:
        self.adam.zero_grad()
        self.loss(self.model(self.x), self.y).backward()
        self.adam.step()

    def parameters(self) -> list[Any]:
        """As tinyburn stores them."""
        return [parameter.detach().numpy().T for parameter in self.leaves]


def make_batch(job: Job) -> list[Any]:
    """Input and target, the same numbers for both libraries."""
    draw = np.random.default_rng(0).standard_normal
    return [draw((*job.batch, width), "float32") for width in (job.widths[0], job.widths[-1])]


def check_equal_training(job: Job) -> None:
    """A race between steps that compute different things would say nothing: a few steps must end in the same model."""
    check_equal(job, 0.1, "with_sgd")
    if job.adam is not None:
        check_equal(job, 1e-3, "with_adam")


def check_equal(job: Job, lr: float, step: str) -> None:
    """The same for one kind of step."""
    ours = Tinyburn(job, lr)
    others = [PyTorch(job, ours.model, lr, fused=fused) for fused in (False, True)]
    contenders: list[Tinyburn | PyTorch] = [ours, *others]
    for contender in contenders:
        for _ in range(3):
            getattr(contender, step)()
    for other in others:
        for found, wanted in zip(ours.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5, err_msg=job.title)


def make_contenders(job: Job) -> dict[str, Step]:
    """Fresh models for one race."""
    ours = Tinyburn(job, STILL)
    eager, fused = (PyTorch(job, ours.model, STILL, fused=fused) for fused in (False, True))
    adam: dict[str, Step] = {}
    if job.adam is not None:
        mine = Tinyburn(job, STILL)
        theirs, fused_theirs = (PyTorch(job, mine.model, STILL, fused=fused) for fused in (False, True))
        adam = {
            "tinyburn, Adam": mine.with_adam,
            f"{EAGER}, Adam": theirs.with_adam,
            FUSED_ADAM: fused_theirs.with_adam,
        }
    return {
        **adam,
        "tinyburn": ours.plain,
        EAGER: eager.plain,
        "tinyburn, SGD": ours.with_sgd,
        f"{EAGER}, SGD": eager.with_sgd,
        FUSED: fused.with_sgd,
    }


def compare(job: Job) -> list[Row]:
    check_equal_training(job)
    races = []
    for _ in range(RACES):
        races.append(race({name: timer(step) for name, step in make_contenders(job).items()}, ROUNDS))

    def row(case: str, mine: str, other: str, limit: float | None) -> Row:
        targets = [] if limit is None else [Target("ratio", limit)]
        return repeated_row("steps", f"{job.title}, {case}", races, mine, other, "us", *targets)

    rows = [
        row("forward and backward", "tinyburn", EAGER, job.plain),
        row("with SGD", "tinyburn, SGD", f"{EAGER}, SGD", job.sgd),
        row("with SGD", "tinyburn, SGD", FUSED, None),
    ]
    if job.adam is not None:
        rows.append(row("with Adam", "tinyburn, Adam", f"{EAGER}, Adam", job.adam))
        rows.append(row("with Adam", "tinyburn, Adam", FUSED_ADAM, None))
    return rows


def run() -> list[Row]:
    return [row for job in JOBS for row in compare(job)]
