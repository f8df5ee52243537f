"""Recurrent layers, attention and transformers against PyTorch's, on copied weights (tests/golden/sequences.py)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.golden.operations import weights
from tests.golden.sequences import (
    CASES,
    DTYPE,
    FILE,
    LEARNING_RATE,
    LENGTH,
    MODEL,
    STEPS,
    WIDTH,
    causal,
    inputs_of,
    padding,
    params_of,
    wave,
)
from tests.nn.test_golden import BACKENDS, assert_near, with_weights
from tests.support import AnyTensor, UnderTest, const, gradient_of, leaf, mask, params
from tinyburn import Autodiff, BalancedCheckpointing, Device, Module, NdArray, Tensor, nn, optim, viz
from tinyburn.memory import measure, plan

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def init(config: Any, device: Device[Any]) -> Any:
    """The layer, with the numbers of the goldens."""
    return with_weights(config.init(device), params_of(config))


def results_of(name: str, layer: Any, inputs: dict[str, AnyTensor], device: Device[Any]) -> list[AnyTensor]:
    """The results of a case in PyTorch's order."""
    masks = CASES[name].masks
    pad, later = mask(padding(), device), mask(np.stack([causal()] * 2), device)
    if "x" in inputs:
        x, *states = inputs.values()
        if isinstance(layer, nn.Lstm):
            outputs, state = layer(x, nn.LstmState(states[1], states[0]) if states else None)
            return [outputs, state.hidden, state.cell]
        return list(layer(x, *states))
    if "query" in inputs:
        query, key, value = [inputs.get(role, inputs["query"]) for role in ("query", "key", "value")]
        output = layer(query, key, value, *((pad, later) if masks else ()))
        return [output.context, output.weights]
    if "src" in inputs:
        return [layer(inputs["src"], pad, later)]
    return [layer(inputs["tgt"], inputs["memory"], target_mask_attn=later[:1])]


@pytest.mark.parametrize("base", params(BACKENDS))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest) -> None:
    device, golden = base.device(DTYPE), GOLDEN[name]
    layer = init(CASES[name].config, device)
    inputs = {key: leaf(values, device) for key, values in inputs_of(name).items()}
    results = results_of(name, layer, inputs, device)
    for result, expected in zip(results, golden["values"], strict=True):
        assert_near(result.to_numpy(), expected)
    total: Any = sum((result * const(weights(result.shape, DTYPE), device)).sum() for result in results)
    grads = total.backward()
    leaves = inputs | {path: param.val() for path, param in layer.named_params()}
    assert set(leaves) == set(golden["gradients"])
    for key, expected in golden["gradients"].items():
        assert_near(gradient_of(leaves[key], grads), expected)


@pytest.mark.parametrize("name", ["LSTM, layers 2, directions 2", "GRU without state", "attention to itself"])
def test_shapes_alone_write_the_same_log(name: str) -> None:
    def job(device: Device[Any], _: int) -> Any:
        inputs = {key: leaf(values, device) for key, values in inputs_of(name).items()}
        return results_of(name, CASES[name].config.init(device), inputs, device)[0].sum().backward()  # type: ignore[attr-defined]

    measured = measure(job, Autodiff[NdArray].device(), 1)
    predicted = plan(job, 1, device=Autodiff[NdArray].device())
    assert predicted.events.events == measured.events.events


@pytest.mark.parametrize("base", params(BACKENDS))
def test_twenty_steps_of_a_transformer_go_down_as_pytorchs_do(base: UnderTest) -> None:
    device = base.device(DTYPE)
    model, loss, sgd = init(MODEL, device), nn.MseLoss(), optim.SgdConfig().init()
    x, y = [const(wave((2, LENGTH, WIDTH), phase), device) for phase in (0.3, 1.1)]
    later = nn.generate_autoregressive_mask(2, LENGTH, device)
    losses = []
    for _ in range(STEPS):
        found = loss(model(x, mask_attn=later), y)
        losses.append(float(found.into_scalar()))
        model = sgd.step(LEARNING_RATE, model, found.backward())
    np.testing.assert_allclose(losses, GOLDEN["loss curve"], rtol=1e-4, atol=1e-4)


# Generation


def decoded_by_steps(model: Any, x: AnyTensor, *memory: AnyTensor, first: int = 1) -> AnyTensor:
    """Some positions at once, then each of the others by itself."""
    cache, outputs = model.new_autoregressive_cache(), []
    starts = [0, *range(first, x.shape[1] + 1)]
    for start, stop in pairwise(starts):
        later = nn.generate_autoregressive_mask(x.shape[0], stop, x.device)[:, start:]
        options = {"target_mask_attn" if memory else "mask_attn": later} if start == 0 else {}
        output, cache = model.forward_autoregressive_inference(x[:, start:stop], *memory, cache, **options)
        outputs.append(output)
    return Tensor.cat(outputs, 1)


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("base", params(BACKENDS))
def test_decoding_with_a_cache_equals_decoding_without(base: UnderTest, first: int) -> None:
    device = base.device(DTYPE)
    x, memory = const(wave((2, LENGTH, WIDTH), 0.3), device), const(wave((2, 3, WIDTH), 0.9), device)
    later = nn.generate_autoregressive_mask(2, LENGTH, device)
    encoder = init(MODEL, device)
    decoder = init(nn.TransformerDecoderConfig(WIDTH, 8, 2, 2, dropout=0.0, norm_first=True), device)
    full, stepped = encoder(x, mask_attn=later), decoded_by_steps(encoder, x, first=first)
    np.testing.assert_allclose(stepped.to_numpy(), full.to_numpy(), rtol=1e-5, atol=1e-5)
    full, stepped = decoder(x, memory, target_mask_attn=later), decoded_by_steps(decoder, x, memory, first=first)
    np.testing.assert_allclose(stepped.to_numpy(), full.to_numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", [nn.LstmConfig(3, 2, num_layers=2), nn.GruConfig(3, 2), nn.RnnConfig(3, 2)])
def test_a_sequence_in_two_parts_is_one_sequence(config: Any) -> None:
    device = NdArray.device(float_dtype="float64")
    layer, x = config.init(device), const(wave((2, 5, 3), 0.1), device)
    whole, last = layer(x)
    first, state = layer(x[:, :3])
    second, end = layer(x[:, 3:], state)
    np.testing.assert_allclose(Tensor.cat([first, second], 1).to_numpy(), whole.to_numpy(), rtol=1e-12)
    for one, other in ((last.hidden, end.hidden), (last.cell, end.cell)) if hasattr(last, "cell") else ((last, end),):
        np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-12)


def test_the_reset_gate_of_the_paper_acts_before_the_product() -> None:
    """One step by hand."""
    device = NdArray.device(float_dtype="float64")
    layer = nn.GruConfig(2, 2, reset_after=False).init(device)
    x, h = wave((1, 2), 0.3).astype(float), wave((1, 2), 1.3).astype(float)
    numbers = {path: param.val().to_numpy() for path, param in layer.named_params()}
    w, b, u, d = [
        numbers[f"layers.0.0.{name}"] for name in ("input.weight", "input.bias", "hidden.weight", "hidden.bias")
    ]
    given = x @ w + b + d
    r, z = [1 / (1 + np.exp(-(given + h @ u)[:, part])) for part in (slice(0, 2), slice(2, 4))]
    n = np.tanh(given[:, 4:] + (r * h) @ u[:, 4:])
    output, _ = layer(const(x, device).unsqueeze(), const(h, device).unsqueeze())
    np.testing.assert_allclose(output.to_numpy()[0], (1 - z) * n + z * h, rtol=1e-12)


# Masks and positions


def test_masks_say_true_for_what_is_hidden() -> None:
    device = NdArray.device()
    later = nn.generate_autoregressive_mask(2, 3, device)
    assert later.shape == (2, 3, 3)
    assert later.to_numpy()[1].tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    tokens, hidden = nn.generate_padding_mask(0, [[5, 0, 7], [3], []], None, device)
    assert tokens.to_numpy().tolist() == [[5, 0, 7], [3, 0, 0], [0, 0, 0]]
    assert hidden.to_numpy().tolist() == [[False, True, False], [False, True, True], [True, True, True]]
    assert nn.generate_padding_mask(0, [[5, 6, 7]], 2, device)[0].to_numpy().tolist() == [[5, 6]]


@pytest.mark.parametrize("base", params(BACKENDS))
def test_case_59_a_query_that_may_use_no_key_gets_zeros_and_no_nan(base: UnderTest) -> None:
    device = base.device(DTYPE)
    layer = nn.MultiHeadAttentionConfig(WIDTH, 2, dropout=0.0).init(device)
    x = leaf(wave((2, LENGTH, WIDTH), 0.3), device)
    output = layer(x, x, x, mask(np.array([[True] * LENGTH, [False] * LENGTH]), device))
    assert (output.weights.to_numpy()[0] == 0).all()
    bias = layer.output.bias
    assert bias is not None
    np.testing.assert_allclose(output.context.to_numpy()[0], np.stack([bias.val().to_numpy()] * LENGTH), rtol=1e-6)
    gradient = gradient_of(x, output.context.sum().backward())
    assert (gradient[0] == 0).all()
    assert np.isfinite(gradient).all()


def test_positions_are_sines_and_cosines() -> None:
    device = NdArray.device(float_dtype="float64")
    layer = nn.PositionalEncodingConfig(4, 10).init(device)
    added = (layer(Tensor.zeros((1, 3, 4), device))).to_numpy()[0]
    expected = [[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in range(3)]
    np.testing.assert_allclose(added, expected, rtol=1e-12)
    np.testing.assert_allclose(layer(Tensor.zeros((1, 1, 4), device), 2).to_numpy()[0], expected[2:], rtol=1e-12)
    assert layer.fork(Autodiff[NdArray].device()).sinusoids.backend is Autodiff[NdArray]


def test_rotation_keeps_lengths_and_makes_products_depend_on_distances() -> None:
    device = NdArray.device(float_dtype="float64")
    layer = nn.RotaryEncodingConfig(10, 4).init(device)
    ones = Tensor.ones((2, 6, 4), device) * const([[[1.0, 2.0, 3.0, 4.0]]], device)
    turned = layer(ones).to_numpy()[0]
    point = (1 + 2j) * np.exp(1j * 3), (3 + 4j) * np.exp(1j * 3 / 100)
    np.testing.assert_allclose(turned[3], [point[0].real, point[0].imag, point[1].real, point[1].imag], rtol=1e-12)
    products = turned @ turned.T
    np.testing.assert_allclose(np.diag(products, 2), products[0, 2], rtol=1e-12)
    np.testing.assert_allclose(np.diag(products), 30.0, rtol=1e-12)
    np.testing.assert_allclose(layer(ones[:, :2], 3).to_numpy(), layer(ones).to_numpy()[:, 3:5], rtol=1e-12)


@pytest.mark.parametrize(
    "config", [nn.TransformerEncoderConfig(4, 8, 2, 1, dropout=0.5), nn.LstmConfig(4, 2, num_layers=2, dropout=0.5)]
)
def test_dropout_is_for_training_alone(config: Any) -> None:
    device: Device[Any] = Autodiff[NdArray].device()
    device.seed(0)  # the masks are of few bits, and two could be the same
    model, x = config.init(device), const(wave((1, 3, 4), 0.3), device)

    def outputs(model: Module, x: AnyTensor) -> Any:
        found = model(x)  # type: ignore[operator]
        return (found[0] if isinstance(found, tuple) else found).to_numpy()

    assert (outputs(model, x) != outputs(model, x)).any()
    assert (outputs(model.valid(), x.inner()) == outputs(model.valid(), x.inner())).all()


@pytest.mark.parametrize(
    "name", ["RNN, layers 1, directions 2", "GRU, layers 1, directions 2", "LSTM, layers 2, directions 1"]
)
def test_the_derivative_of_a_loop_can_be_differentiated(name: str) -> None:
    """The gradient of half the squared norm of a gradient, along a line, against a central difference in float64."""
    device: Any = Autodiff[Autodiff[NdArray]].device(float_dtype="float64")
    layer = CASES[name].config.init(device)  # type: ignore[attr-defined]
    values = wave(CASES[name].inputs["x"], 0.3).astype(float)
    towards = wave(values.shape, 1.9).astype(float)

    def slope(at: float) -> tuple[float, float]:
        inner = leaf(values + at * towards, device.inner)
        outer = Tensor.from_inner(inner, device).require_grad()
        first: Any = outer.grad((layer(outer)[0] ** 2).sum().backward())
        half = (first**2).sum() * 0.5
        return float(half.into_scalar()), float((gradient_of(inner, half.backward()) * towards).sum())

    step = 1e-5
    found, expected = slope(0.0)[1], (slope(step)[0] - slope(-step)[0]) / (2 * step)
    assert found == pytest.approx(expected, rel=1e-7)


def test_a_loop_that_is_kept_runs_back_twice() -> None:
    device = Autodiff[NdArray].device(float_dtype="float64")
    layer, x = nn.LstmConfig(3, 2).init(device), leaf(wave((2, 4, 3), 0.3), device)
    total = layer(x)[0].sum()
    first, second = [gradient_of(x, total.backward(retain_graph=kept)) for kept in (True, False)]
    assert (first == second).all()


def test_a_frozen_layer_lets_gradients_through() -> None:
    device = Autodiff[NdArray].device(float_dtype="float64")
    layer, x = nn.GruConfig(3, 2, num_layers=2).init(device), leaf(wave((2, 4, 3), 0.3), device)
    wanted = gradient_of(x, layer(x)[0].sum().backward())
    grads = layer.freeze()(x)[0].sum().backward()
    assert (gradient_of(x, grads) == wanted).all()
    half = layer.freeze("layers.0")
    grads = half(x)[0].sum().backward()
    assert [half.layers[at][0].hidden.weight.val().grad(grads) is None for at in (0, 1)] == [True, False]


@pytest.mark.parametrize("strategy", [(), (BalancedCheckpointing,)], ids=["keeps all", "balanced"])
def test_pictures_show_a_loop_as_one_operation(strategy: Any) -> None:
    device: Any = Autodiff[(NdArray, *strategy)].device()
    layer = nn.LstmConfig(3, 2).init(device)
    loss = layer(Tensor.ones((2, 4, 3), device))[0].mean()
    assert "lstm(t2, leaf 4, constant 2, constant 2)" in str(viz.graph(loss))
    text = str(viz.backward_graph(loss))
    assert "lstm keeps it for its own way back, and 384 B of its steps beside it" in text  # 6 numbers of 4 B, 2 x 2 x 4
    assert text.startswith("Backward needs 4 saved buffers, 256 B, and 384 B of the steps inside lstm")
    assert "its part, when the loop runs back" in text
    assert "lstm" in str(viz.gradient_flow(loss, loss.backward(record_flow=True)))


def test_the_log_says_what_a_loop_keeps() -> None:
    device = Autodiff[NdArray].device()

    def job(device: Device[Any], _: int) -> Any:
        return nn.GruConfig(3, 2).init(device)(Tensor.ones((2, 4, 3), device))[0].mean().backward()

    names = measure(job, device, 1).events.names
    assert {"gru", "weight", "bias", "state", "out", "step"} <= set(names)
