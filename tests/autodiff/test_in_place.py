"""Memory that nobody can see is used again, and nobody can tell.

The backward pass adds to gradients where they lie, rules write over gradients that came in, and an optimizer writes the
new parameters over the gradients. What anybody holds stays as it is, and every result is the same, bit for bit, as that
of a backend which never writes anything twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, const, leaf, tracked
from tinyburn import (
    Autodiff,
    BalancedCheckpointing,
    Device,
    GraphError,
    Module,
    NdArray,
    Param,
    Tensor,
    Traced,
    activation,
    autodiff,
    optim,
)
from tinyburn.backend import Kind
from tinyburn.backend.interface import Backend


class Frugal(NdArray):
    """NdArray without `into`: each result is a new buffer."""

    into = Backend.into


FRUGAL: Any = Autodiff[Frugal].over(NdArray.device(float_dtype="float64"))


def donations(log: Any) -> int:
    return sum(event[0] == Kind.DONATE for event in log.events)


# Programs at random: each step uses some of the results so far, and all of them stay visible


def _grow(results: list[AnyTensor], draw: np.random.Generator) -> AnyTensor:
    a, b = (results[int(draw.integers(len(results)))] for _ in range(2))
    steps: list[Any] = [
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: a @ b.mT @ b,
        lambda: a.tanh(),
        lambda: activation.relu(a),
        lambda: activation.gelu(a),
        lambda: activation.sigmoid(a).mT.reshape((4, 4)),
        lambda: a.mean_dim(0).expand((4, 4)),
        lambda: a.sum().unsqueeze(2).expand((4, 4)) * 0.1,
        lambda: a.reshape((2, 8)).reshape((4, 4)),
        lambda: Tensor.cat([a[:2], b[2:]], 0),
        lambda: a.clamp(-0.5, 0.5) + b.flip((0,)),
        lambda: a + a,
        lambda: autodiff.checkpoint(lambda p, q: (p + q).tanh(), a, b),
    ]
    return steps[int(draw.integers(len(steps)))]() * 0.7


def run_program(seed: int, device: Device[Any]) -> tuple[list[np.ndarray[Any, Any]], bool]:
    """Everything that a random program has computed, and whether what was visible before its backward is unchanged."""
    draw = np.random.default_rng(seed)
    numbers = draw.standard_normal((3, 4, 4))
    results: list[AnyTensor] = [leaf(values.tolist(), device) for values in numbers]
    leaves = results.copy()
    for _ in range(8):
        results.append(_grow(results, draw))
    start = const(draw.standard_normal((4, 4)).tolist(), device.inner)  # type: ignore[attr-defined]
    loss = results[-1] * results[3]
    kept = [x for x in results[3:] if x.primitive.is_tracked][-2:]
    visible = [*results, start]
    before = [x.to_numpy() for x in visible]
    reached = autodiff.backward.backward_order(loss.primitive.node)
    wanted = [x for x in kept if x.primitive.node in reached]
    grads = loss.backward(start if seed % 2 else None, retain_graph=bool(seed % 3), retain_grads=wanted)
    found = [x.grad(grads) for x in (*leaves, *wanted)]
    values = [x.to_numpy() for x in found if x is not None]
    if seed % 3:
        loss.backward(retain_graph=True)
    unchanged = all(np.array_equal(x.to_numpy(), old) for x, old in zip(visible, before, strict=True))
    again = [x.to_numpy() for x in found if x is not None]
    return values, unchanged and all(np.array_equal(a, b) for a, b in zip(values, again, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_nobody_can_tell(seed: int) -> None:
    expected, _ = run_program(seed, FRUGAL)
    for device in (
        tracked(),
        Autodiff[Traced[NdArray]].device(float_dtype="float64"),
        Autodiff[NdArray, BalancedCheckpointing].device(float_dtype="float64"),
    ):
        found, unchanged = run_program(seed, device)
        assert unchanged
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_the_programs_do_write_in_place() -> None:
    counts = []
    for seed in range(20):
        device: Any = Autodiff[Traced[NdArray]].device(float_dtype="float64")
        run_program(seed, device)
        counts.append(donations(device.inner.log))
    assert sum(count > 0 for count in counts) > 15


# What is exclusive, and what is not


def test_two_leaves_of_one_gradient_do_not_share_a_step(tracking: Device[Any]) -> None:
    """The derivative of a sum hands one gradient on to both: to write over it for one would change the other's."""

    class Pair(Module):
        def __init__(self) -> None:
            self.a = Param.from_tensor(const([1.0, 2.0], tracking))
            self.b = Param.from_tensor(const([3.0, 4.0], tracking))

    model = Pair()
    grads = ((model.a.val() + model.b.val()) * const([1.0, 10.0], tracking)).backward()
    trained = optim.SgdConfig().init().step(0.5, model, grads)
    assert trained.a.val().to_numpy().tolist() == [0.5, -3.0]
    assert trained.b.val().to_numpy().tolist() == [2.5, -1.0]
    assert model.a.val().to_numpy().tolist() == [1.0, 2.0]


class Scale(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.w = Param.from_tensor(const([1.0, 2.0], device))


@pytest.mark.parametrize("look", ["get", "named", "tensors", "remove_of_a_copy"])
def test_a_gradient_that_was_looked_at_is_not_written_over(look: str, tracking: Device[Any]) -> None:
    model = Scale(tracking)
    grads = (model.w.val() * 3.0).backward()
    if look == "get":
        seen = model.w.val().grad(grads)
    elif look == "named":
        seen = grads.named(model)["w"]
    elif look == "tensors":
        (seen,) = grads.tensors()
    else:
        import copy

        seen = model.w.val().grad_remove(copy.copy(grads))
    optim.SgdConfig().init().step(0.5, model, grads)
    assert seen is not None
    assert seen.to_numpy().tolist() == [3.0, 3.0]


def test_a_gradient_that_was_given_is_not_written_over(tracking: Device[Any]) -> None:
    """A leaf that is the root: what the caller hands over is its gradient."""
    model = Scale(tracking)
    given = const([5.0, 7.0], tracking.inner)  # type: ignore[attr-defined]
    trained = optim.SgdConfig().init().step(1.0, model, model.w.val().backward(given))
    assert given.to_numpy().tolist() == [5.0, 7.0]
    assert trained.w.val().to_numpy().tolist() == [-4.0, -5.0]


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.1), (0.9, 0.1)])
def test_a_step_leaves_old_models_and_copied_optimizers_as_they_are(
    momentum: float, decay: float, tracking: Device[Any]
) -> None:
    import copy

    model, optimizer = Scale(tracking), optim.SgdConfig(momentum, decay).init()
    models, states = [model], []
    for _ in range(3):
        states.append(copy.deepcopy((models[-1], optimizer)))
        models.append(optimizer.step(0.1, models[-1], (models[-1].w.val() * 3.0).backward()))
    values = [one.w.val().to_numpy().tolist() for one in models]
    for at, (twin, twins_optimizer) in enumerate(states):  # each copy goes the same way from where it was taken
        for expected in values[at + 1 :]:
            twin = twins_optimizer.step(0.1, twin, (twin.w.val() * 3.0).backward())
            assert twin.w.val().to_numpy().tolist() == expected
    assert [one.w.val().to_numpy().tolist() for one in models] == values


# A step takes its gradients


def test_a_step_takes_the_gradients_of_its_model(tracking: Device[Any]) -> None:
    model, x = Scale(tracking), leaf([1.0, 1.0], tracking)
    grads = (model.w.val() * x).backward()
    optim.SgdConfig().init().step(0.1, model, grads)
    assert len(grads) == 1
    assert "1 taken by Sgd.step" in repr(grads)
    assert x.grad(grads) is not None  # it is no parameter of the model
    for ask in (
        lambda: model.w.val().grad(grads),
        lambda: model.w.val().grad_remove(grads),
        lambda: grads.named(model),
    ):
        with pytest.raises(GraphError, match=r"Sgd.step has taken this gradient.*\n.*look at it before the step"):
            ask()
    with pytest.raises(GraphError, match=r"Sgd.step has taken gradients of them already"):
        optim.SgdConfig().init().step(0.1, model, grads)


def test_a_step_that_is_refused_has_taken_nothing(tracking: Device[Any]) -> None:
    model = Scale(tracking)
    grads = (model.w.val() * 3.0).backward()
    with pytest.raises(Exception, match="learning rate"):
        optim.SgdConfig().init().step(-1.0, model, grads)
    assert len(grads) == 1


# What the log says


def test_a_weight_that_is_used_ten_times_has_one_gradient_at_a_time() -> None:
    """PyTorch's peak too: the sum so far, and what is added to it."""
    device: Any = Autodiff[Traced[NdArray]].device(float_dtype="float64")
    w, x = leaf(np.ones((8, 8)).tolist(), device), const(np.ones((2, 8)).tolist(), device)
    loss = (x @ w).sum()
    for _ in range(9):
        loss = loss + (x @ w).sum()
    log = device.inner.log
    start, most = log.live_bytes, 0

    def watch(_: int) -> None:
        nonlocal most
        most = max(most, log.live_bytes)

    log.watcher = watch
    loss.backward()
    log.watcher = None
    assert donations(log) == 9
    assert most - start <= 2 * 8 * 8 * 8 + 64


def test_a_step_makes_no_buffer() -> None:
    device: Any = Autodiff[Traced[NdArray]].device()
    model = Scale(device)
    grads = (model.w.val() * 3.0).backward()
    log = device.inner.log
    before = len(log.events)
    optim.SgdConfig().init().step(0.1, model, grads)
    kinds = [event[0] for event in log.events[before:]]
    assert Kind.ALLOC not in kinds
    assert kinds.count(Kind.DONATE) == 1
