"""Nothing that a cell can end with shows an address: the same program prints the same text in every run."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import Any

import numpy as np
import pytest

import tinyburn
from tests.support import WGPU
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    Device,
    Distribution,
    Meta,
    NdArray,
    RunConfig,
    ShapeError,
    Tensor,
    Traced,
    autodiff,
    memory,
    nn,
    optim,
    viz,
)
from tinyburn.autodiff.rules import rules_of
from tinyburn.backend import Backend
from tinyburn.backend.operations import OPERATIONS

ADDRESS = re.compile(r"\b0x[0-9A-Fa-f]{5,}")
NO_OBJECTS = {"NoCheckpointing", "BalancedCheckpointing", "Distribution", "Initializer", "Float", "Int", "Bool"}
NO_OBJECTS |= {"Engine", "GradientClippingConfig", "PaddingConfig1d", "PaddingConfig2d", "PaddingConfig3d"}
"""Classes of which nobody makes an object: they stand for a choice, or are a place for names."""


def classes() -> list[type]:
    """Every class of every file of tinyburn. A backend, or a part of one, is never an object, and a tensor's parts are
    the tensor's."""
    found = []
    for module in pkgutil.walk_packages(tinyburn.__path__, "tinyburn."):
        if not module.name.endswith("__main__"):
            members = vars(importlib.import_module(module.name)).values()
            found += [one for one in members if inspect.isclass(one) and one.__module__ == module.name]
    return [one for one in found if not issubclass(one, Backend) and one not in (*Tensor.__mro__, *Backend.__mro__)]


@pytest.mark.parametrize("made", classes(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_every_class_says_how_it_is_shown(made: type) -> None:
    if not made.__name__.startswith("_") and made.__name__ not in NO_OBJECTS:
        assert made.__repr__ is not object.__repr__, made


def job(device: Device[Any], batch: int) -> Any:
    model = nn.LinearConfig(3, 2).init(device)
    return (model(Tensor.ones((batch, 3), device)) ** 2).mean().backward()


def on(device: Any) -> dict[str, Any]:
    """What a program on one device can get hold of."""
    x = Tensor.ones((2, 3), device)
    found = {"device": device, "tensor": x, "usage": device.memory_usage(), "view": x.flip((0,)).primitive}
    for depth in range(4):
        primitive = x.primitive if depth == 0 else getattr(found[f"primitive {depth - 1}"], "primitive", None)
        found[f"primitive {depth}"] = primitive
    for name in ("inner", "log", "gpu"):
        found[name] = getattr(device, name, None)
    return found


def trained() -> dict[str, Any]:
    """What a training step leaves."""
    device = Autodiff[Traced[NdArray], BalancedCheckpointing].device()
    model, optimizer = nn.LinearConfig(3, 2).init(device), optim.SgdConfig(momentum=0.9).init()
    x = Tensor.ones((2, 3), device).require_grad()
    loss = (autodiff.checkpoint(model, x) ** 2).exp().mean()
    node: Any = loss.primitive.node
    grads = loss.backward(retain_graph=True, record_flow=True)
    found = {"loss": loss, "node": node, "edges": node.edges, "graph": viz.graph(loss), "flow": grads.flow}
    return {
        **found,
        **{"edges of an inner node": [parent.edges for parent in node.parents], "leaf": x.primitive.node},
        **{"gradients": grads, "named": grads.named(model), "model": model, "optimizer": optimizer},
        **{"parameter": model.weight, "stepped": optimizer.step(0.1, model, grads), "after": optimizer},
    }


def planned() -> dict[str, Any]:
    device = Autodiff[NdArray].device()
    report, plan = memory.measure(job, device, 2), memory.max_batch_size(job, 10_000)
    return {
        **{"report": report, "rows": report.rows, "log": report.events, "events": report.events.events[:3]},
        **{"plan": plan, "candidates": plan.candidates, "holders": memory.holders_at_peak(job, 2)},
        **{"simulated": memory.simulate(report, "cuda")},
    }


def others() -> dict[str, Any]:
    return {
        **{"rules": rules_of("mul"), "operation": OPERATIONS["add"], "config": RunConfig()},
        **{"normal": Distribution.Normal(0, 1), "error": ShapeError("add", "a reason"), "typed": Tensor[NdArray, 2]},
        **{"data": Tensor.ones((2,), NdArray.device()).into_data(), "loss": nn.MseLoss(), "layer": nn.Relu()},
    }


def devices() -> list[Any]:
    made = [NdArray, Meta, Traced[NdArray], Autodiff[NdArray], Autodiff[Traced[Meta]], Autodiff[Autodiff[NdArray]]]
    return made if WGPU.why_not else [*made, WGPU.backend, Traced[WGPU.backend]]


@pytest.mark.parametrize("backend", devices(), ids=lambda one: one.__name__)
def test_what_a_device_makes_shows_no_address(backend: Any) -> None:
    for name, thing in on(backend.device()).items():
        assert not isinstance(thing, np.random.Generator)
        assert not ADDRESS.search(repr(thing)), (name, repr(thing))


@pytest.mark.parametrize("make", [trained, planned, others])
def test_what_a_program_holds_shows_no_address(make: Any) -> None:
    for name, thing in make().items():
        assert not ADDRESS.search(repr(thing)), (name, repr(thing))
