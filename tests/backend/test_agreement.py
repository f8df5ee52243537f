"""Whole programs give the same on every backend: a classifier of digits, one training step, many hits on one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import BASES, NDARRAY, AnyTensor, UnderTest, Values, const, gradient_of, ints, leaf, params
from tinyburn import Autodiff, Device, Module, Param, activation, nn, optim

OTHERS = params([base for base in BASES if base is not NDARRAY])


class Classifier(Module):
    """64 pixels to 10 digits, with one hidden layer. Its first weights are the same numbers on every backend."""

    def __init__(self, device: Device[Any]) -> None:
        rng = np.random.default_rng(0)
        bounds = {(64, 32): 64**-0.5, (32,): 64**-0.5, (32, 10): 32**-0.5, (10,): 32**-0.5}
        drawn = (const(rng.uniform(-bound, bound, shape), device) for shape, bound in bounds.items())
        w0, b0, w1, b1 = map(Param.from_tensor, drawn)
        self.hidden = nn.Linear(w0, b0)
        self.output = nn.Linear(w1, b1)

    def forward(self, pixels: AnyTensor) -> AnyTensor:
        logits: AnyTensor = self.output(activation.relu(self.hidden(pixels)))
        return logits


def cross_entropy(logits: AnyTensor, digits: AnyTensor) -> AnyTensor:
    """Minus the logarithm of the probability of the right digit, averaged over the batch."""
    return -activation.log_softmax(logits, 1).gather(1, digits.unsqueeze_dim(1)).mean()


def losses_on_digits(device: Device[Any], steps: int = 20, batch: int = 64) -> list[float]:
    from sklearn.datasets import load_digits  # here, since it takes a second to load

    pixels, digits = load_digits(return_X_y=True)
    model, optimizer = Classifier(device), optim.SgdConfig(momentum=0.9).init()
    losses = []
    for start in range(0, steps * batch, batch):
        x = const(pixels[start : start + batch] / 16, device)
        loss = cross_entropy(model(x), ints(digits[start : start + batch], device))
        losses.append(float(loss.into_scalar()))
        model = optimizer.step(0.2, model, loss.backward())
    return losses


@pytest.mark.parametrize("base", OTHERS)
def test_a_classifier_of_digits_learns_the_same(base: UnderTest) -> None:
    """20 steps in float32, and the loss falls: it is learning that agrees, not standing still."""
    expected = losses_on_digits(NDARRAY.inside(Autodiff).device("float32"))
    found = losses_on_digits(base.inside(Autodiff).device("float32"))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert np.mean(found[-3:]) < found[0] / 2


def training_step(device: Device[Any]) -> list[Values]:
    """Loss and gradients of the document's step: a batch of 16, 8 to 4, and the mean of the squares."""
    rng = np.random.default_rng(1)
    x, w, b = (leaf(rng.uniform(-1, 1, shape), device) for shape in ((16, 8), (8, 4), (1, 4)))
    y = x @ w + b
    loss = (y * y).mean()
    grads = loss.backward()
    return [loss.to_numpy(), *(gradient_of(tensor, grads) for tensor in (x, w, b))]


@pytest.mark.parametrize("base", OTHERS)
def test_the_training_step_agrees(base: UnderTest) -> None:
    expected, found = (training_step(one.inside(Autodiff).device("float32")) for one in (NDARRAY, base))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


# Many hits on one place: where a careless GPU loses some, or adds them in another order each time

HITS = 1000


def hit(device: Device[Any], values: Values) -> dict[str, Values]:
    """Every value added to one place of 3, by each operation that adds at indices."""
    zeros, column = leaf(np.zeros((3, 1)), device), const(values[:, np.newaxis], device)
    places = ints(np.ones(len(values)), device)
    picked = zeros.select(0, places)
    gathered = zeros.gather(0, places.unsqueeze_dim(1))
    return {
        "scatter": zeros.scatter(0, places.unsqueeze_dim(1), column).to_numpy(),
        "select_assign": zeros.select_assign(0, places, column).to_numpy(),
        "the gradient of select": gradient_of(zeros, (picked * column).sum().backward()),
        "the gradient of gather": gradient_of(zeros, (gathered * column).sum().backward()),
    }


def test_a_thousand_hits_on_one_index_sum_exactly(base: UnderTest) -> None:
    """1 + 2 + … + 1000 = 500 500, which float32 holds, and so does every partial sum: any order is exact."""
    for how, found in hit(base.inside(Autodiff).device(), np.arange(1.0, HITS + 1)).items():
        assert found.tolist() == [[0], [500_500], [0]], how


def test_hits_have_the_same_bits_each_time(base: UnderTest) -> None:
    """Of numbers whose sum depends on the order: the order is the same in each run."""
    values = np.random.default_rng(2).normal(size=HITS) * 10.0 ** (np.arange(HITS) % 7)
    device = base.inside(Autodiff).device()
    first, second = hit(device, values), hit(device, values)
    for how, found in first.items():
        assert found.tobytes() == second[how].tobytes(), how


def test_integers_are_hit_too(base: UnderTest) -> None:
    device = base.device()
    counts = ints(np.zeros(4), device)
    places = ints(np.arange(HITS) % 4, device)
    ones = ints(np.ones(HITS), device)
    assert counts.scatter(0, places, ones).to_numpy().tolist() == [HITS // 4] * 4
    assert counts.select_assign(0, places, ones).to_numpy().tolist() == [HITS // 4] * 4
