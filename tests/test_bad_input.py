"""Whatever somebody hands to the public API by mistake: an answer, or an error with a sentence; no crash, no hang."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import ints, plain, tracked
from tinyburn import (
    Autodiff,
    Distribution,
    NdArray,
    Param,
    RunConfig,
    Tensor,
    TensorData,
    TinyburnError,
    Traced,
    activation,
    autodiff,
    grid,
    linalg,
    memory,
    nn,
    optim,
    viz,
)

SECONDS = 10
OPERATORS = ("add", "radd", "sub", "rsub", "mul", "truediv", "rtruediv", "mod", "rmod", "pow", "rpow", "matmul")
MASK_OPERATORS = ("and", "or", "xor", "getitem", "setitem", "eq", "lt", "format")


@cache
def world() -> dict[str, Any]:
    """Good objects, which are bad in most places."""
    device = tracked("float32")
    x, layer = Tensor.ones((2, 3), device).require_grad(), nn.LinearConfig(3, 2).init(device)
    return {
        **{"device": device, "other device": plain("float64"), "x": x, "a row": x[:1], "mask": x > 0},
        **{"indices": ints([0, 1], device), "elsewhere": Tensor.ones((2, 3), plain("float32"))},
        **{"param": layer.weight, "model": layer, "grads": (layer(x) ** 2).sum().backward()},
    }


BAD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 7, 1.5, float("nan"), float("inf"), -float("inf"), 10**30, 1j, "a", "", "float32", b"a"),
    *([], [[1], [2, 3]], (), (0,), (1, 0), (2, 3), (-1,), ("a",), (1.5,), {}, {"a": 1}, range(3), object(), len),
    *(np.float32(2), np.int64(1), slice(None), slice(0, 1), slice(None, None, -1), Ellipsis, NdArray),
    *(Distribution.Normal(0, 1), Distribution.Bernoulli(0.5), [1.0, None], [[1.0], [2.0]]),
)
"""Values that are right in few places."""


def values() -> st.SearchStrategy[Any]:
    made = [*BAD, np.ones(3), np.array(["a"]), np.ones((2, 3), "float32"), *world().values()]
    x = world()["x"]
    return st.sampled_from([*made, [x, x], [x, 1], (x,)])


def targets() -> dict[str, Callable[..., Any]]:
    """The public API: methods, operators, classes and functions."""
    found: dict[str, Callable[..., Any]] = {}
    for name in ("x", "mask", "indices"):
        tensor = world()[name]
        public = [method for method in dir(tensor) if not method.startswith("_")]
        found |= {f"{name}.{method}": getattr(tensor, method) for method in public if method not in _PROPERTIES}
        found |= {f"{name} {op}": getattr(tensor, f"__{op}__") for op in (*OPERATORS, *MASK_OPERATORS)}
    found |= {f"activation.{name}": getattr(activation, name) for name in ACTIVATIONS}
    for part, names in ((linalg, LINALG), (grid, GRID)):
        found |= {f"{part.__name__}.{name}": getattr(part, name) for name in names}
    found |= {f"nn.{name}": getattr(nn, name) for name in nn.__all__}
    for part in (memory, viz):
        named = ((name, getattr(part, name)) for name in part.__all__)
        found |= {f"{part.__name__}.{name}": one for name, one in named if not isinstance(one, type)}
    model, param, grads = world()["model"], world()["param"], world()["grads"]
    for thing, names in {
        model: (
            "__call__",
            "named_params",
            "num_params",
            "map",
            "visit",
            "to_device",
            "fork",
            "valid",
            "no_grad",
            "freeze",
        ),
        param: ("val", "replaced", "freeze", "unfreeze", "fork", "inner"),
        grads: ("get", "named", "tensors"),
        Distribution: ("Normal", "Uniform", "Bernoulli"),
        world()["device"]: ("seed", "sync", "memory_usage", "memory_cleanup"),
        optim.SgdConfig().init(): ("step",),
    }.items():
        found |= {f"{type(thing).__name__}.{name}": getattr(thing, name) for name in names}
    return {
        **found,
        **{"Tensor": Tensor, "Param": Param, "Param.from_tensor": Param.from_tensor, "RunConfig": RunConfig},
        **{"SgdConfig": optim.SgdConfig, "TensorData": TensorData.from_values, "device": NdArray.device},
        **{"checkpoint": autodiff.checkpoint, "Autodiff[]": lambda *a: Autodiff[a], "Traced[]": lambda *a: Traced[a]},
        **{"loss": nn.MseLoss(), "typed": lambda *a: Tensor[a].ones((2, 3), world()["device"])},
    }


_PROPERTIES = {
    "shape",
    "rank",
    "dtype",
    "kind",
    "backend",
    "payload_bytes",
    "mT",
    "is_require_grad",
    "device",
    "primitive",
}
ACTIVATIONS = ("relu", "leaky_relu", "sigmoid", "tanh", "silu", "gelu", "softplus", "softmax", "log_softmax")
LINALG = ("outer", "outer_dim", "matvec", "diag", "trace", "vector_norm", "l0_norm", "l1_norm", "l2_norm", "lp_norm")
LINALG += ("max_abs_norm", "min_abs_norm", "vector_normalize", "cosine_similarity")
GRID = ("meshgrid", "meshgrid_stack")
TARGETS = targets()


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Interrupts what hangs."""

    def stop(_: int, __: FrameType | None) -> None:
        raise AssertionError(f"it takes longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def assert_answers(call: Callable[..., Any], arguments: list[Any]) -> None:
    """The call returns, or raises an error of ours, or one of Python's two for bad arguments, that says something."""
    with no_longer_than(SECONDS):
        try:
            said = repr(call(*arguments))
        except (TinyburnError, TypeError, ValueError) as error:
            said = f"{type(error).__name__}: {error}"
            is_sentence = len(str(error).split()) > 2
        else:
            is_sentence = True
    assert is_sentence, said


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm clock on this system")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=40)
@given(data=st.data())
def test_bad_input_gets_an_answer(name: str, data: st.DataObject) -> None:
    assert_answers(TARGETS[name], data.draw(st.lists(values(), max_size=3)))


MAKERS = ("from_data", "zeros", "ones", "full", "empty", "random", "arange", "eye")


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm clock on this system")
@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
def test_bad_input_beside_a_good_device_gets_an_answer(name: str, data: st.DataObject) -> None:
    """Else most calls would end at the device."""
    arguments = data.draw(st.lists(values(), min_size=1, max_size=2))
    assert_answers(getattr(Tensor, name), [*arguments, world()["device"]])
