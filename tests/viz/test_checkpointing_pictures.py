"""The graph pictures of checkpointed programs: what is kept is what the ledger says, with the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.viz.examples import columns
from tinyburn import Autodiff, BalancedCheckpointing, NdArray, Tensor, Traced, nn, viz
from tinyburn.autodiff import checkpoint
from tinyburn.backend import Kind


def _balanced_program(device: Any) -> tuple[Any, dict[str, Any]]:
    device.seed(0)
    layer = nn.LinearConfig(4, 4).init(device)
    x: Any = Tensor.ones((2, 4), device)
    h = layer(x)
    return (h * h.tanh()).exp().sum(), {"x": x, "layer": layer}


def test_balanced_keeps_the_result_of_the_product_and_says_what_for() -> None:
    loss, names = _balanced_program(Autodiff[NdArray, BalancedCheckpointing].device())
    rows = dict.fromkeys(columns(viz.backward_graph(loss, **names), "keeps", "why"))
    matmul = next(name for name, why in rows if why.startswith("tanh keeps it to compute"))
    assert (matmul, f"exp keeps it to compute {_label_of(loss, names, 'exp')} again") in rows


def _label_of(loss: Any, names: dict[str, Any], operation: str) -> str:
    return next(row[0] for row in columns(viz.graph(loss, **names), "name", "operation") if row[1] == operation)


def test_the_kept_buffers_are_those_that_the_ledger_saves() -> None:
    device: Any = Autodiff[Traced[NdArray], BalancedCheckpointing].device()
    loss, names = _balanced_program(device)
    saved = {event[1] for event in device.inner.log.events if event[0] == Kind.SAVE}
    rows = columns(viz.backward_graph(loss, **names), "keeps", "memory")
    counted = [row for row in rows if row[0] and "counted above" not in row[1]]
    # The bias has a node of its own for its view (1, 4), whose buffer is the bias: one row and one buffer.
    assert len(counted) == len(saved)


@pytest.mark.parametrize("picture", ["graph", "backward_graph"])
def test_a_segment_is_one_operation_with_its_inputs(picture: str) -> None:
    device = Autodiff[NdArray].device()
    layer = nn.LinearConfig(4, 4).init(device)
    x = Tensor.ones((2, 4), device).require_grad()
    loss = checkpoint(lambda h: layer(h).tanh(), x).sum()
    text = getattr(viz, picture)(loss, x=x, layer=layer).text
    assert "segment(x)" in text
    assert "layer.weight" in text


def test_the_flow_passes_a_segment() -> None:
    device = Autodiff[NdArray].device()
    x = Tensor.ones((2, 4), device).require_grad()
    loss = checkpoint(lambda h: h * 3.0, x).sum()
    grads = loss.backward(record_flow=True)
    assert ("x", "3") in columns(viz.gradient_flow(loss, grads, x=x), "name", "RMS")  # d/dx of sum(3 x)
