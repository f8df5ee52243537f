"""The conformance suite: it passes our backends, and finds every kind of fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import NDARRAY, VALUE_BACKENDS, UnderTest, params
from tinyburn import Autodiff, BackendMismatch, Meta, NdArray, Tensor, Traced
from tinyburn.backend import OPERATIONS, Backend, Decorator, check_backend
from tinyburn.backend.conformance_cases import cases
from tinyburn.backend.decorator import Wrapped


@pytest.mark.parametrize("under_test", params(VALUE_BACKENDS))
def test_every_backend_conforms(under_test: UnderTest) -> None:
    report = check_backend(under_test.device())
    assert report.conforms, report
    assert len(report.right) == len(OPERATIONS) + 4


@pytest.mark.parametrize("float_dtype", ["float16", "float32"])
def test_it_holds_in_narrower_formats(float_dtype: str) -> None:
    assert check_backend(NdArray.device(float_dtype=float_dtype)).conforms


def test_every_operation_is_asked_for() -> None:
    asked = {case.operation for case in cases(NDARRAY.device())}
    assert asked == set(OPERATIONS)
    assert {case.operation for case in cases(NDARRAY.device()) if not case.is_special} == asked


# Faults: a decorator that hands everything on, but for one operation


class Handing(Decorator):
    """Adds nothing."""


def with_fault(name: str, fault: Callable[..., Any]) -> Any:
    """A backend one of whose operations does something else with what NdArray computes."""

    class Faulty(Decorator):
        @classmethod
        def _wrap_operation(cls, operation: Any) -> Any:
            compute = super()._wrap_operation(operation)
            if operation.name != name:
                return compute
            return lambda *arguments: fault(compute, *arguments)

    return Faulty[NdArray].device(float_dtype="float64")  # type: ignore[misc]


def test_a_decorator_that_says_nothing_adds_nothing() -> None:
    for backend in (Handing[NdArray], Autodiff[Handing[NdArray]], Handing[Traced[NdArray]]):  # type: ignore[type-arg]
        device = backend.device(float_dtype="float64")
        assert check_backend(device).conforms
        assert (Tensor.ones((2,), device) * 3.0).sum().into_scalar() == 6.0
    assert repr(Wrapped(np.zeros((2, 3)))) == "Wrapped((2, 3), float64)"


def changed(compute: Any, a: Any, *rest: Any) -> Any:
    result = compute(a, *rest)
    a.primitive[...] = 0
    return result


def first_power(compute: Any, a: Any, exponent: float) -> Any:
    return Wrapped(a.primitive[...]) if exponent == 1 else compute(a, exponent)


def failing(*_: Any) -> Any:
    raise ValueError("no idea\nand a second line that nobody needs " * 5)


FAULTS: dict[str, tuple[str, Any, str]] = {
    "a value": ("exp", lambda compute, a: Wrapped(compute(a).primitive + 1e-9), " at [0, 0, 0]"),
    "one value": ("cumsum", lambda compute, a, dim: Wrapped(np.cumsum(a.primitive[::-1], dim)), " at ["),
    "a shape": ("sum_dims", lambda compute, a, dims: Wrapped(np.sum(a.primitive, dims)), "shape ("),
    "a dtype": ("equal", lambda compute, a, b: Wrapped(compute(a, b).primitive.astype(float)), "dtype float64"),
    "a copy for a view": ("permute", lambda compute, *x: Wrapped(compute(*x).primitive.copy()), "a new buffer"),
    "a view for a copy": ("powf_scalar", first_power, "a view of the first tensor"),
    "another layout": (
        "tanh",
        lambda compute, a: Wrapped(np.asarray(compute(a).primitive, order="F")),
        "a buffer that is not row-major",
    ),
    "a changed operand": ("log", changed, "an operand has other values afterwards"),
    "an exception": ("floor", failing, "ValueError: no idea"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_found_and_told(kind: str) -> None:
    name, fault, words = FAULTS[kind]
    report = check_backend(with_fault(name, fault))
    assert not report.conforms
    assert report.wrong[0] == name
    found = [difference for difference in report.differences if difference.operation == name]
    assert all(difference.asked.startswith(f"{name}(") for difference in found)
    assert any(words in difference.found for difference in found), found
    assert words in repr(report)
    assert report.missing == ()


def test_what_a_backend_does_not_have_is_missing_and_not_wrong() -> None:
    def missing(*_: Any) -> Any:
        raise NotImplementedError

    report = check_backend(with_fault("maximum", missing))
    assert report.missing[0] == "maximum"
    assert set(report.missing) >= {"maximum", "relu", "clamp_min"}  # which are made of it
    assert report.differences == ()
    assert not report.conforms
    assert "missing: maximum, " in repr(report)
    assert "composed of others" in repr(report)


class Bare(Backend):
    """Numbers go in and out, and nothing else works."""

    @staticmethod
    def from_numpy(values: Any, device: Any) -> Any:
        return np.array(values)

    @staticmethod
    def to_numpy(a: Any) -> Any:
        return np.array(a)


def test_a_bare_backend_has_a_device_and_misses_the_rest() -> None:
    device = Bare.device()
    assert (repr(device), Bare.devices()) == ("Bare(cpu)", ["cpu"])
    assert Tensor.full((2,), 7.0, device).to_numpy().tolist() == [7.0, 7.0]
    report = check_backend(device)
    assert report.right == ("from_numpy", "to_numpy", "full")
    assert report.differences == ()
    assert len(report.missing) == len(OPERATIONS) + 1


def test_faults_on_the_way_in_and_out() -> None:
    class Sharing(Bare):
        @staticmethod
        def from_numpy(values: Any, device: Any) -> Any:
            return values

        @staticmethod
        def to_numpy(a: Any) -> Any:
            return a

        @staticmethod
        def random(shape: Any, distribution: Any, dtype: Any, device: Any) -> Any:
            return np.zeros(shape, str(dtype))

    report = check_backend(Sharing.device())
    assert report.wrong == ("from_numpy", "to_numpy", "random")


def test_numbers_without_inf_and_nan_are_asked_for_nothing_else() -> None:
    def finite_alone(compute: Any, a: Any) -> Any:
        if not np.isfinite(a.primitive).all():
            raise OverflowError("there is no such number")
        return compute(a)

    device = with_fault("neg", finite_alone)
    assert check_backend(device).wrong == ("neg",)
    assert "with inf and NaN" in check_backend(device).differences[0].asked
    assert check_backend(device, special=False).conforms


def test_a_coarser_tolerance_can_be_asked_for() -> None:
    device = with_fault("exp", lambda compute, a: Wrapped(compute(a).primitive * 1.001))
    assert check_backend(device).wrong[0] == "exp"
    assert check_backend(device, tolerance=0.01).conforms


def test_random_numbers_go_on_as_if_nobody_had_asked() -> None:
    device = NdArray.device()
    device.seed(3)
    before = device.random_state()
    check_backend(device)
    assert device.random_state() == before


def test_a_backend_without_values_cannot_be_checked() -> None:
    with pytest.raises(BackendMismatch, match="keeps shapes only"):
        check_backend(Meta.device())


def test_a_subclass_of_ndarray_has_a_device_of_its_own() -> None:
    class Mine(NdArray):
        pass

    assert Mine.device().backend is Mine
    assert check_backend(Mine.device()).conforms
