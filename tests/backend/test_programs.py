"""Random programs: a decorator changes no bit, backends agree, and shapes alone predict every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import BASES, NDARRAY, AnyTensor, UnderTest, const, decorated, gradient_of, ints, leaf, params
from tinyburn import Autodiff, Device, Traced, activation
from tinyburn.backend.log import Kind

SIZE = 3
"""Every step takes and gives a square of this size, so that any step can follow any other."""


def _index(x: AnyTensor) -> AnyTensor:
    return ints([[0, 2, 2], [1, 1, 0], [2, 0, 1]], x.device)


def _row(x: AnyTensor) -> AnyTensor:
    return ints([2, 0, 2], x.device)


STEPS: dict[str, Callable[[AnyTensor], AnyTensor]] = {
    "add": lambda x: x + 0.5,
    "self product": lambda x: x * x * 0.25,
    "matmul": lambda x: x @ x * 0.125,
    "matmul transposed": lambda x: x @ x.transpose() * 0.125,
    "transpose": lambda x: x.transpose(),
    "tanh": lambda x: x.tanh(),
    "sin": lambda x: x.sin(),
    "exp": lambda x: (x.clamp(-2.0, 2.0)).exp(),
    "log": lambda x: (x * x + 0.5).log(),
    "sqrt": lambda x: (x.abs() + 0.25).sqrt(),
    "relu": activation.relu,
    "sigmoid": activation.sigmoid,
    "softplus": activation.softplus,
    "softmax": lambda x: activation.softmax(x, 0),
    "log softmax of the transpose": lambda x: activation.log_softmax(x.transpose(), 1),
    "gelu": activation.gelu,
    "centre": lambda x: x - x.mean_dim(0),
    "normalise": lambda x: (x - x.mean_dim(1)) / (x.var_bias(1) + 1e-3).sqrt(),
    "scale by the sum": lambda x: x * x.sum().unsqueeze() * 0.1,
    "minus the maximum": lambda x: x - x.max_dim(1),
    "minimum": lambda x: x.minimum(x.transpose()),
    "product": lambda x: x + x.prod_dim(0) * 0.1,
    "std": lambda x: x + x.std(0),
    "norm": lambda x: x / (x.norm().unsqueeze() + 1.0),
    "expand": lambda x: x[1].expand((SIZE, SIZE)),
    "reshape": lambda x: x.transpose().reshape((SIZE * SIZE,)).reshape((SIZE, SIZE)),
    "repeat, flatten, every second": lambda x: x.reshape((1, 9)).expand((2, 9)).reshape((18,))[::2].reshape((3, 3)),
    "slice and assign": lambda x: x.slice_assign((slice(0, 2), slice(1, 3)), x[1:, :2]),
    "gather": lambda x: x.gather(1, _index(x)),
    "scatter": lambda x: x.scatter(0, _index(x), x) * 0.25,
    "select": lambda x: x.select(1, _row(x)),
    "select assign": lambda x: x.select_assign(0, _row(x), x) * 0.25,
    "mask": lambda x: x.mask_where(x > 0.1, x * 2.0),
    "fill": lambda x: x.mask_fill(x.transpose() > 0.5, 0.25),
    "power": lambda x: (x * x + 0.25) ** 1.5 * 0.25,
    "remainder": lambda x: x % 0.75,
    "cast": lambda x: x.cast("float32").cast(x.dtype),
    "whole part": lambda x: x - (x * 2.0).int().float(),
    "keep the old": lambda x: (x * 0.5) + x.detach(),
}
JUMPS = {"mask", "fill", "remainder", "whole part", "std", "normalise"}
"""Where a small difference can become a large one: at a jump, or at the steep start of a root."""
programs = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=8)


CONTINUOUS = st.lists(st.sampled_from(sorted(set(STEPS) - JUMPS)), min_size=1, max_size=4)

every_base = pytest.mark.parametrize("base", params(BASES))


def forward(names: list[str], x: AnyTensor) -> AnyTensor:
    for name in names:
        x = STEPS[name](x)
    return x


def start() -> Any:
    """Numbers that every float format holds exactly."""
    return np.round(np.random.default_rng(8).uniform(-1, 1, (SIZE, SIZE)) * 64) / 64


def gradient(names: list[str], device: Device[Any]) -> Any:
    """Of the sum of squares of a program's result."""
    x = leaf(start(), device)
    y = forward([*names, "add"], x)
    return gradient_of(x, (y * y).sum().backward())


@every_base
@given(names=programs)
def test_decorators_are_transparent(names: list[str], base: UnderTest) -> None:
    """The values have the same bits inside every decorator, and none of them is NaN here."""
    found = [forward(names, const(start(), made.device())).to_numpy() for made in decorated(base)]
    assert np.isfinite(found[0]).all()
    assert len({values.tobytes() for values in found}) == 1


@every_base
@given(names=programs)
def test_gradients_are_the_same_under_every_decorator(names: list[str], base: UnderTest) -> None:
    inside = (base, base.inside(Traced), base.inside(Autodiff))
    found = [gradient(names, one.inside(Autodiff).device()) for one in inside]
    assert len({values.tobytes() for values in found}) == 1


@pytest.mark.parametrize("base", params([base for base in BASES if base is not NDARRAY]))
@given(names=CONTINUOUS)
def test_every_backend_agrees_with_the_reference(names: list[str], base: UnderTest) -> None:
    """A few steps without a jump: what is off by some rounding steps stays so, times the slopes of what follows."""
    for decorator, compute in ((None, values_of), (Autodiff, gradient)):
        expected, found = (
            compute(names, (one.inside(decorator) if decorator else one).device()) for one in (NDARRAY, base)
        )
        scale = max(1.0, float(abs(expected).max()))
        np.testing.assert_allclose(found, expected, rtol=0, atol=30 * base.tolerance * scale)


def values_of(names: list[str], device: Device[Any]) -> Any:
    return forward(names, const(start(), device)).to_numpy()


@every_base
@given(names=programs)
def test_shapes_alone_predict_every_event(names: list[str], base: UnderTest) -> None:
    """Forward, backward, saves, releases and frees, in the order in which they happened."""
    logs = []
    for one in (base, base.shapes_alone()):
        device: Any = one.inside(Traced).inside(Autodiff).device()
        x = leaf(start(), device)
        loss = forward(names, x).sum()
        grads = loss.backward()
        del loss, x
        logs.append((device.inner.log.events, device.inner.log.names))
        del grads
    assert logs[0] == logs[1]


@every_base
@given(names=programs)
def test_the_ledger_ends_empty(names: list[str], base: UnderTest) -> None:
    """When every name is gone, every buffer that was allocated has been freed, once."""
    device: Any = base.inside(Traced).inside(Autodiff).device()
    forward(names, leaf(start(), device)).sum().backward()
    events = device.inner.log.events
    allocated = [event[1] for event in events if event[0] == Kind.ALLOC]
    freed = [event[1] for event in events if event[0] == Kind.FREE]
    assert sorted(freed) == allocated
