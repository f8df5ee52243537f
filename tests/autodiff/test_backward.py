"""`backward` itself: where it starts, what it returns, what it refuses, and what a refusal leaves untouched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from tests.support import (
    AnyTensor,
    assert_close,
    const,
    gradient_of,
    ints,
    leaf,
    needs_threads,
    plain,
    second_grads_of,
    tracked,
)
from tinyburn import (
    Autodiff,
    BackendMismatch,
    Device,
    DTypeMismatch,
    GraphError,
    Meta,
    Module,
    NdArray,
    Param,
    ShapeError,
    Tensor,
    TensorData,
    TinyburnError,
    Traced,
)
from tinyburn.autodiff.backward import Walk, backward_order
from tinyburn.autodiff.nodes import Node
from tinyburn.autodiff.observer import observe
from tinyburn.backend import Category


def test_gradients_live_on_the_inner_backend(tracking: Device[Any]) -> None:
    x = leaf([1.0, 2.0], tracking)
    found = x.grad((x * x).backward())
    assert found is not None
    assert found.backend is tracking.backend.inner
    assert (found.shape, found.dtype) == (x.shape, x.dtype)
    assert found.to_numpy().tolist() == [2.0, 4.0]


def test_a_root_that_is_no_scalar_gives_the_gradient_of_its_sum(tracking: Device[Any]) -> None:
    x = leaf([[1.0, 2.0]], tracking)
    assert gradient_of(x, (x * 2).backward()).tolist() == [[2.0, 2.0]]


def test_a_gradient_can_be_given(tracking: Device[Any]) -> None:
    x = leaf([1.0, 2.0], tracking)
    start = const([3.0, 4.0], tracking.inner)  # type: ignore[attr-defined]
    assert gradient_of(x, (x * 2).backward(gradient=start)).tolist() == [6.0, 8.0]


BAD_GRADIENTS: list[tuple[str, Any, type[TinyburnError]]] = [
    ("another shape", lambda: const([1.0], plain()), ShapeError),
    ("a shape that would broadcast", lambda: const([[1.0, 1.0]], plain()), ShapeError),
    ("another dtype", lambda: const([1.0, 1.0], plain("float32")), DTypeMismatch),
    ("integers", lambda: ints([1, 1], plain()), DTypeMismatch),
    ("the outer backend", lambda: const([1.0, 1.0], tracked()), BackendMismatch),
    ("another backend", lambda: const([1.0, 1.0], Meta.device(float_dtype="float64")), BackendMismatch),
    ("a list", lambda: [3.0, 4.0], DTypeMismatch),
    ("a number", lambda: 1.0, DTypeMismatch),
]


@pytest.mark.parametrize(("name", "make", "error"), BAD_GRADIENTS, ids=[row[0] for row in BAD_GRADIENTS])
def test_a_wrong_gradient_is_refused_before_anything_changes(name: str, make: Any, error: type[TinyburnError]) -> None:
    x = leaf([1.0, 2.0], tracked())
    y = x * x
    with pytest.raises(error, match="backward"):
        y.backward(gradient=make())
    assert gradient_of(x, y.backward()).tolist() == [2.0, 4.0]


def test_a_second_backward_is_one_clear_error(tracking: Device[Any]) -> None:
    x = leaf([1.0, 2.0], tracking)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(GraphError, match=r"retain_graph=True") as caught:
        y.backward()
    assert isinstance(caught.value, RuntimeError)


def test_a_graph_that_shares_a_consumed_part_is_refused_whole() -> None:
    """The second root still has its own part; the error comes before that is used."""
    x = leaf([2.0], tracked())
    shared = x * x
    first, second = shared * 3.0, shared * 5.0
    first.backward()
    for _ in range(2):
        with pytest.raises(GraphError, match="used up"):
            second.backward()


def test_a_kept_graph_gives_the_same_gradient_again(tracking: Device[Any]) -> None:
    """There is no ``.grad`` field, so nothing accumulates by itself: each call returns its own gradients."""
    a = leaf([2.0], tracking)
    d = (a * 3.0) * (a * 3.0)
    results = [gradient_of(a, d.backward(retain_graph=True)).tolist() for _ in range(3)]
    assert results == [[36.0], [36.0], [36.0]]
    assert gradient_of(a, d.backward()).tolist() == [36.0]
    with pytest.raises(GraphError):
        d.backward()


def test_two_losses_over_one_kept_graph_add_up() -> None:
    x = leaf([2.0], tracked())
    shared = x * x
    first, second = shared * 3.0, shared.exp()
    total = gradient_of(x, first.backward(retain_graph=True)) + gradient_of(x, second.backward())
    assert_close(total, [12 + 4 * np.exp(4)])


def test_a_leaf_as_the_root() -> None:
    x = leaf([[5.0, 6.0]], tracked())
    for _ in range(2):
        assert gradient_of(x, x.backward()).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 2.0, lambda x: x.require_grad().detach()])
def test_backward_of_a_constant_is_refused(make: Any) -> None:
    with pytest.raises(GraphError, match="require_grad"):
        make(const([1.0], tracked())).backward()


def test_backward_of_a_comparison_is_refused() -> None:
    with pytest.raises(GraphError):
        (leaf([1.0], tracked()) > 0).backward()  # type: ignore[misc]  # a checker says so too


@pytest.mark.parametrize("device", [NdArray.device(), Traced[NdArray].device(), Meta.device()], ids=repr)
def test_a_plain_backend_has_no_graph(device: Device[Any]) -> None:
    x: Any = Tensor.ones((2,), device)
    for name in ("backward", "require_grad"):
        with pytest.raises(BackendMismatch, match="Autodiff"):
            getattr(x, name)()
    if not device.backend.is_decorator:
        with pytest.raises(BackendMismatch, match="inner"):
            x.inner()
    assert not x.is_require_grad
    assert x.detach().shape == (2,)


def test_asking_for_the_gradient_of_a_plain_tensor_is_an_error() -> None:
    x = leaf([1.0], tracked())
    grads = x.backward()
    other: Any = const([1.0], plain())
    for name in ("grad", "grad_remove"):
        with pytest.raises(BackendMismatch):
            getattr(other, name)(grads)


def test_untracked_and_unreached_give_none(tracking: Device[Any]) -> None:
    """None is not zero: a tensor without influence, or not asked about, stays apart from a slope of zero."""
    x, unused, constant = leaf([1.0], tracking), leaf([1.0], tracking), const([1.0], tracking)
    zero = leaf([1.0], tracking)
    middle = x * constant
    grads = (middle + zero * 0.0).backward()
    assert unused.grad(grads) is None
    assert constant.grad(grads) is None
    assert gradient_of(zero, grads).tolist() == [0.0]


def test_the_gradient_of_a_result_went_on(tracking: Device[Any]) -> None:
    """None would read as if it were not tracked."""
    x = leaf([1.0], tracking)
    middle = x * 2.0
    grads = (middle * middle).backward()
    with pytest.raises(GraphError, match=r"the result of mul.*went on") as caught:
        middle.grad(grads)
    assert "backward(retain_grads=[tensor])" in str(caught.value)


def test_a_result_can_keep_its_gradient(tracking: Device[Any]) -> None:
    """For ``y = (2 x)^2`` at 3: dy/d(2 x) is 12, dy/dy is 1, dy/dx is 24; and the leaves' are as without it."""
    x = leaf([3.0], tracking)
    middle = x * 2.0
    y = middle * middle
    grads = y.backward(retain_grads=[middle, y])
    assert [gradient_of(each, grads).tolist() for each in (middle, y, x)] == [[12.0], [1.0], [24.0]]


def test_a_kept_gradient_counts_as_a_gradient() -> None:
    device: Any = Autodiff[Traced[NdArray]].device()
    x = leaf([3.0, 4.0], device)
    middle = x * 2.0
    grads = (middle * middle).backward(retain_grads=[middle])
    kept = middle.grad(grads)
    assert kept is not None
    assert kept.primitive.buffer.category is Category.GRADIENT


def test_only_what_gets_a_gradient_can_keep_it(tracking: Device[Any]) -> None:
    x, other = leaf([3.0], tracking), leaf([1.0], tracking)
    y, elsewhere = x * 2.0, other * 2.0
    for wrong in (elsewhere, const([1.0], tracking)):
        with pytest.raises(GraphError, match="gets no gradient"):
            y.backward(retain_grads=[wrong])
    assert gradient_of(x, y.backward()).tolist() == [2.0]  # nothing was used up


def test_a_hidden_state_of_the_step_before_is_told_from_a_loss(tracking: Device[Any]) -> None:
    """The hint for a loss would lead astray: to compute it again does not help, and to keep all graphs costs more and
    more."""
    w = leaf([2.0], tracking)
    hidden = w * 3.0
    loss = hidden * hidden
    loss.backward()
    with pytest.raises(GraphError, match=r"compute the loss again"):
        loss.backward()
    with pytest.raises(GraphError, match=r"hidden state, with \.detach\(\)"):
        (hidden * w).backward()
    assert gradient_of(w, (hidden.detach() * w).backward()).tolist() == [6.0]


WAYS_IN: dict[str, Callable[[AnyTensor], Any]] = {
    "a list": lambda x: [x, x],
    "nested lists": lambda x: [[1.0, x], [x, 2.0]],
    "a tuple": lambda x: (x,),
    "the last of many": lambda x: [*[0.0] * 99, x],
    "alone": lambda x: x,
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_new_data_cuts_no_graph_in_silence(way: str, tracking: Device[Any]) -> None:
    x = leaf([3.0], tracking)
    for tensor in (x, x * 2.0):
        for make in (lambda data: Tensor.from_data(data, tracking), TensorData.from_values):
            with pytest.raises(GraphError, match=r"Tensor\.cat.*Tensor\.stack.*detach"):
                make(WAYS_IN[way](tensor))


def test_grad_remove_takes_it_out() -> None:
    x = leaf([1.0], tracked())
    grads = (x * 2.0).backward()
    assert len(grads) == 1
    assert x.grad_remove(grads) is not None
    assert (len(grads), x.grad(grads)) == (0, None)


def test_require_grad_makes_a_leaf_and_leaves_the_original() -> None:
    constant = const([1.0], tracked())
    x = constant.require_grad()
    assert (x.is_require_grad, constant.is_require_grad) == (True, False)
    assert gradient_of(x.require_grad(), (x * 2.0).backward()).tolist() == [2.0]


def test_require_grad_of_a_result_is_refused() -> None:
    y = leaf([1.0], tracked()) * 2.0
    assert not y.is_require_grad
    with pytest.raises(GraphError, match="detach"):
        y.require_grad()
    assert y.detach().require_grad().is_require_grad


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool"])
def test_only_floats_have_gradients(dtype: str) -> None:
    with pytest.raises(DTypeMismatch, match="float"):
        Tensor.ones((2,), tracked(), dtype).require_grad()


def test_detach_cuts_the_graph() -> None:
    x = leaf([3.0], tracked())
    assert gradient_of(x, (x * x.detach()).backward()).tolist() == [3.0]
    assert x.detach().to_numpy().tolist() == [3.0]


def test_inner_and_from_inner_are_inverse_and_cut_the_graph(tracking: Device[Any]) -> None:
    x = leaf([1.0, 2.0], tracking)
    inside = (x * 2.0).inner()
    assert inside.backend is tracking.backend.inner
    outside = Tensor.from_inner(inside, tracking)
    assert outside.backend is tracking.backend
    assert outside.to_numpy().tolist() == [2.0, 4.0]
    with pytest.raises(GraphError):
        outside.backward()


def test_from_inner_finds_the_decorator_and_refuses_another_device() -> None:
    x = const([1.0], plain())
    assert Tensor.from_inner(x).backend is Autodiff[NdArray]
    traced: Any = Autodiff[Traced[NdArray]].device()
    with pytest.raises(BackendMismatch):
        Tensor.from_inner(x, traced)


def test_to_device_is_a_constant() -> None:
    x = leaf([1.0], tracked())
    moved = (x * 2.0).to_device(Autodiff[Traced[NdArray]].device(float_dtype="float64"))
    with pytest.raises(GraphError):
        moved.backward()


def test_integer_steps_in_the_middle_stop_the_gradient() -> None:
    x = leaf([2.5], tracked())
    y = x * x.int().float().cast("float64")
    assert gradient_of(x, y.backward()).tolist() == [2.0]


def test_third_order() -> None:
    """d³/dx³ of x⁴ is 24 x."""
    backend: Any = Autodiff[Autodiff[Autodiff[NdArray]]]
    device = backend.device(float_dtype="float64")
    first = leaf([1.5], device.inner.inner)
    second = Tensor.from_inner(first, device.inner).require_grad()
    third = Tensor.from_inner(second, device).require_grad()
    one: Any = third.grad((third**4).backward())
    two: Any = second.grad(one.backward())
    assert_close(gradient_of(first, two.backward()), [24 * 1.5])


@pytest.mark.parametrize("power", [2.0, 3.0, -1.0, 0.5])
def test_second_order_of_powers(power: float) -> None:
    first, second = second_grads_of(lambda x: x**power, [0.5, 2.0])
    x = np.array([0.5, 2.0])
    assert_close(first, power * x ** (power - 1))
    assert_close(second, power * (power - 1) * x ** (power - 2))


class _Pair(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.used = Param.from_tensor(Tensor.ones((2, 3), device))
        self.unused = Param.from_tensor(Tensor.ones((3,), device))


def test_named_gradients_of_a_model() -> None:
    model = _Pair(tracked())
    grads = model.used.val().sum().backward()
    named = grads.named(model)
    assert list(named) == ["used", "unused"]
    assert named["used"] is not None
    assert named["used"].to_numpy().tolist() == [[1.0] * 3] * 2
    assert named["unused"] is None


def test_gradients_print_as_a_table_in_a_fixed_order() -> None:
    def run() -> str:
        model = _Pair(tracked())
        return repr((model.used.val().sum() + model.unused.val().sum()).backward())

    expected = "Gradients\nleaf  shape   dtype    bytes\n   0  (3,)    float64     24\n   1  (2, 3)  float64     48"
    assert run() == run() == expected
    assert "0x" not in run()


def test_an_error_inside_the_backward_pass_restores_the_phase() -> None:
    backend: Any = Autodiff[Traced[Meta]]
    device = backend.device()
    x = Tensor.ones((2,), device).require_grad()
    with pytest.raises(BackendMismatch):  # shapes have no size to record
        (x * 2.0).backward(record_flow=True)
    assert device.inner.log.phase == "forward"


def test_a_result_survives_its_graph() -> None:
    x = leaf([2.0], tracked())
    y: AnyTensor = x * x
    y.backward()
    assert y.to_numpy().tolist() == [4.0]


# Several threads


def square_chain(x: AnyTensor, length: int = 30) -> AnyTensor:
    for _ in range(length):
        x = x * x
    return x


def walked(order: list[Node], root: Node, start: AnyTensor, tracking: Device[Any], keep_graph: bool = False) -> Walk:
    """A walk from a gradient of the root."""
    backend: Any = tracking.backend
    walk = Walk(backend.inner, keep_graph, observe(backend, None, keeps_graph=keep_graph))
    walk.pending[root] = start, False
    walk.run(order)
    return walk


def test_of_two_walks_one_gets_the_graph_and_the_other_an_error(tracking: Device[Any]) -> None:
    """Two threads that have both found the way before either has taken a step: here one after the other."""
    x = leaf([1.0], tracking)
    y = square_chain(x)
    node, g = y.primitive.node, const([1.0], tracking.inner)  # type: ignore[attr-defined]
    first, second = backward_order(node), backward_order(node)
    (found,) = walked(first, node, g, tracking).kept.values()
    assert found.to_numpy().tolist() == [2.0**30]
    for keeps in (False, True):
        with pytest.raises(GraphError, match="another thread"):
            walked(second, node, g, tracking, keeps)


def test_walks_that_meet_in_a_shared_part_leave_it_to_one(tracking: Device[Any]) -> None:
    """The other one has gone some way already, and stops where the first has been."""
    x = leaf([1.0], tracking)
    shared = square_chain(x, 3)
    one, other = shared * 2.0, square_chain(shared, 2)
    order = backward_order(other.primitive.node)
    assert gradient_of(x, one.backward()).tolist() == [16.0]  # 2 x^8
    start = const([1.0], tracking.inner)  # type: ignore[attr-defined]
    with pytest.raises(GraphError, match="another thread"):
        walked(order, other.primitive.node, start, tracking)


@needs_threads
def test_of_many_threads_one_wins(tracking: Device[Any]) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(20):
                x = leaf([1.0], tracking)
                y, barrier = square_chain(x), Barrier(4)

                def run(y: AnyTensor = y, barrier: Barrier = barrier) -> Any:
                    barrier.wait()
                    try:
                        return y.backward()
                    except GraphError as error:
                        return error

                results = [future.result() for future in [pool.submit(run) for _ in range(4)]]
                (won,) = [result for result in results if not isinstance(result, GraphError)]
                assert gradient_of(x, won).tolist() == [2.0**30]
    finally:
        sys.setswitchinterval(before)
