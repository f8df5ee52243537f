"""Training steps of models that read sequences: a small transformer and an LSTM, forward and backward, and their peaks.

Nothing is dropped, and PyTorch starts from the same numbers. PyTorch's LSTM runs in oneDNN, one kernel for the whole
sequence, where the processor has it; its own loop over the steps, which it has for all other cases, has a row too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from race import RACES, race, repeated_row, timer
from result import Row, Target, exact_row
from torch_memory import profiled_peak
from training_step import EAGER

from tinyburn import Autodiff, Device, Module, NdArray, Tensor, memory, nn

LOOP = "PyTorch without oneDNN"
ROUNDS = 20
WIDTH = 64


@dataclass(frozen=True)
class Job:
    """A model in both libraries.

    Attributes:
        title: of its rows.
        shape: of the input.
        config: of the model here.
        theirs: makes the model in PyTorch.
        links: for each of its parameters in PyTorch those here, which it has one below the other, each transposed.
        limit: the target for the time, over PyTorch's.
        others: further ways to run PyTorch's.
    """

    title: str
    shape: tuple[int, ...]
    config: Any
    theirs: Callable[[], torch.nn.Module]
    links: dict[str, tuple[str, ...]]
    limit: float
    others: tuple[str, ...] = ()


def layer_links(at: int) -> dict[str, tuple[str, ...]]:
    """Those of a transformer's layer."""
    mine = theirs = f"layers.{at}."
    links: dict[str, tuple[str, ...]] = {}
    for part in ("weight", "bias"):
        links[f"{theirs}self_attn.in_proj_{part}"] = tuple(f"{mine}mha.{x}.{part}" for x in ("query", "key", "value"))
        links[f"{theirs}self_attn.out_proj.{part}"] = (f"{mine}mha.output.{part}",)
        links[f"{theirs}linear1.{part}"] = (f"{mine}pwff.linear_inner.{part}",)
        links[f"{theirs}linear2.{part}"] = (f"{mine}pwff.linear_outer.{part}",)
    for norm in (1, 2):
        links[f"{theirs}norm{norm}.weight"] = (f"{mine}norm_{norm}.gamma",)
        links[f"{theirs}norm{norm}.bias"] = (f"{mine}norm_{norm}.beta",)
    return links


def torch_transformer() -> torch.nn.Module:
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2)


def torch_lstm() -> torch.nn.Module:
    return torch.nn.LSTM(WIDTH, WIDTH, batch_first=True)


LSTM_LINKS = {
    f"{part}_{theirs}_l0": (f"layers.0.0.{mine}.{part}",)
    for mine, theirs in (("input", "ih"), ("hidden", "hh"))
    for part in ("weight", "bias")
}
TRANSFORMER = nn.TransformerEncoderConfig(WIDTH, 4 * WIDTH, 4, 2, dropout=0.0, activation="relu")
LSTM = nn.LstmConfig(WIDTH, WIDTH)
JOBS = (
    Job(
        "2 layers of attention, 8x64x64",
        (8, 64, WIDTH),
        TRANSFORMER,
        torch_transformer,
        layer_links(0) | layer_links(1),
        1.1,
    ),
    Job("LSTM of 64, 8x50x64", (8, 50, WIDTH), LSTM, torch_lstm, LSTM_LINKS, 1.0, (LOOP,)),
    Job("LSTM of 64, 64x50x64", (64, 50, WIDTH), LSTM, torch_lstm, LSTM_LINKS, 1.0, (LOOP,)),
)


def first(result: Any) -> Any:
    """The outputs of a model that also returns states."""
    return result[0] if isinstance(result, tuple) else result


def way(name: str) -> AbstractContextManager[Any]:
    """How PyTorch runs for a contender."""
    return torch.backends.mkldnn.flags(enabled=False) if name == LOOP else nullcontext()


@torch.no_grad()
def copy_parameters(source: Module, target: torch.nn.Module, links: dict[str, tuple[str, ...]]) -> None:
    """Gives PyTorch's model the numbers of tinyburn's."""
    values = {path: param.val().to_numpy() for path, param in source.named_params()}
    for name, paths in links.items():
        joined = np.concatenate([values[path].T for path in paths])
        target.get_parameter(name).copy_(torch.from_numpy(joined))


def make_contenders(job: Job) -> dict[str, Callable[[], Any]]:
    """Fresh models for one race; each step returns the gradient of the first parameter, for a comparison."""
    device: Device[Any] = Autodiff[NdArray].device()
    device.seed(0)
    ours, theirs = job.config.init(device), job.theirs()
    copy_parameters(ours, theirs, job.links)
    values = np.random.default_rng(0).standard_normal(job.shape, "float32")
    x, leaves = Tensor.from_data(values, device), list(theirs.parameters())
    torch_x = torch.from_numpy(values)

    def step() -> Any:
        return (first(ours(x)) ** 2).mean().backward()

    def torch_step(name: str) -> Callable[[], Any]:
        def run() -> Any:
            for leaf in leaves:
                leaf.grad = None
            with way(name):
                (first(theirs(torch_x)) ** 2).mean().backward()
            return leaves[0].grad

        return run

    return {"tinyburn": step, **{name: torch_step(name) for name in (EAGER, *job.others)}}


def check_equal_gradients(job: Job) -> None:
    """A race between steps that compute different things would say nothing."""
    device: Device[Any] = Autodiff[NdArray].device()
    ours, theirs = job.config.init(device), job.theirs()
    copy_parameters(ours, theirs, job.links)
    values = np.random.default_rng(0).standard_normal(job.shape, "float32")
    grads = (first(ours(Tensor.from_data(values, device))) ** 2).mean().backward()
    (first(theirs(torch.from_numpy(values))) ** 2).mean().backward()
    found = {path: param.val().grad(grads).to_numpy() for path, param in ours.named_params()}
    for name, paths in job.links.items():
        joined, wanted = np.concatenate([found[path].T for path in paths]), theirs.get_parameter(name).grad
        assert wanted is not None
        np.testing.assert_allclose(joined, wanted.numpy(), rtol=1e-3, atol=1e-5, err_msg=name)


def peak_row(job: Job) -> Row:
    """Both make everything inside."""

    def ours(device: Device[Any], _: int) -> Any:
        return (first(job.config.init(device)(Tensor.ones(job.shape, device))) ** 2).mean().backward()

    def theirs() -> None:
        (first(job.theirs()(torch.ones(*job.shape))) ** 2).mean().backward()

    mine = memory.measure(ours, Autodiff[NdArray].device(), 1).peak_bytes
    return exact_row("sequences", f"{job.title}, peak", mine, EAGER, profiled_peak(theirs), Target("ratio", 1.0))


def compare(job: Job) -> list[Row]:
    check_equal_gradients(job)
    races = [race({name: timer(run) for name, run in make_contenders(job).items()}, ROUNDS) for _ in range(RACES)]
    rows = []
    for other in (EAGER, *job.others):
        targets = [Target("ratio", job.limit)] if other == EAGER else []
        rows.append(repeated_row("sequences", job.title, races, "tinyburn", other, "ms", *targets))
    return [*rows, peak_row(job)]


def run() -> list[Row]:
    return [row for job in JOBS for row in compare(job)]
