"""Cases from public bug reports of autograd libraries; the row's number is in the test's id.

Each right value comes by calculus and is written out, or by NumPy where it says so. Where a row's own form cannot
exist under the rank rules (no rank 0, equal ranks only), its nearest form is tested, and that the form as written
gives a clear error. Beside each row stand neighbours: other shapes, dtypes and operations of the same kind.

Here are sections A and B; C is in test_cases_indexing.py, D to F are in test_cases_values.py, G is in
nn/test_cases_convolution.py, H in test_cases_devices.py. Row 17 (checkpointed dropout) is in
autodiff/test_checkpointing.py and nn/test_dropout.py, and drawing the long chain of row 4 is tested with the pictures.
What a row means for a layer or a loss is tested with these, as `test_case_NUMBER_…`.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import (
    AnyTensor,
    assert_close,
    const,
    gradient_of,
    grads_of,
    leaf,
    one,
    plain,
    tracked,
)
from tinyburn import (
    Autodiff,
    Device,
    Module,
    NdArray,
    Param,
    ShapeError,
    Tensor,
    Traced,
    nn,
    optim,
)
from tinyburn.backend.log import Kind

# A. Graph engine


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        pytest.param(lambda x: x + x, 2.0, id="1-add"),
        pytest.param(lambda x: x * x, 6.0, id="1-mul"),
        pytest.param(lambda x: x - x, 0.0, id="1-sub"),
        pytest.param(lambda x: x / x, 0.0, id="1-div"),
        pytest.param(lambda x: x**x, 27 * (math.log(3) + 1), id="1-pow"),
        pytest.param(lambda x: x.maximum(x), 1.0, id="1-maximum"),
        pytest.param(lambda x: x.mask_where(x > 0, x), 1.0, id="1-mask_where"),
        pytest.param(lambda x: x.unsqueeze() @ x.unsqueeze(), 6.0, id="1-matmul"),
    ],
)
def test_a_tensor_used_twice_by_one_operation(function: Callable[[AnyTensor], AnyTensor], slope: float) -> None:
    assert_close(one(function, [3.0]), [slope])


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        pytest.param(lambda y: y * 2 + y * 5, 21.0, id="2"),
        pytest.param(lambda y: y * y + y, 3 * (2 * 6 + 1), id="2-square"),
        pytest.param(lambda y: (y + y) * (y + y), 3 * 8 * 6, id="2-two-diamonds"),
        pytest.param(lambda y: y * 2 + (y.exp() * 0), 6.0, id="2-uneven-depths"),
    ],
)
def test_a_diamond(function: Callable[[AnyTensor], AnyTensor], slope: float) -> None:
    assert_close(one(lambda x: function(x * 3), [2.0]), [slope])


@pytest.mark.parametrize("levels", [pytest.param(40, id="3"), pytest.param(60, id="3-60")])
def test_doubling_visits_each_node_once(levels: int) -> None:
    def double(x: AnyTensor) -> AnyTensor:
        for _ in range(levels):
            x = x + x
        return x

    assert one(double, [1.0]) == [2.0**levels]


@pytest.mark.parametrize("length", [pytest.param(10_000, id="4")])
def test_a_deep_chain(length: int) -> None:
    x = leaf([1.0], tracked())
    y: AnyTensor = x
    for _ in range(length):
        y = y + 1.0
    assert gradient_of(x, y.backward()).tolist() == [1.0]
    assert "10001." in repr(y)
    del y


@pytest.mark.parametrize("second", [pytest.param("kept", id="5-kept"), pytest.param("released", id="5-released")])
def test_backward_twice(second: str) -> None:
    a = leaf([2.0], tracked())
    c = a * 3
    d = c * c
    first = gradient_of(a, d.backward(retain_graph=second == "kept"))
    assert first.tolist() == [36.0]
    if second == "kept":
        assert (first + gradient_of(a, d.backward())).tolist() == [72.0]
    else:
        with pytest.raises(RuntimeError, match="used up"):
            d.backward()


@pytest.mark.parametrize(
    ("start", "expected"), [pytest.param(None, [2.0, 2.0], id="9"), pytest.param([3.0, 4.0], [6.0, 8.0], id="9-given")]
)
def test_a_root_that_is_no_scalar(start: Any, expected: list[float]) -> None:
    x = leaf([1.0, 2.0], tracked())
    gradient = None if start is None else const(start, plain())
    assert gradient_of(x, (x * 2).backward(gradient)).tolist() == expected


def test_9_a_gradient_of_another_shape_changes_nothing() -> None:
    x = leaf([1.0, 2.0], tracked())
    y = x * x
    for wrong in ([1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]):
        with pytest.raises(ShapeError):
            y.backward(const(wrong, plain()))
    assert gradient_of(x, y.backward()).tolist() == [2.0, 4.0]
    assert "sum" in str(Tensor.backward.__doc__)


def test_11_values_cannot_be_edited_between_forward_and_backward() -> None:
    mine = np.array([1.0, 2.0, 3.0])
    x = leaf(mine, tracked())
    y = (x * x).sum()
    mine[0] = 999
    x.to_numpy()[0] = 999
    data = x.into_data()
    with pytest.raises(ValueError, match="read-only"):
        data.values[0] = 999
    assert gradient_of(x, y.backward()).tolist() == [2.0, 4.0, 6.0]


class _Failing(Module):
    def __init__(self, device: Device[Any]) -> None:
        self.w = Param.from_tensor(Tensor.ones((1,), device))

    def forward(self, x: AnyTensor, fail: bool) -> AnyTensor:
        if fail:
            raise KeyError("on purpose")
        return x * self.w.val()


def test_12_nothing_is_switched_off_by_an_exception() -> None:
    """There is no global switch: `no_grad` is a copy of the model."""
    model = _Failing(tracked("float32"))
    x = leaf([3.0], tracked("float32"))
    with pytest.raises(KeyError):
        model.no_grad()(x, fail=True)
    with pytest.raises(KeyError):
        model(x, fail=True)
    grads = model(x, fail=False).backward()
    assert gradient_of(model.w.val(), grads).tolist() == [3.0]
    assert model.no_grad().no_grad()(x, fail=False).backward() is not None
    with pytest.raises(ShapeError) as caught:
        Tensor.ones((2,), x.device) + Tensor.ones((3,), x.device)
    assert "failing" not in str(caught.value)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(optim.SgdConfig(weight_decay=0.1), id="15"),
        pytest.param(optim.SgdConfig(0.9, weight_decay=0.1), id="15-momentum"),
        pytest.param(optim.AdamConfig(weight_decay=0.1), id="15-adam"),
        pytest.param(optim.AdamWConfig(weight_decay=0.1), id="15-adamw"),
        pytest.param(optim.AdaGradConfig(weight_decay=0.1), id="15-adagrad"),
        pytest.param(optim.RmsPropConfig(weight_decay=0.1), id="15-rmsprop"),
        pytest.param(optim.LionConfig(weight_decay=0.1), id="15-lion"),
        pytest.param(optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.1)), id="15-clipped"),
    ],
)
def test_an_unused_parameter_is_skipped(config: Any) -> None:
    class Two(Module):
        def __init__(self, device: Device[Any]) -> None:
            self.l1 = nn.LinearConfig(2, 1).init(device)
            self.l2 = nn.LinearConfig(2, 1).init(device)

    model = Two(tracked())
    optimizer = config.init()
    for _ in range(3):
        grads = model.l1(const([[1.0, 2.0]], tracked())).sum().backward()
        assert grads.named(model)["l2.weight"] is None
        trained = optimizer.step(0.1, model, grads)
        assert (trained.l2.weight.val().to_numpy() == model.l2.weight.val().to_numpy()).all()
        assert (trained.l1.weight.val().to_numpy() != model.l1.weight.val().to_numpy()).all()
        model = trained


@pytest.mark.parametrize("backward", [pytest.param(True, id="16"), pytest.param(False, id="16-forward-only")])
def test_steps_free_their_graph_without_the_collector(backward: bool) -> None:
    device: Any = Autodiff[Traced[NdArray]].device()
    x = leaf(np.ones(5), device)
    events = device.inner.log.events
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            loss = (x * x).sum()
            if backward:
                loss.backward()
            del loss
        allocated, freed = ([event[0] for event in events].count(kind) for kind in (Kind.ALLOC, Kind.FREE))
    finally:
        gc.enable()
    assert allocated - freed == 1


# B. Broadcasting and shapes


def test_19_ranks_are_written_out() -> None:
    a, b = leaf([1.0], tracked()), leaf([[1.0, 1.0]], tracked())
    with pytest.raises(ShapeError, match=r"unsqueeze\(\)"):
        a * b
    grads = (a.unsqueeze() * b).backward()
    assert gradient_of(a, grads).tolist() == [2.0]
    assert gradient_of(b, grads).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param((0,), (1,), id="22"),
        pytest.param((1,), (0,), id="22-reversed"),
        pytest.param((0, 3), (1, 3), id="22-rows"),
        pytest.param((2, 0), (2, 1), id="22-columns"),
        pytest.param((0, 1), (1, 0), id="22-both"),
    ],
)
def test_size_0_against_size_1(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    for op in ("add", "sub", "mul", "div", "maximum", "powf"):
        a, b = leaf(np.ones(left), tracked()), leaf(np.ones(right), tracked())
        result = getattr(a, op)(b)
        grads = result.backward()
        assert result.shape == np.broadcast_shapes(left, right)
        assert_close(gradient_of(a, grads), np.zeros(left))
        assert_close(gradient_of(b, grads), np.zeros(right))


def test_22_size_0_against_size_2_is_refused() -> None:
    with pytest.raises(ShapeError, match="0 in one and 2 in the other"):
        leaf(np.ones(0), tracked()) * leaf(np.ones(2), tracked())


@pytest.mark.parametrize(
    ("prediction", "target"),
    [
        pytest.param((3, 1), (3,), id="23"),
        pytest.param((3,), (3, 1), id="23-reversed"),
        pytest.param((3, 1), (1, 3), id="23-row"),
        pytest.param((3, 1), (3, 3), id="23-wide"),
        pytest.param((3, 1), (1, 1), id="23-single"),
        pytest.param((0, 2), (1, 2), id="23-empty"),
    ],
)
def test_a_loss_never_broadcasts(prediction: tuple[int, ...], target: tuple[int, ...]) -> None:
    device = plain()
    with pytest.raises(ShapeError, match="shape"):
        nn.MseLoss()(Tensor.ones(prediction, device), Tensor.ones(target, device))


def test_23_the_operation_itself_is_a_rank_error() -> None:
    with pytest.raises(ShapeError, match="the ranks differ: 2 and 1"):
        const([[1.0], [2.0], [3.0]], plain()) - const([1.0, 2.0, 3.0], plain())
    aligned = const([[1.0], [2.0], [3.0]], plain())
    assert nn.MseLoss()(aligned, aligned).into_scalar() == 0


@pytest.mark.parametrize("shape", [pytest.param((0, 3), id="24"), pytest.param((2, 0, 3), id="24-rank3")])
def test_an_empty_batch_through_a_linear_layer(shape: tuple[int, ...]) -> None:
    x, w = leaf(np.ones(shape), tracked()), leaf(np.ones((3, 2)), tracked())
    layer = nn.Linear(Param.from_tensor(w), Param.from_tensor(leaf(np.ones(2), tracked())))
    out = layer(x)
    grads = out.sum().backward()
    assert out.shape == (*shape[:-1], 2)
    assert_close(gradient_of(w, grads), np.zeros((3, 2)))
    assert_close(gradient_of(x, grads), np.zeros(shape))
    with pytest.raises(ShapeError, match="empty batch"):
        out.mean()


@pytest.mark.parametrize(
    ("function", "value", "slope"),
    [
        pytest.param(lambda x: 10 - x, 8.0, -1.0, id="29-sub"),
        pytest.param(lambda x: 10 / x, 5.0, -2.5, id="29-div"),
        pytest.param(lambda x: 10 + x, 12.0, 1.0, id="29-add"),
        pytest.param(lambda x: 10 * x, 20.0, 10.0, id="29-mul"),
        pytest.param(lambda x: 3**x, 9.0, 9 * math.log(3), id="29-pow"),
        pytest.param(lambda x: 11 % x, 1.0, -5.0, id="29-mod"),
        pytest.param(lambda x: -x, -2.0, -1.0, id="29-neg"),
        pytest.param(lambda x: np.float64(10) - x, 8.0, -1.0, id="29-numpy-scalar"),
    ],
)
def test_reflected_operators(function: Callable[[AnyTensor], AnyTensor], value: float, slope: float) -> None:
    assert_close(function(const([2.0], plain())).to_numpy(), [value])
    assert_close(one(function, [2.0]), [slope])


def test_29_the_sign_of_the_second_operand() -> None:
    by_a, by_b = grads_of(lambda a, b: a - b, [3.0], [5.0])
    assert (by_a.tolist(), by_b.tolist()) == ([1.0], [-1.0])
