"""Errors come in layers: what was asked and where, what was given, every reason, and the fix."""

from __future__ import annotations

from inspect import isfunction, signature
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, UnderTest, const, ints, plain, tracked
from tinyburn import (
    Autodiff,
    BackendMismatch,
    DeviceMismatch,
    DTypeMismatch,
    ForeignCall,
    Meta,
    Module,
    NdArray,
    Param,
    ShapeError,
    Tensor,
    TinyburnError,
    Traced,
    activation,
    nn,
)
from tinyburn.base.errors import BackendUnavailable, ConfigError, GraphError

RANKS = """\
add
  left  : (16, 4) float32 on NdArray(cpu)
  right : (4,) float32 on NdArray(cpu)
  because the ranks differ: 2 and 1
  hint: write unsqueeze() on the right tensor, which gives it shape (1, 4)"""

MANY = """\
mul
  left  : (2, 3) float32 on NdArray(cpu)
  right : (4, 5) float64 on NdArray(cpu)
  because the dtypes differ: float32 and float64, and tinyburn never converts silently
  because dim 0 is 2 in one and 4 in the other, and neither is 1
  because dim 1 is 3 in one and 5 in the other, and neither is 1
  hint: convert one, as in .cast("float32")"""

EVERYTHING = """\
sub
  left  : (2,) float32 on NdArray(cpu)
  right : (3,) float32 on Autodiff[NdArray](cpu)
  because the backends differ: NdArray and Autodiff[NdArray]
  because dim 0 is 2 in one and 3 in the other, and neither is 1"""


def ones(shape: tuple[int, ...], device: Any) -> AnyTensor:
    """Ones whose rank no checker knows, so that a wrong program can be written."""
    return Tensor.ones(shape, device)


def test_a_rank_error_names_the_unsqueeze() -> None:
    with pytest.raises(ShapeError) as caught:
        ones((16, 4), plain("float32")) + ones((4,), plain("float32"))
    assert str(caught.value) == RANKS


def test_every_reason_is_given_at_once() -> None:
    with pytest.raises(DTypeMismatch) as caught:
        Tensor.ones((2, 3), plain("float32")) * Tensor.ones((4, 5), plain())
    assert str(caught.value) == MANY


def test_backend_and_shape_together() -> None:
    with pytest.raises(BackendMismatch) as caught:
        ones((2,), plain("float32")) - ones((3,), Autodiff[NdArray].device())
    assert str(caught.value).startswith(EVERYTHING)
    assert "to_device" in str(caught.value)
    assert "from_inner" in str(caught.value)


def test_two_devices_of_one_backend() -> None:
    """Each traced device has its own log, so its tensors cannot meet another's."""
    backend: Any = Traced[NdArray]
    with pytest.raises(DeviceMismatch, match="to_device"):
        Tensor.ones((2,), backend.device()) + Tensor.ones((2,), backend.device())


def test_two_handles_of_one_place_are_one_device() -> None:
    x, y = const([1.0], plain()), const([2.0], plain())
    assert x.device is not y.device
    assert x.device == y.device
    assert hash(x.device) == hash(y.device)
    assert (x + y).to_numpy().tolist() == [3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: x == y,
        lambda x, y: x @ y,
        lambda x, y: x.mask_where(x > 0, y),
        lambda x, y: x.mask_where(y > 0, x),
        lambda x, y: x.mask_fill(y > 0, 1.0),
        lambda x, y: x.gather(0, y.int()),
        lambda x, y: x.select(0, y.int().flatten()),
        lambda x, y: x.scatter(0, x.int(), y),
        lambda x, y: x.slice_assign(0, y[:1]),
    ],
)
@pytest.mark.parametrize("other", [Meta, Traced[NdArray], Autodiff[NdArray]], ids=lambda other: other.__name__)
def test_backends_never_mix(call: Any, other: Any) -> None:
    with pytest.raises(BackendMismatch, match="backends differ"):
        call(Tensor.zeros((2, 2), plain("float32")), Tensor.zeros((2, 2), other.device()))


@pytest.mark.parametrize(
    ("left", "right", "reasons"),
    [
        ((2, 3), (4, 5), ["inner dims differ: 3 columns on the left, 4 rows on the right"]),
        ((2, 3), (2, 3), ["inner dims differ", "transpose"]),
        ((3,), (3,), ["the ranks are 1 and 1", "unsqueeze"]),
        ((2, 3), (3,), ["the ranks are 2 and 1"]),
        ((2, 3), (1, 3, 2), ["the ranks are 2 and 3"]),
        ((2, 1, 3), (3, 3, 1), ["dim 0 is 2 in one and 3 in the other"]),
        ((2, 2, 3), (3, 4, 5), ["inner dims differ", "dim 0 is 2 in one and 3 in the other"]),
    ],
)
def test_matmul_says_what_does_not_fit(left: Any, right: Any, reasons: list[str]) -> None:
    with pytest.raises(ShapeError) as caught:
        Tensor.ones(left, plain()) @ Tensor.ones(right, plain())
    assert all(reason in str(caught.value) for reason in reasons)


def test_matmul_wants_numbers_and_a_tensor() -> None:
    x: Any = Tensor.ones((2, 2), plain())
    for wrong in (2.0, [[1.0]], None):
        with pytest.raises(DTypeMismatch, match="not a tensor"):
            x @ wrong
    with pytest.raises(DTypeMismatch):
        Tensor.ones((2, 2), plain(), "bool") @ Tensor.ones((2, 2), plain(), "bool")
    with pytest.raises(DTypeMismatch):
        x @ Tensor.ones((2, 2), plain(), "float32")


class _Inner(Module):
    def forward(self, x: Any) -> Any:
        return x + Tensor.ones((7,), x.device)


class _Outer(Module):
    def __init__(self) -> None:
        self.layers = [_Inner(), _Inner()]

    def forward(self, x: Any) -> Any:
        return self.layers[1](x)


def test_an_error_inside_a_module_names_its_path() -> None:
    with pytest.raises(ShapeError) as caught:
        _Outer()(Tensor.ones((2,), plain()))
    assert str(caught.value).startswith("add (in _outer.layers.1)\n")
    with pytest.raises(ShapeError) as outside:
        Tensor.ones((2,), plain()) + Tensor.ones((7,), plain())
    assert str(outside.value).startswith("add\n")


@pytest.mark.parametrize(
    ("error", "python"),
    [
        (ShapeError, ValueError),
        (DTypeMismatch, TypeError),
        (BackendMismatch, TypeError),
        (DeviceMismatch, ValueError),
        (BackendUnavailable, RuntimeError),
        (GraphError, RuntimeError),
        (ConfigError, ValueError),
    ],
)
def test_each_error_is_pythons_too(error: type[Exception], python: type[Exception]) -> None:
    assert issubclass(error, TinyburnError)
    assert issubclass(error, python)


@pytest.mark.parametrize("name", ["mean", "max", "min"])
def test_an_empty_batch_has_no_mean_and_says_so(name: str, any_device: Any) -> None:
    for shape in ((0,), (0, 3), (3, 0)):
        x: Any = Tensor.ones(shape, any_device)
        with pytest.raises(ShapeError, match="empty batch"):
            getattr(x, name)()
        if any_device.backend.has_values:
            assert x.sum().to_numpy().tolist() == [0.0]
            assert x.prod().to_numpy().tolist() == [1.0]


@pytest.mark.parametrize("name", ["mean_dim", "max_dim", "min_dim", "argmax", "argmin", "var", "std"])
def test_an_empty_dim_has_no_mean(name: str) -> None:
    x = Tensor.ones((0, 3), plain())
    with pytest.raises(ShapeError, match="empty batch"):
        getattr(x, name)(0)
    assert getattr(x, name)(1).shape == (0, 1)


@pytest.mark.parametrize("name", ["sum_dim", "mean_dim", "max_dim", "prod_dim", "argmax", "var", "squeeze"])
@pytest.mark.parametrize("dim", [2, -3, 100])
def test_a_dim_that_does_not_exist(name: str, dim: int) -> None:
    with pytest.raises(ShapeError, match=f"dim {dim} does not exist in a tensor of rank 2") as caught:
        getattr(Tensor.ones((2, 3), plain()), name)(dim)
    assert "use a dim from -2 to 1" in str(caught.value)


def test_indices_must_be_whole_and_inside(base: UnderTest) -> None:
    """A GPU has not looked at them yet when the call returns; it says so where values are read."""
    device = base.device()
    x = const([1.0, 2.0, 3.0], device)
    ones = const([1.0, 1.0], device)
    for wrong in ([3, 0], [-1, 0], [0, 99]):
        places = ints(wrong, device)
        for call in (
            lambda places=places: x.gather(0, places),
            lambda places=places: x.select(0, places),
            lambda places=places: x.scatter(0, places, ones),
            lambda places=places: x.select_assign(0, places, ones),
        ):
            with pytest.raises(ShapeError, match="has size 3"):
                call().to_numpy()
    with pytest.raises(DTypeMismatch, match="int"):
        x.gather(0, const([0.0], device))
    assert x.to_numpy().tolist() == [1.0, 2.0, 3.0]


def test_messages_do_not_depend_on_the_process() -> None:
    with pytest.raises(TinyburnError) as caught:
        Tensor.ones((2,), tracked()) + Tensor.ones((3,), tracked())
    assert "0x" not in str(caught.value)


ACTIVATIONS = [
    name for name, value in vars(activation).items() if isfunction(value) and value.__module__.endswith("activation")
]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_of_no_tensor_says_so(name: str) -> None:
    function: Any = getattr(activation, name)
    others = {"x": [1.0, 2.0], "dim": 0, "alpha": [1.0]}
    arguments = [others[each] for each, p in signature(function).parameters.items() if p.default is p.empty]
    with pytest.raises(DTypeMismatch, match=rf"{name}\n  because list is not a tensor\n  hint: make it one"):
        function(*arguments)


# The class makes nothing by itself


@pytest.mark.parametrize("data", [[1.0, 2.0], np.ones(3), np.float32(1), 1.0, None, "a"], ids=repr)
def test_the_class_itself_makes_no_tensor(data: Any, device: Any) -> None:
    """It would hold whatever it is given: a list that fails later, or an array that the caller can still change."""
    kind: Any = Tensor
    for call in (
        lambda: kind(data),
        lambda: kind(data, device),
        lambda: kind(data=data, device=device, dtype="float32"),
        lambda: kind[NdArray, 1](data, device),
        lambda: kind(ones((2,), device).primitive, device),
    ):
        with pytest.raises(ForeignCall, match=r"from_data\(\[1.0, 2.0\], device\)") as caught:
            call()
        assert isinstance(caught.value, TypeError)


# A hint leads to what works: what it says is run, too


def layer() -> nn.Linear:
    return nn.LinearConfig(3, 2).init(plain("float32"))


X = ones((2, 3), plain("float32"))
COUNTS = ints([[1, 2, 3]], plain("float32"))
HINTS: dict[str, tuple[Any, str, Any]] = {
    "a tensor as a bound": (
        lambda: X.clamp(X, 1.0), "x.maximum(low).minimum(high)", lambda: X.maximum(X).minimum(X)),
    "a tensor as a lower bound": (lambda: X.clamp_min(X), "x.maximum(low)", lambda: X.maximum(X)),
    "a tensor as an upper bound": (lambda: X.clamp_max(X), "x.minimum(high)", lambda: X.minimum(X)),
    "a tensor to fill with": (lambda: X.mask_fill(X > 0, X), "mask_where(mask, values)",
                              lambda: X.mask_where(X > 0, X)),
    "a tensor as the exponent": (lambda: X.powf_scalar(X), "x.powf(exponents)", lambda: X.powf(X)),
    "a tensor as a value": (
        lambda: Tensor.full((2,), X.sum(), X.device), ".into_scalar()",
        lambda: Tensor.full((2,), X.sum().into_scalar(), X.device)),
    "a parameter on the right": (lambda: X @ layer().weight, ".val()", lambda: X @ layer().weight.val()),
    "a parameter on the left": (lambda: layer().weight @ X, ".val()", lambda: layer().weight.val() @ X[:, :2].mT),
    "a parameter as a number": (
        lambda: X + Param.from_tensor(X), ".val()", lambda: X + Param.from_tensor(X).val()),
    "a parameter into a function": (
        lambda: activation.relu(layer().weight), ".val()", lambda: activation.relu(layer().weight.val())),
    "a condition": (lambda: 1 if X > 0 else 2, ".any() or .all()", lambda: 1 if (X > 0).any() else 2),
    "and": (lambda: (X > 0) and (X < 2), "& and |", lambda: (X > 0) & (X < 2)),
    "a new dim": (lambda: X[None], "unsqueeze()", lambda: X.unsqueeze()),
    "a new dim among others": (lambda: X[:, None, :], "unsqueeze_dim(dim)", lambda: X.unsqueeze_dim(1)),
    "axes in one tuple": (lambda: X.permute((1, 0)), "permute(1, 0)", lambda: X.permute(1, 0)),
    "axes in one list": (lambda: X.permute([1, 0]), "permute(1, 0)", lambda: X.permute(1, 0)),
    "a mask as an index": (lambda: X[X > 0], "mask_where() or mask_fill()", lambda: X.mask_fill(X > 0, 0.0)),
    "indices as an index": (
        lambda: X[ints([0], X.device)], "gather() or select()", lambda: X.select(0, ints([0], X.device))),
    "Int into Linear": (
        lambda: layer()(COUNTS), 'convert the left tensor, with .cast("float32")',
        lambda: layer()(COUNTS.cast("float32"))),
    "Int on the right": (
        lambda: X * COUNTS, 'convert the right tensor, with .cast("float32")', lambda: X * COUNTS.cast("float32")),
    "Bool beside Int": (
        lambda: COUNTS.equal(COUNTS > 1), 'convert the right tensor, with .cast("int64")',
        lambda: COUNTS.equal((COUNTS > 1).cast("int64"))),
}  # fmt: skip
"""What somebody who knows NumPy or PyTorch writes, what the hint says, and that it works."""


@pytest.mark.parametrize("case", HINTS)
def test_a_hint_names_what_works(case: str) -> None:
    wrong, hint, right = HINTS[case]
    with pytest.raises(TinyburnError) as caught:
        wrong()
    assert hint in str(caught.value).partition("hint: ")[2]
    assert right() is not None
