"""What the layers say to bad input: one error, in the layer's name, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import const, ints, plain, tracked
from tinyburn import (
    BackendMismatch,
    Config,
    ConfigError,
    DTypeMismatch,
    ForeignCall,
    Module,
    NdArray,
    ShapeError,
    TinyburnError,
    nn,
    optim,
)
from tinyburn.module.constructors import explain_constructors

CONFIGS: dict[str, Callable[[], Config]] = {
    "d_model is 0": lambda: nn.LayerNormConfig(0),
    "epsilon is 0": lambda: nn.LayerNormConfig(4, epsilon=0.0),
    "epsilon is nan": lambda: nn.LayerNormConfig(4, epsilon=float("nan")),
    "n_embedding is 0": lambda: nn.EmbeddingConfig(0, 4),
    "d_model is -1": lambda: nn.EmbeddingConfig(3, -1),
    "d_model is -3": lambda: nn.RmsNormConfig(-3),
    "num_channels is 0": lambda: nn.InstanceNormConfig(0),
    "5 channels do not make 2 groups of equal size": lambda: nn.GroupNormConfig(2, 5),
    "num_groups is 0": lambda: nn.GroupNormConfig(0, 5),
    "num_features is 0": lambda: nn.BatchNormConfig(0),
    "momentum is 1.5": lambda: nn.BatchNormConfig(3, momentum=1.5),
    "epsilon is -1.0": lambda: nn.BatchNormConfig(3, epsilon=-1.0),
    "d_model is 2.5": lambda: nn.EmbeddingConfig(3, 2.5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("reason", CONFIGS)
def test_a_config_that_cannot_be(reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        CONFIGS[reason]()


INPUTS: dict[str, tuple[Callable[[], Any], type[TinyburnError]]] = {
    "the last dim is 3, and the layer fixes it at d_model = 4": (
        lambda: nn.LayerNormConfig(4).init(plain())(const([[1.0, 2.0, 3.0]], plain())),
        ShapeError,
    ),
    "the backends differ": (
        lambda: nn.LayerNormConfig(2).init(plain())(const([[1.0, 2.0]], tracked())),
        BackendMismatch,
    ),
    "the dtypes differ: float32 and float64": (
        lambda: nn.LayerNormConfig(2).init(plain())(const([[1.0, 2.0]], plain("float32"))),
        DTypeMismatch,
    ),
    "the dtypes differ: int64 and float64": (
        lambda: nn.LayerNormConfig(2).init(plain())(ints([[1, 2]], plain())),
        DTypeMismatch,
    ),
    "ndarray is not a tensor": (
        lambda: nn.LayerNormConfig(2).init(plain())(np.ones((1, 2))),  # type: ignore[type-var]
        DTypeMismatch,
    ),
    "the last dim is 1, and the layer fixes it at d_model = 3": (
        lambda: nn.RmsNormConfig(3).init(plain())(const([[1.0]], plain())),
        ShapeError,
    ),
    "dim 1 is 3, and the layer fixes it at num_channels = 4": (
        lambda: nn.GroupNormConfig(2, 4).init(plain())(const(np.ones((2, 3, 5)), plain())),
        ShapeError,
    ),
    "the input has rank 1, and must have rank 2 to 6": (
        lambda: nn.InstanceNormConfig(3).init(plain())(const(np.ones(3), plain())),
        ShapeError,
    ),
    "GroupNorm takes a float tensor": (
        lambda: nn.GroupNormConfig(1, 2, affine=False).init(plain())(ints([[1, 2]], plain())),
        DTypeMismatch,
    ),
    "Embedding takes an int tensor": (
        lambda: nn.EmbeddingConfig(3, 2).init(plain())(const([[1.0]], plain())),
        DTypeMismatch,
    ),
    "the indices have rank 1": (lambda: nn.EmbeddingConfig(3, 2).init(plain())(ints([1], plain())), ShapeError),
    "the indices run from -1 to 3": (
        lambda: nn.EmbeddingConfig(3, 2).init(plain())(ints([[-1, 3]], plain())),
        ShapeError,
    ),
}


@pytest.mark.parametrize("reason", INPUTS)
def test_an_input_that_does_not_fit(reason: str) -> None:
    call, error = INPUTS[reason]
    with pytest.raises(error, match=reason):
        call()


@pytest.mark.parametrize(
    ("layer", "args"),
    [
        (nn.LayerNorm, (4,)),
        (nn.RmsNorm, (4,)),
        (nn.Embedding, (4,)),
        (nn.PRelu, (1,)),
        (nn.BatchNorm, (4, None, None, None)),
    ],
)
def test_a_layer_made_without_its_config(layer: Any, args: Any) -> None:
    with pytest.raises(ForeignCall, match="made by its config"):
        layer(*args)


WITH_CONFIGS = [name for name in (*nn.__all__, *optim.__all__) if f"{name}Config" in {*nn.__all__, *optim.__all__}]


@pytest.mark.parametrize("name", WITH_CONFIGS)
def test_a_call_that_fits_no_constructor_names_the_config(name: str) -> None:
    """As ``nn.Embedding(10, 3, padding_idx=0)``, which somebody writes who knows PyTorch."""
    folder = "nn" if name in nn.__all__ else "optim"
    with pytest.raises(ForeignCall, match=rf"write {folder}\.{name}Config\(.*\)\.init\(") as caught:
        getattr(nn if folder == "nn" else optim, name)(1, 2, wrong=3)
    assert str(caught.value).startswith(f"{folder}.{name}\n  because it is made by its config")


def test_an_error_inside_a_constructor_is_left_as_it_is() -> None:
    class Broken(Module):
        def __init__(self, size: int) -> None:
            self.size = len(size)  # type: ignore[arg-type]

    class BrokenConfig(Config):
        def init(self) -> Broken:
            return Broken(3)

    explain_constructors("mine", {"Broken": Broken, "BrokenConfig": BrokenConfig})
    with pytest.raises(TypeError, match="has no len"):
        BrokenConfig().init()
    with pytest.raises(ForeignCall, match=r"write mine\.BrokenConfig\(\)\.init\(\)"):
        Broken()  # type: ignore[call-arg]


def test_an_empty_batch() -> None:
    device = NdArray.device()
    assert nn.LayerNormConfig(4).init(device)(const(np.zeros((0, 4)), device)).shape == (0, 4)
    assert nn.RmsNormConfig(4).init(device)(const(np.zeros((0, 4)), device)).shape == (0, 4)
    assert nn.GroupNormConfig(2, 4).init(device)(const(np.zeros((0, 4, 3)), device)).shape == (0, 4, 3)
    assert nn.EmbeddingConfig(3, 2).init(device)(ints(np.zeros((0, 5)), device)).shape == (0, 5, 2)
