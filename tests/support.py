"""What the tests share: the list of backends, and short ways to make tensors and gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tinyburn import Autodiff, BalancedCheckpointing, Cuda, Device, DType, Meta, NdArray, Tensor, Traced, Wgpu
from tinyburn.base.machine import in_browser

AnyTensor = Tensor[Any, Any, Any]
Values = np.ndarray[Any, Any]

TOLERANCE = {"float16": 4e-3, "float32": 3e-6, "float64": 1e-12}
"""Relative to 1 or to the value, whichever is larger: some rounding steps of each format."""

EVERY_DTYPE = tuple(str(member) for member in DType)


needs_threads = pytest.mark.skipif(in_browser(), reason="a browser's Python can start no thread")
needs_processes = pytest.mark.skipif(in_browser(), reason="a browser's Python can start no process")
needs_a_clock = pytest.mark.skipif(in_browser(), reason="a browser's clock is too coarse")


# The backends under test


@dataclass(frozen=True)
class UnderTest:
    """A backend, and the dtypes in which it is tested: the widest that it has.

    Attributes:
        backend: the class.
        dtypes: all that it has. It must refuse each other one.
        why_not: what is missing if it does not work here; its tests are skipped with this reason.
    """

    backend: Any
    dtypes: tuple[str, ...] = EVERY_DTYPE
    float_dtype: str = "float64"
    int_dtype: str = "int64"
    why_not: str | None = None

    @property
    def name(self) -> str:
        name: str = self.backend.__name__
        return name

    @property
    def tolerance(self) -> float:
        return TOLERANCE[self.float_dtype]

    def has(self, *dtypes: str) -> bool:
        return set(dtypes) <= set(self.dtypes)

    def inside(self, decorator: Any, *options: Any) -> UnderTest:
        """The same backend inside a decorator."""
        return dataclasses.replace(self, backend=decorator[(self.backend, *options)])

    def device(self, float_dtype: str | None = None) -> Device[Any]:
        """A device in the dtypes under test."""
        made: Device[Any] = self.backend.device(float_dtype=float_dtype or self.float_dtype, int_dtype=self.int_dtype)
        return made

    def shapes_alone(self) -> UnderTest:
        """Meta, in the same dtypes."""
        return dataclasses.replace(self, backend=Meta)


NDARRAY = UnderTest(NdArray)
WGPU = UnderTest(Wgpu, ("float32", "int32", "bool"), "float32", "int32", Wgpu.why_unavailable())
CUDA = UnderTest(Cuda, why_not=Cuda.why_unavailable())

BASES = [NDARRAY, WGPU, CUDA]
"""The backends that compute by themselves. The first is the reference; all of the suite runs on the others too."""


def decorated(base: UnderTest) -> list[UnderTest]:
    """A backend, and it inside every decorator. What holds on the first holds on all: a decorator is transparent."""
    traced = base.inside(Traced)
    return [
        base,
        traced,
        base.inside(Autodiff),
        traced.inside(Autodiff),
        base.inside(Autodiff).inside(Autodiff),
        base.inside(Autodiff, BalancedCheckpointing),
        traced.inside(Autodiff, BalancedCheckpointing),
    ]


def _worth_listing(base: UnderTest) -> list[UnderTest]:
    """Every form of a backend that works here; of another one two, which is enough to see what was skipped and why."""
    return decorated(base) if base.why_not is None else [base, base.inside(Autodiff)]


VALUE_BACKENDS = [made for base in BASES for made in _worth_listing(base)]
SHAPE_BACKENDS = [UnderTest(backend) for backend in (Meta, Traced[Meta], Autodiff[Meta])]
TRACKING_BACKENDS = [made for made in VALUE_BACKENDS if made.backend.is_autodiff]


def params(backends: Iterable[UnderTest]) -> list[Any]:
    """For parametrize: one id a backend, and a skip with its reason for each that does not work here."""
    return [_param(one, one) for one in backends]


def params_with_dtype(*dtypes: str, backends: Iterable[UnderTest] = tuple(VALUE_BACKENDS)) -> list[Any]:
    """For parametrize: each backend with each of these dtypes that it has."""
    return [_param(one, one, dtype) for one in backends for dtype in dtypes if one.has(dtype)]


def _param(one: UnderTest, *values: Any) -> Any:
    marks = [pytest.mark.skip(reason=one.why_not)] if one.why_not else []
    return pytest.param(*values, id="-".join([one.name, *values[1:]]), marks=marks)


# Devices and tensors


def plain(dtype: str = "float64") -> Device[NdArray]:
    return NdArray.device(float_dtype=dtype)


def tracked(dtype: str = "float64") -> Device[Autodiff[NdArray]]:
    return Autodiff[NdArray].device(float_dtype=dtype)


def leaf(values: Any, device: Device[Any]) -> AnyTensor:
    """A tensor of the device's float dtype whose gradient is wanted."""
    return const(values, device).require_grad()


def const(values: Any, device: Device[Any]) -> AnyTensor:
    with np.errstate(over="ignore"):  # what is too large for the dtype is inf in it
        return Tensor.from_data(np.asarray(values).astype(str(device.float_dtype)), device)


def ints(values: Any, device: Device[Any]) -> AnyTensor:
    """A tensor of the device's int dtype: indices, labels."""
    return Tensor.from_data(np.asarray(values, dtype=str(device.int_dtype)), device)


def mask(values: Any, device: Device[Any]) -> AnyTensor:
    return Tensor.from_data(np.asarray(values, dtype=bool), device)


# Gradients


def grads_of(function: Callable[..., AnyTensor], *inputs: Any, device: Device[Any] | None = None) -> list[Values]:
    """The gradient of ``function(*leaves).sum()`` for each input, as NumPy arrays."""
    leaves = [leaf(values, device or tracked()) for values in inputs]
    grads = function(*leaves).backward()
    return [gradient_of(x, grads) for x in leaves]


def one(function: Callable[[AnyTensor], AnyTensor], values: Any, device: Device[Any] | None = None) -> Any:
    """The gradient of one input, as nested lists."""
    return grads_of(function, values, device=device)[0].tolist()


def gradient_of(x: AnyTensor, grads: Any) -> Values:
    """One leaf's gradient as a NumPy array. It must exist."""
    found = x.grad(grads)
    assert found is not None
    values: Values = found.to_numpy()
    return values


def second_grads_of(
    function: Callable[[AnyTensor], AnyTensor], values: Any, base: UnderTest = NDARRAY
) -> tuple[Values, Values]:
    """First derivative, and the derivative of its sum, of an elementwise function: ``f'(x)`` and ``f''(x)``."""
    device: Any = base.inside(Autodiff).inside(Autodiff).device()
    inner = leaf(values, device.inner)
    outer = Tensor.from_inner(inner, device).require_grad()
    first: Any = outer.grad(function(outer).backward())
    if not first.primitive.node or first.primitive.node.is_constant:  # a constant slope: its own slope is 0
        return first.to_numpy(), np.zeros(inner.shape)
    second = inner.grad(first.backward())
    return first.to_numpy(), np.zeros(inner.shape) if second is None else second.to_numpy()


def assert_close(found: Any, expected: Any, dtype: str | None = None, tolerance: float | None = None) -> None:
    """Equal up to rounding, with the same shape; NaN equals NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    if tolerance is None:
        tolerance = TOLERANCE[dtype or (found.dtype.name if found.dtype.kind == "f" else "float64")]
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance)
