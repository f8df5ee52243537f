"""Values and first derivatives of repetition, parts, masks, products and norms against PyTorch's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.golden.files import Values
from tests.golden.movement import CASES, DTYPES, EINSUMS, FILE, operands
from tests.golden.operations import weights
from tests.support import BASES, AnyTensor, UnderTest, const, ints, params_with_dtype
from tinyburn import Autodiff, BalancedCheckpointing, NdArray, Tensor, Traced, linalg

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
PLACES = [[0, 2], [1, 0], [0, 2], [0, 1]]
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def numbered(parts: tuple[AnyTensor, ...]) -> AnyTensor:
    return Tensor.cat([part * (at + 1.0) for at, part in enumerate(parts)], 1)


OURS: dict[str, Callable[..., AnyTensor]] = {
    "repeat": lambda x: x.repeat((2, 3)) ** 2,
    "repeat_dim(-1)": lambda x: x.repeat_dim(-1, 2) ** 2,
    "repeat_dim(0, 0)": lambda x: x.repeat_dim(0, 0) ** 2,
    "roll": lambda x: x.roll((1, -2), (0, -1)) ** 2,
    "roll_dim(4, 0)": lambda x: x.roll_dim(4, 0) ** 2,
    "pad 0.5": lambda x: x.pad(((1, 2), (0, 3)), 0.5) ** 2,
    "pad the last dim": lambda x: x.pad(((2, 1),)) ** 2,
    "pad reflect": lambda x: x.pad(((1, 0), (2, 3)), "reflect") ** 2,
    "pad edge": lambda x: x.pad(((1, 0), (2, 3)), "edge") ** 2,
    "chunk": lambda x: numbered(x.chunk(3, 1)),
    "split": lambda x: numbered(x.split(2, -1)),
    "split_with_sizes": lambda x: x.split_with_sizes([1, 3, 1], 1)[1] ** 2,
    "slice_fill": lambda x: x.slice_fill((..., slice(1, 3)), 9.0) ** 2,
    "take": lambda x: x.take(0, ints([[0, 1], [1, 3]], x.device)) ** 2,
    "gather_nd": lambda x: x.gather_nd(ints(PLACES, x.device)) ** 2,
    "scatter_nd": lambda x, y: x.scatter_nd(ints(PLACES, x.device), y) ** 2,
    "movedim": lambda x: x.movedim((0, 1), (-1, 0)) ** 2,
    "flatten(1)": lambda x: x.flatten(1) ** 2,
    "tril": lambda x: x.tril() ** 2,
    "triu(1)": lambda x: x.triu(1) ** 2,
    "tril(-1)": lambda x: x.tril(-1) ** 2,
    "diag": lambda x: linalg.diag(x) ** 2,
    "trace": lambda x: linalg.trace(x) ** 2,
    "dot": lambda x, y: x.dot(y) ** 2,
    "cross": lambda x, y: x.cross(y, 0) ** 2,
    "outer": lambda x, y: linalg.outer(x, y) ** 2,
    "matvec": lambda x, y: linalg.matvec(x, y) ** 2,
    **{
        f"vector_norm {p}": lambda x, p=p: linalg.vector_norm(x, float(p), 1)  # type: ignore[misc]
        for p in ("0", "1", "2", "3", "1.5", "0.5", "inf", "-inf")
    },
    "cosine_similarity": lambda x, y: linalg.cosine_similarity(x, y, 1),
    "vector_normalize": lambda x: linalg.vector_normalize(x, 2.0, 1),
    "cov(0)": lambda x: x.cov(0, 1),
    "cov(1)": lambda x: x.cov(-1, 0),
    "prod_dims": lambda x: x.prod_dims((0, -1)),
    "sum_dims_squeeze": lambda x: x.sum_dims_squeeze((0, -1)) ** 2,
    **{
        f"einsum {one}": lambda *tensors, one=one: Tensor.einsum(one.split(" ")[0], *tensors) ** 2  # type: ignore[misc]
        for one in EINSUMS
    },
}


def whole(values: Values, device: Any) -> AnyTensor:
    return const(values, device).require_grad()


def strided(values: Values, device: Any) -> AnyTensor:
    """A leaf whose last dim lies first in memory, with gaps, and from the end to the start."""
    moved = np.moveaxis(values, -1, 0)
    spread = np.zeros((2 * moved.shape[0], *moved.shape[1:]), values.dtype)
    spread[::2] = moved[::-1]
    return const(spread, device)[::2].flip((0,)).movedim(0, -1).detach().require_grad()


def test_each_case_is_computed_by_both() -> None:
    assert set(OURS) == set(CASES)


@pytest.mark.parametrize("make", [whole, strided], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype(*DTYPES, backends=BASES))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest, dtype: str, make: Any) -> None:
    device = base.inside(Autodiff).device(dtype)
    for shapes in CASES[name]:
        golden = GOLDEN[f"{name} {shapes} {dtype}"]
        inputs = [make(values, device) for values in operands(shapes, dtype)]
        result = OURS[name](*inputs)
        assert result.shape == tuple(golden["shape"])
        assert result.dtype == dtype
        assert_near(result, golden["value"], dtype)
        weighed = (result * const(weights(result.shape, dtype), device)).sum()
        grads = weighed.backward() if result.primitive.is_tracked else None
        for x, expected in zip(inputs, golden["gradients"], strict=True):
            gradient = x.grad(grads) if grads else None
            assert_near(x.inner().zeros_like() if gradient is None else gradient, expected, dtype)


def assert_near(found: AnyTensor, expected: list[float], dtype: str) -> None:
    wanted = np.array(expected)
    assert not np.isnan(wanted).any()
    np.testing.assert_allclose(found.to_numpy().ravel(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


FIRST = {name: cases[0] for name, cases in CASES.items()}


def run(name: str, device: Any) -> tuple[list[AnyTensor], AnyTensor]:
    """The leaves of a case, and the weighed sum of its result."""
    dtype = str(device.float_dtype)
    inputs = [whole(values, device) for values in operands(FIRST[name], dtype)]
    result = OURS[name](*inputs)
    return inputs, (result * const(weights(result.shape, dtype), device)).sum()


def log_of(name: str, under_test: UnderTest) -> Any:
    device: Any = under_test.inside(Traced).inside(Autodiff).device()
    _, total = run(name, device)
    if total.primitive.is_tracked:
        total.backward()
    return device.inner.log


@pytest.mark.parametrize("name", CASES)
def test_shapes_alone_write_the_same_log(name: str, base: UnderTest) -> None:
    measured, predicted = log_of(name, base), log_of(name, base.shapes_alone())
    assert predicted.events == measured.events
    assert predicted.names == measured.names


@pytest.mark.parametrize("name", CASES)
def test_recomputing_changes_no_bit(name: str) -> None:
    found = []
    for backend in (Autodiff[NdArray], Autodiff[NdArray, BalancedCheckpointing]):
        inputs, total = run(name, backend.device())
        grads = total.backward() if total.primitive.is_tracked else None
        found.append([x.grad(grads) for x in inputs] if grads else [])
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        assert one.to_numpy().tobytes() == other.to_numpy().tobytes()


@pytest.mark.parametrize("name", CASES)
def test_the_second_derivative_is_that_of_the_first(name: str) -> None:
    """Along one direction, against a central difference of the gradient."""
    device: Any = Autodiff[Autodiff[NdArray]].device(float_dtype="float64")
    values = operands(FIRST[name], "float64")
    leaves = [const(value, device.inner).require_grad() for value in values]
    inputs = [Tensor.from_inner(leaf, device).require_grad() for leaf in leaves]
    slopes = gradients(name, inputs)
    total = sum([(slope * turned(slope)).sum() for slope in slopes], const([0.0], device.inner))
    second = total.backward() if total.primitive.is_tracked else None
    found = [leaf.grad(second) if second else None for leaf in leaves]
    along = sum((one.to_numpy() * directed(one.shape)).sum() for one in found if one is not None)
    step = 1e-5
    sides = [along_turned(name, [value + sign * step * directed(value.shape) for value in values]) for sign in (1, -1)]
    np.testing.assert_allclose(along, (sides[0] - sides[1]) / (2 * step), rtol=2e-6, atol=2e-6)


def gradients(name: str, inputs: list[AnyTensor]) -> list[AnyTensor]:
    result = OURS[name](*inputs)
    weighed = (result * const(weights(result.shape, "float64"), result.device)).sum()
    grads = weighed.backward() if result.primitive.is_tracked else None
    found = [x.grad(grads) if grads else None for x in inputs]
    return [slope for slope in found if slope is not None]


def along_turned(name: str, values: list[Values]) -> float:
    device = Autodiff[NdArray].device(float_dtype="float64")
    slopes = gradients(name, [const(value, device).require_grad() for value in values])
    return sum(float((slope * turned(slope)).sum().into_scalar()) for slope in slopes)


def turned(slope: AnyTensor) -> AnyTensor:
    """Some fixed numbers for the entries of a gradient."""
    return const(np.cos(0.7 * np.arange(np.prod(slope.shape))).reshape(slope.shape), slope.device)


def directed(shape: tuple[int, ...]) -> Values:
    """Some fixed direction."""
    found: Values = np.sin(1.1 * np.arange(np.prod(shape)) + 0.4).reshape(shape)
    return found
