"""What the tests share: the list of backends, and short ways to make tensors and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn import Autodiff, BalancedCheckpointing, Device, Meta, NdArray, Tensor, Traced

AnyTensor = Tensor[Any, Any, Any]
Values = np.ndarray[Any, Any]

VALUE_BACKENDS: dict[str, Any] = {
    "NdArray": NdArray,
    "Traced[NdArray]": Traced[NdArray],
    "Autodiff[NdArray]": Autodiff[NdArray],
    "Autodiff[Traced[NdArray]]": Autodiff[Traced[NdArray]],
    "Autodiff[Autodiff[NdArray]]": Autodiff[Autodiff[NdArray]],
    "Autodiff[NdArray, BalancedCheckpointing]": Autodiff[NdArray, BalancedCheckpointing],
    "Autodiff[Traced[NdArray], BalancedCheckpointing]": Autodiff[Traced[NdArray], BalancedCheckpointing],
}
"""Whatever holds on the first holds on all: a decorator is transparent."""

SHAPE_BACKENDS: dict[str, Any] = {"Meta": Meta, "Traced[Meta]": Traced[Meta], "Autodiff[Meta]": Autodiff[Meta]}
TRACKING_BACKENDS: dict[str, Any] = {name: made for name, made in VALUE_BACKENDS.items() if "Autodiff" in name}

TOLERANCE = {"float16": 4e-3, "float32": 3e-6, "float64": 1e-12}
"""Relative to 1 or to the value, whichever is larger: some rounding steps of each format."""


def plain(dtype: str = "float64") -> Device[NdArray]:
    return NdArray.device(float_dtype=dtype)


def tracked(dtype: str = "float64") -> Device[Autodiff[NdArray]]:
    return Autodiff[NdArray].device(float_dtype=dtype)


def twice_tracked() -> Device[Any]:
    """Where gradients have gradients."""
    backend: Any = Autodiff[Autodiff[NdArray]]
    made: Device[Any] = backend.device(float_dtype="float64")
    return made


def leaf(values: Any, device: Device[Any]) -> AnyTensor:
    """A tensor of the device's float dtype whose gradient is wanted."""
    return Tensor.from_data(np.asarray(values, dtype=str(device.float_dtype)), device).require_grad()


def const(values: Any, device: Device[Any]) -> AnyTensor:
    return Tensor.from_data(np.asarray(values, dtype=str(device.float_dtype)), device)


def ints(values: Any, device: Device[Any]) -> AnyTensor:
    return Tensor.from_data(np.asarray(values, dtype="int64"), device)


def mask(values: Any, device: Device[Any]) -> AnyTensor:
    return Tensor.from_data(np.asarray(values, dtype=bool), device)


def grads_of(function: Callable[..., AnyTensor], *inputs: Any, device: Device[Any] | None = None) -> list[Values]:
    """The gradient of ``function(*leaves).sum()`` for each input, as NumPy arrays."""
    leaves = [leaf(values, device or tracked()) for values in inputs]
    grads = function(*leaves).backward()
    return [gradient_of(x, grads) for x in leaves]


def one(function: Callable[[AnyTensor], AnyTensor], values: Any, dtype: str = "float64") -> Any:
    """The gradient of one input, as nested lists."""
    return grads_of(function, values, device=tracked(dtype))[0].tolist()


def gradient_of(x: AnyTensor, grads: Any) -> Values:
    """One leaf's gradient as a NumPy array. It must exist."""
    found = x.grad(grads)
    assert found is not None
    values: Values = found.to_numpy()
    return values


def second_grads_of(function: Callable[[AnyTensor], AnyTensor], values: Any) -> tuple[Values, Values]:
    """First derivative, and the derivative of its sum, of an elementwise function: ``f'(x)`` and ``f''(x)``."""
    device = twice_tracked()
    inner = leaf(values, device.inner)  # type: ignore[attr-defined]
    outer = Tensor.from_inner(inner, device).require_grad()
    first: Any = outer.grad(function(outer).backward())
    if not first.primitive.node or first.primitive.node.is_constant:  # a constant slope: its own slope is 0
        return first.to_numpy(), np.zeros(inner.shape)
    second = inner.grad(first.backward())
    return first.to_numpy(), np.zeros(inner.shape) if second is None else second.to_numpy()


def assert_close(found: Any, expected: Any, dtype: str | None = None) -> None:
    """Equal up to rounding, with the same shape; NaN equals NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    tolerance = TOLERANCE[dtype or (found.dtype.name if found.dtype.kind == "f" else "float64")]
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance)
