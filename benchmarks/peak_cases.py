"""More peaks of one step: what a user of modules and optimizers has, activations alone, and a weight used ten times.

Both libraries' jobs are written alike, with no name more in one than in the other. All tensors are made inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from mlp import Mlp, torch_mlp
from result import Row, Target, exact_row
from torch_memory import profiled_peak
from training_step import EAGER
from xla_memory import XLA_SGD, compiled_sgd_bytes

from tinyburn import Autodiff, Device, NdArray, Tensor, activation, memory, nn, optim

Function = Callable[[Any], Any]

SIDE = 1000
MANY = 6  # widths that a title can still spell out
USES = 10
STEPS = 2
"""Of a training loop: only from the second step on there are gradients of the step before."""

ACTIVATIONS: dict[str, tuple[Function, Function]] = {
    "silu": (activation.silu, torch.nn.functional.silu),
    "softplus": (activation.softplus, torch.nn.functional.softplus),
    "leaky_relu": (activation.leaky_relu, torch.nn.functional.leaky_relu),
    "gelu": (activation.gelu, torch.nn.functional.gelu),
    "sigmoid": (activation.sigmoid, torch.sigmoid),
    "tanh": (activation.tanh, torch.tanh),
}


@dataclass(frozen=True)
class ModelJob:
    """A model and its batch.

    Attributes:
        batch: the dims of the input without the last one.
        widths: see `Mlp`.
        most: the target for tinyburn's peak over PyTorch's; None for none.
    """

    batch: tuple[int, ...]
    widths: tuple[int, ...]
    most: float | None = None

    @property
    def title(self) -> str:
        """As in ``16x8 to 4``; a deep model only has its depth."""
        dims = "x".join(map(str, (*self.batch, self.widths[0])))
        if len(self.widths) > MANY:
            return f"{dims}, {len(self.widths) - 1} layers"
        return " to ".join([dims, *map(str, self.widths[1:])])

    @property
    def targets(self) -> list[Target]:
        return [] if self.most is None else [Target("ratio", self.most)]


WITH_MODULES = (
    ModelJob((16,), (8, 4), 0.70),
    ModelJob((4096,), (512, 256), 0.85),
    ModelJob((512,), (256, 512, 512, 10), 0.90),
    ModelJob((512,), (64, 64, 64, 64), 0.90),
    ModelJob((64, 16), (256, 256), 1.0),
)
WITH_SGD = (
    ModelJob((4096,), (512, 256)),
    ModelJob((512,), (256, 512, 512, 10)),
    ModelJob((128,), (784, 256, 10), 1.0),
    ModelJob((64,), (32,) * 21),
)
WITH_ADAM = (ModelJob((128,), (784, 256, 10), 1.0),)


def measured(job: Callable[[Device[Any]], Any]) -> int:
    """tinyburn's peak; the job makes everything on the device that it gets."""
    return memory.measure(lambda device, _: job(device), Autodiff[NdArray].device(), 1).peak_bytes


def module_row(job: ModelJob) -> Row:
    """Forward, the loss and backward."""

    def ours(device: Device[Any]) -> Any:
        model = Mlp(job.widths, device)
        x, y = (Tensor.ones((*job.batch, width), device) for width in (job.widths[0], job.widths[-1]))
        return nn.MseLoss()(model(x), y).backward()

    def theirs() -> None:
        model = torch_mlp(job.widths)
        x, y = (torch.ones(*job.batch, width) for width in (job.widths[0], job.widths[-1]))
        torch.nn.MSELoss()(model(x), y).backward()

    case = f"{job.title}, modules and MSE"
    return exact_row("peak_bytes", case, measured(ours), EAGER, profiled_peak(theirs), *job.targets)


def trained_peaks(job: ModelJob, config: Any, torchs: Callable[..., torch.optim.Optimizer]) -> tuple[int, int]:
    """The peaks of a training loop of two steps: tinyburn's, with the optimizer of a config, and PyTorch's."""

    def ours(device: Device[Any]) -> Any:
        model, loss, optimizer = Mlp(job.widths, device), nn.MseLoss(), config.init()
        x, y = (Tensor.ones((*job.batch, width), device) for width in (job.widths[0], job.widths[-1]))
        for _ in range(STEPS):
            grads = loss(model(x), y).backward()
            model = optimizer.step(0.01, model, grads)
        return model

    def theirs() -> None:
        model, loss = torch_mlp(job.widths), torch.nn.MSELoss()
        optimizer = torchs(model.parameters(), lr=0.01)
        x, y = (torch.ones(*job.batch, width) for width in (job.widths[0], job.widths[-1]))
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            loss(model(x), y).backward()
            optimizer.step()

    return measured(ours), profiled_peak(theirs)


def sgd_rows(job: ModelJob) -> list[Row]:
    """Beside eager PyTorch, and beside what XLA compiles of it."""
    case, (mine, eager) = f"{job.title}, with SGD", trained_peaks(job, optim.SgdConfig(), torch.optim.SGD)
    rows = [exact_row("peak_bytes", case, mine, EAGER, eager, *job.targets)]
    if len(job.batch) == 1 and (xla := compiled_sgd_bytes(job.batch[0], job.widths)) is not None:
        rows.append(exact_row("peak_bytes", case, mine, XLA_SGD, xla))
    return rows


def adam_row(job: ModelJob) -> Row:
    """The same two steps with Adam, whose state is two more models."""
    mine, eager = trained_peaks(job, optim.AdamConfig(), torch.optim.Adam)
    return exact_row("peak_bytes", f"{job.title}, with Adam", mine, EAGER, eager, *job.targets)


def activation_row(name: str) -> Row:
    """The sum after it asks for nothing of its own: it keeps no tensor, and its gradient is one number, expanded."""
    ours_of, theirs_of = ACTIVATIONS[name]

    def ours(device: Device[Any]) -> Any:
        x = Tensor.ones((SIDE, SIDE), device).require_grad()
        return ours_of(x).sum().backward()

    def theirs() -> None:
        x = torch.ones(SIDE, SIDE, requires_grad=True)
        theirs_of(x).sum().backward()

    case = f"{name} of {SIDE}x{SIDE}"
    return exact_row("peak_bytes", case, measured(ours), EAGER, profiled_peak(theirs), Target("ratio", 1.0))


def shared_weight_row(rows: int = 32, width: int = 256) -> Row:
    """A weight used ten times, as a recurrent network does: its gradient is a sum of ten."""

    def ours(device: Device[Any]) -> Any:
        weight = Tensor.ones((width, width), device).require_grad()
        h = Tensor.ones((rows, width), device)
        for _ in range(USES):
            h = (h @ weight).tanh()
        return h.mean().backward()

    def theirs() -> None:
        weight = torch.ones(width, width, requires_grad=True)
        h = torch.ones(rows, width)
        for _ in range(USES):
            h = (h @ weight).tanh()
        h.mean().backward()

    case = f"{rows}x{width}, one weight used {USES} times"
    return exact_row("peak_bytes", case, measured(ours), EAGER, profiled_peak(theirs), Target("ratio", 1.0))


def peak_rows() -> list[Row]:
    return [
        *map(module_row, WITH_MODULES),
        *[row for job in WITH_SGD for row in sgd_rows(job)],
        *map(adam_row, WITH_ADAM),
        *map(activation_row, ACTIVATIONS),
        shared_weight_row(),
    ]
