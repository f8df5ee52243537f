"""One operation on a million float32 elements, forward and with its backward pass, beside PyTorch eager.

Forward is on a plain backend. With backward, the gradient that comes in is a tensor of the result's shape, as in the
middle of a model. Where NumPy can do the same with ``out=``, its time by hand into ready buffers is there too, forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from race import Times, race, timed_row, timer
from result import Row, Target
from torch.nn import functional
from training_step import EAGER

from tinyburn import Autodiff, Device, NdArray, Tensor, activation

SIDE = 1000
ROUNDS = 25
EPSILON = 1e-5
INTO = "NumPy, out="
LAYER_NORM = "PyTorch layer_norm"


@dataclass
class Inputs:
    """What an operation reads: arrays, or tensors of one of the libraries.

    Attributes:
        x: drawn from a normal distribution.
        near_one: so that a product of a thousand stays far from 0 and from infinity.
        values: as many more, for `scatter`.
        places: an index for each element.
        rows: an index for each row.
    """

    x: Any
    near_one: Any
    values: Any
    places: Any
    rows: Any

    def map(self, floats: Callable[[Any], Any], integers: Callable[[Any], Any]) -> Inputs:
        """The same inputs in another form."""
        made = (floats(array) for array in (self.x, self.near_one, self.values))
        return Inputs(*made, *(integers(array) for array in (self.places, self.rows)))

    @property
    def floats(self) -> tuple[Any, Any, Any]:
        return self.x, self.near_one, self.values


class Buffers:
    """What NumPy by hand writes into."""

    def __init__(self) -> None:
        self.full, self.second = np.empty((SIDE, SIDE), "float32"), np.empty((SIDE, SIDE), "float32")
        self.column = np.empty((SIDE, 1), "float32")


Function = Callable[[Inputs], Any]


@dataclass(frozen=True)
class Case:
    """An operation in three libraries.

    Attributes:
        ours, theirs: tinyburn's and PyTorch's spelling.
        forward, backward: the targets, over PyTorch's time.
        into: NumPy's, into buffers; None where it has no such thing.
        other: a second spelling of PyTorch's, which is one operation there.
    """

    ours: Function
    theirs: Function
    forward: float
    backward: float
    into: Callable[[Inputs, Buffers], Any] | None = None
    other: Function | None = None


def normalize_ours(i: Inputs) -> Any:
    centred = i.x - i.x.mean_dim(1)
    return centred / ((centred * centred).mean_dim(1) + EPSILON).sqrt()


def normalize_theirs(i: Inputs) -> Any:
    centred = i.x - i.x.mean(1, keepdim=True)
    return centred / ((centred * centred).mean(1, keepdim=True) + EPSILON).sqrt()


def normalize_into(i: Inputs, out: Buffers) -> Any:
    np.mean(i.x, axis=1, keepdims=True, out=out.column)
    np.subtract(i.x, out.column, out=out.full)
    np.multiply(out.full, out.full, out=out.second)
    np.mean(out.second, axis=1, keepdims=True, out=out.column)
    np.add(out.column, EPSILON, out=out.column)
    np.sqrt(out.column, out=out.column)
    return np.divide(out.full, out.column, out=out.full)


def cube_into(i: Inputs, out: Buffers) -> Any:
    np.multiply(i.x, i.x, out=out.full)
    return np.multiply(out.full, i.x, out=out.full)


def one_plus_exp_into(i: Inputs, out: Buffers) -> Any:
    """``1 + exp(-x)``, of which sigmoid and silu are made."""
    np.negative(i.x, out=out.full)
    np.exp(out.full, out=out.full)
    return np.add(out.full, 1, out=out.full)


def leaky_into(i: Inputs, out: Buffers) -> Any:
    np.multiply(i.x, 0.01, out=out.full)
    return np.maximum(i.x, out.full, out=out.full)


CASES: dict[str, Case] = {
    "pow 3": Case(lambda i: i.x**3, lambda i: i.x**3, 2, 2, cube_into),
    "gelu": Case(lambda i: activation.gelu(i.x), lambda i: functional.gelu(i.x), 4, 3),
    "sigmoid": Case(
        lambda i: activation.sigmoid(i.x), lambda i: torch.sigmoid(i.x), 4, 3,
        lambda i, out: np.reciprocal(one_plus_exp_into(i, out), out=out.full),
    ),
    "silu": Case(
        lambda i: activation.silu(i.x), lambda i: functional.silu(i.x), 4, 3,
        lambda i, out: np.divide(i.x, one_plus_exp_into(i, out), out=out.full),
    ),
    "leaky_relu": Case(
        lambda i: activation.leaky_relu(i.x), lambda i: functional.leaky_relu(i.x), 1.5, 1.5, leaky_into
    ),
    "clamp": Case(
        lambda i: i.x.clamp(-1.0, 1.0), lambda i: i.x.clamp(-1.0, 1.0), 1.5, 1.5,
        lambda i, out: np.clip(i.x, -1, 1, out=out.full),
    ),
    "relu": Case(
        lambda i: activation.relu(i.x), lambda i: torch.relu(i.x), 1.5, 1.5,
        lambda i, out: np.clip(i.x, 0, np.inf, out=out.full),  # quicker than maximum with a number
    ),
    "prod_dim": Case(
        lambda i: i.near_one.prod_dim(1), lambda i: i.near_one.prod(1, keepdim=True), 3, 2,
        lambda i, out: np.prod(i.near_one, axis=1, keepdims=True, out=out.column),
    ),
    "layernorm of operations": Case(
        normalize_ours, normalize_theirs, 3, 3, normalize_into,
        lambda i: functional.layer_norm(i.x, (SIDE,), eps=EPSILON),
    ),
    "gather": Case(lambda i: i.x.gather(1, i.places), lambda i: i.x.gather(1, i.places), 3, 3),
    "scatter": Case(
        lambda i: i.x.scatter(1, i.places, i.values), lambda i: i.x.scatter_add(1, i.places, i.values), 4, 4
    ),
    "select": Case(
        lambda i: i.x.select(0, i.rows), lambda i: i.x.index_select(0, i.rows), 1.2, 2,
        lambda i, out: np.take(i.x, i.rows, axis=0, out=out.full, mode="clip"),  # another mode would use a copy
    ),
}  # fmt: skip


def make_arrays() -> Inputs:
    draw = np.random.default_rng(0)
    x, near_one, values = (draw.standard_normal((SIDE, SIDE), "float32") for _ in range(3))
    near_one *= 0.03
    near_one += 1
    return Inputs(x, near_one, values, draw.integers(SIDE, size=(SIDE, SIDE)), draw.integers(SIDE, size=SIDE))


def tensors_on(device: Device[Any], arrays: Inputs) -> Inputs:
    def copy(array: Any) -> Any:
        return Tensor.from_data(array, device)

    return arrays.map(copy, copy)


def backward_of_ours(function: Function, arrays: Inputs, start: Any) -> Callable[[], list[Any]]:
    """Forward and backward; returns the gradients of the floats, None where there is none."""
    device: Device[Any] = Autodiff[NdArray].device()
    inputs = tensors_on(device, arrays).map(lambda x: x.require_grad(), lambda x: x)
    gradient = Tensor.from_data(start, NdArray.device())

    def call() -> list[Any]:
        grads = function(inputs).backward(gradient)
        return [leaf.grad(grads) for leaf in inputs.floats]

    return call


def backward_of_theirs(function: Function, arrays: Inputs, start: Any) -> Callable[[], list[Any]]:
    """The same with PyTorch."""
    inputs = arrays.map(lambda array: torch.tensor(array, requires_grad=True), torch.from_numpy)
    gradient = torch.from_numpy(start)

    def call() -> list[Any]:
        for leaf in inputs.floats:
            leaf.grad = None
        function(inputs).backward(gradient)
        return [leaf.grad for leaf in inputs.floats]

    return call


def check_equal(name: str, found: list[Any], wanted: list[Any]) -> None:
    """A race between operations that compute different things would say nothing."""
    for mine, other in zip(found, wanted, strict=True):
        if other is None:
            assert mine is None, name
        else:
            mine = np.asarray(mine.to_numpy() if isinstance(mine, Tensor) else mine)
            np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-3, atol=1e-5, err_msg=name)


def race_forward(name: str, case: Case, arrays: Inputs) -> Times:
    ours = tensors_on(NdArray.device(), arrays)
    theirs, buffers = arrays.map(torch.from_numpy, torch.from_numpy), Buffers()
    calls: dict[str, Callable[[], Any]] = {"tinyburn": lambda: case.ours(ours), EAGER: lambda: case.theirs(theirs)}
    if (other := case.other) is not None:
        calls[LAYER_NORM] = lambda: other(theirs)
    if (into := case.into) is not None:
        calls[INTO] = lambda: into(arrays, buffers)
    for rival in calls.keys() - {"tinyburn"}:
        check_equal(name, [calls["tinyburn"]()], [calls[rival]()])
    return race({key: timer(call) for key, call in calls.items()}, ROUNDS)


def race_backward(name: str, case: Case, arrays: Inputs) -> Times:
    shape = case.theirs(arrays.map(torch.from_numpy, torch.from_numpy)).shape
    start = np.random.default_rng(1).standard_normal(tuple(shape), "float32")
    calls = {
        "tinyburn": backward_of_ours(case.ours, arrays, start),
        EAGER: backward_of_theirs(case.theirs, arrays, start),
    }
    if case.other is not None:
        calls[LAYER_NORM] = backward_of_theirs(case.other, arrays, start)
    for rival in calls.keys() - {"tinyburn"}:
        check_equal(name, calls["tinyburn"](), calls[rival]())
    return race({key: timer(call) for key, call in calls.items()}, ROUNDS)


def compare(name: str, case: Case, arrays: Inputs) -> list[Row]:
    """One row for each rival; PyTorch's have the targets."""
    rows = []
    forward, backward = race_forward(name, case, arrays), race_backward(name, case, arrays)
    for title, times, limit in (("forward", forward, case.forward), ("with backward", backward, case.backward)):
        for rival in list(times)[1:]:
            targets = [] if rival == INTO else [Target("ratio", limit)]
            rows.append(timed_row("large_ops", f"{name}, 1 M, {title}", times, "tinyburn", rival, "ms", *targets))
    return rows


def million_rows() -> list[Row]:
    arrays = make_arrays()
    return [row for name, case in CASES.items() for row in compare(name, case, arrays)]
