"""A rule saves exactly what it names, and nothing else holds a buffer. The Traced log is the witness."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, const, leaf, mask
from tinyburn import Autodiff, Device, Meta, NdArray, Traced, activation
from tinyburn.backend.log import Category, Kind


def traced() -> Device[Any]:
    backend: Any = Autodiff[Traced[NdArray]]
    made: Device[Any] = backend.device(float_dtype="float64")
    return made


def log_of(device: Device[Any]) -> Any:
    return device.inner.log  # type: ignore[attr-defined]


def saves_of(device: Device[Any]) -> list[str]:
    """``op.operand`` for each save, in order."""
    log = log_of(device)
    saved = [event for event in log.events if event[0] == Kind.SAVE]
    return [f"{log.names[log.events[event[2]][1]]}.{log.names[event[3]]}" for event in saved]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only reference counts may free anything."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


BOTH, LEFT, RIGHT = (True, True), (True, False), (False, True)
EXPECTED: list[tuple[str, Callable[..., AnyTensor], tuple[bool, bool], list[str]]] = [
    ("add", lambda x, y: x + y, BOTH, []),
    ("sub", lambda x, y: x - y, BOTH, []),
    ("mul", lambda x, y: x * y, BOTH, ["mul.b", "mul.a"]),
    ("mul-left", lambda x, y: x * y, LEFT, ["mul.b"]),
    ("mul-right", lambda x, y: x * y, RIGHT, ["mul.a"]),
    ("mul-number", lambda x, y: x * 2.0, LEFT, []),
    ("matmul-left", lambda x, y: x @ y, LEFT, ["matmul.b"]),
    ("matmul-right", lambda x, y: x @ y, RIGHT, ["matmul.a"]),
    ("matmul", lambda x, y: x @ y, BOTH, ["matmul.b", "matmul.a"]),
    ("exp", lambda x, y: x.exp(), LEFT, ["exp.out"]),
    ("log", lambda x, y: x.log(), LEFT, ["log.a"]),
    ("tanh", lambda x, y: x.tanh(), LEFT, ["tanh.out"]),
    ("neg", lambda x, y: -x, LEFT, []),
    ("sum", lambda x, y: x.sum(), LEFT, []),
    ("mean", lambda x, y: x.mean(), LEFT, []),
    ("reshape", lambda x, y: x.reshape((4,)), LEFT, []),
    ("permute", lambda x, y: x.transpose(), LEFT, []),
    ("expand", lambda x, y: x[:1].expand((2, 2)), LEFT, []),
    ("slice", lambda x, y: x[1:], LEFT, []),
    ("cast", lambda x, y: x.cast("float32"), LEFT, []),
    ("square", lambda x, y: x**2, LEFT, ["powf_scalar.a"]),
    ("untracked", lambda x, y: x * y + x.exp(), (False, False), []),
    ("mask", lambda x, y: x.mask_where(mask([[True, False]] * 2, x.device), y), BOTH, ["mask_where.mask"] * 2),
    ("comparison", lambda x, y: (x > y).float(), BOTH, []),
]


@pytest.mark.parametrize(("name", "function", "wanted", "saves"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_rule_saves_exactly_what_it_names(
    name: str, function: Callable[..., AnyTensor], wanted: tuple[bool, bool], saves: list[str]
) -> None:
    device = traced()
    x, y = (leaf(np.eye(2) + 1, device) if is_tracked else const(np.eye(2) + 1, device) for is_tracked in wanted)
    result = function(x, y)
    assert saves_of(device) == saves
    assert result.shape


def alive(device: Device[Any]) -> int:
    """Buffers that are allocated and not freed yet."""
    kinds: list[int] = [event[0] for event in log_of(device).events]
    return kinds.count(Kind.ALLOC) - kinds.count(Kind.FREE)


def category_of(x: AnyTensor) -> str:
    category: Category = x.primitive.primitive.buffer.category
    return category.name


def test_sub_keeps_nothing_alive(no_collector: None) -> None:
    x = leaf([[1.0]], Autodiff[NdArray].device(float_dtype="float64"))
    product = x * 2.0
    witness = weakref.ref(product.primitive.primitive)
    difference = product - 3.0
    del product
    assert witness() is None
    assert difference.backward() is not None


def test_matmul_keeps_the_left_side_only_if_the_right_is_tracked(no_collector: None) -> None:
    for right_tracked in (True, False):
        device = Autodiff[NdArray].device(float_dtype="float64")
        left = leaf(np.ones((2, 2)), device) * 2.0
        right = const(np.ones((2, 2)), device)
        right = right.require_grad() if right_tracked else right
        witness = weakref.ref(left.primitive.primitive)
        product = left @ right
        del left
        assert (witness() is not None) is right_tracked
        assert product.shape == (2, 2)


def test_each_saved_buffer_goes_right_after_its_last_use() -> None:
    """In the log, every free of an activation comes before the next rule's first operation."""
    device = traced()
    x = leaf(np.ones((4, 4)), device)
    h = x
    for _ in range(5):
        h = h.exp()
    root = h.sum()
    del h
    before = alive(device)
    grads = root.backward()
    assert alive(device) < before
    events = log_of(device).events
    saved = {event[1] for event in events if event[0] == Kind.SAVE}
    released = [event[1] for event in events if event[0] == Kind.RELEASE]
    freed = [event[1] for event in events if event[0] == Kind.FREE and event[1] in saved]
    assert released == freed == sorted(saved, reverse=True)
    assert len(grads) == 1


def test_a_saved_buffer_goes_before_gradients_are_added_up() -> None:
    """Both exp results are free when the two parts of x's gradient meet: they never cost memory together."""
    device = traced()
    x = leaf(np.ones((4,)), device)
    (x.exp() + x.exp()).backward()
    log = log_of(device)
    saved = {event[1] for event in log.events if event[0] == Kind.SAVE}
    freed = [place for place, event in enumerate(log.events) if event[0] == Kind.FREE and event[1] in saved]
    added = [place for place, event in enumerate(log.events) if event[0] == Kind.OP and log.names[event[1]] == "add"]
    assert len(saved) == len(freed) == len(added) == 2
    assert max(freed) < added[-1]


def test_saves_and_releases_balance() -> None:
    device = traced()
    x = leaf(np.ones((3, 3)), device)
    (activation.softmax(x @ x, 1) * x).norm().backward()
    kinds = [event[0] for event in log_of(device).events]
    assert kinds.count(Kind.SAVE) == kinds.count(Kind.RELEASE) > 0


def test_a_dropped_graph_releases_what_it_saved(no_collector: None) -> None:
    """Without a backward pass too: what no node keeps any longer is an ordinary result again."""
    device = traced()
    x = leaf(np.ones((3,)), device)
    h = x * 2.0
    y = h * h
    assert category_of(h) == "ACTIVATION"
    del y
    kinds = [event[0] for event in log_of(device).events]
    assert kinds.count(Kind.RELEASE) == kinds.count(Kind.SAVE) == 2
    assert category_of(h) == "TEMPORARY"


def test_a_kept_graph_releases_nothing() -> None:
    device = traced()
    x = leaf([2.0], device)
    y = x * x
    y.backward(retain_graph=True)
    kinds = [event[0] for event in log_of(device).events]
    assert (kinds.count(Kind.SAVE), kinds.count(Kind.RELEASE)) == (2, 0)
    y.backward()
    kinds = [event[0] for event in log_of(device).events]
    assert (kinds.count(Kind.SAVE), kinds.count(Kind.RELEASE)) == (2, 2)


def test_shapes_alone_predict_a_training_step() -> None:
    """Autodiff[Traced[Meta]] writes the log of Autodiff[Traced[NdArray]], backward and frees included."""
    logs = []
    for backend in (Autodiff[Traced[NdArray]], Autodiff[Traced[Meta]]):
        device: Any = backend.device()
        w, x = leaf(np.ones((4, 3)), device), const(np.ones((5, 4)), device)
        loss = (activation.relu(x @ w) - activation.softmax(x @ w, 1)).transpose().reshape((15,)).std(0).mean()
        grads = loss.backward()
        logs.append((device.inner.log.events, device.inner.log.names))
        del loss, grads, w, x
    assert logs[0] == logs[1]


def test_graphs_are_freed_by_reference_counts(no_collector: None) -> None:
    device = traced()
    x = leaf(np.ones((4,)), device)
    counts = []
    for _ in range(50):
        loss = (x * x).exp().sum()
        grads = loss.backward()
        del loss, grads
        counts.append(alive(device))
    assert counts == [1] * 50
    assert gc.collect() == 0


def test_an_unused_graph_is_freed_too(no_collector: None) -> None:
    device = traced()
    x = leaf(np.ones((4,)), device)
    loss = (x * x).exp().sum()
    assert alive(device) > 1
    del loss
    assert alive(device) == 1


def test_gradients_go_with_their_last_name(no_collector: None) -> None:
    device = traced()
    x = leaf(np.ones((4,)), device)
    grads = (x * x).sum().backward()
    assert alive(device) == 2
    taken = x.grad_remove(grads)
    assert (alive(device), len(grads)) == (2, 0)
    del taken
    assert alive(device) == 1
