"""The sizes of gradients on their way, for the pictures; and the classes that a subscript makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import const, leaf, tracked
from tinyburn import (
    Autodiff,
    BackendMismatch,
    NdArray,
    NoCheckpointing,
    Traced,
)


def test_the_flow_has_the_size_of_every_gradient() -> None:
    x = leaf([3.0, 4.0], tracked())
    y = x * 2.0
    z = y * const([0.0, 5.0], tracked())
    grads = z.sum().backward(record_flow=True)
    assert grads.flow is not None
    sizes = {node.op: size for node, size in grads.flow.nodes.items()}
    assert sizes["sum"].rms == 1.0
    mul = [size for node, size in grads.flow.nodes.items() if node.op == "mul"]
    assert [round(size.rms, 12) for size in mul] == [1.0, round(np.sqrt(12.5), 12)]
    assert [size.zeros for size in mul] == [0.0, 0.5]
    assert sizes["leaf"].rms == pytest.approx(np.sqrt(50.0))
    assert sizes["leaf"].nonfinite == 0
    assert len(grads.flow.edges) == 3


def test_the_flow_counts_what_is_not_finite_and_does_not_overflow() -> None:
    x = leaf([1.0, 1.0, 1.0, 1.0], tracked())
    grads = (x * const([np.inf, np.nan, 3e200, 4e200], tracked())).backward(record_flow=True)
    assert grads.flow is not None
    size = grads.flow.nodes[x.primitive.node]
    assert size.nonfinite == 2
    assert size.rms == pytest.approx(np.sqrt(12.5) * 1e200)


def test_the_flow_is_recorded_only_if_asked() -> None:
    assert leaf([1.0], tracked()).backward().flow is None


def test_classes_of_decorators_are_made_once() -> None:
    assert Autodiff[NdArray] is Autodiff[NdArray]
    assert Autodiff[Traced[NdArray]] is Autodiff[Traced[NdArray]]
    assert Autodiff[NdArray, NoCheckpointing] is Autodiff[NdArray]
    assert Autodiff[NdArray].__name__ == "Autodiff[NdArray]"


def test_two_backends_of_one_name_stay_apart() -> None:
    """As when a notebook cell that defines a backend runs twice."""

    def define() -> Any:
        class Mine(NdArray):
            """A student's backend."""

        return Mine

    decorator: Any = Autodiff
    first, second = define(), define()
    assert decorator[first] is decorator[first]
    assert decorator[first] is not decorator[second]
    assert decorator[second].inner is second


def test_what_is_no_backend_is_refused() -> None:
    made: Any = Autodiff
    for wrong in (int, "NdArray", NdArray.device()):
        with pytest.raises(BackendMismatch, match="backend"):
            made[wrong]
