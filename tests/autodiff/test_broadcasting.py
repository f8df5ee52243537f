"""Broadcasting is undone by the engine: a gradient has its operand's shape, and adds up what was repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import BASES, AnyTensor, UnderTest, assert_close, const, gradient_of, leaf, mask, params
from tinyburn import Autodiff, Device, Tensor
from tinyburn.autodiff.rules import multiply_no_nan


@st.composite
def shape_pairs(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes of one rank that broadcast: each dim is the same, or 1 in one of them. Sizes from 0."""
    left, right = [], []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, 3))
        shrink = draw(st.sampled_from(["none", "left", "right"]))
        left.append(1 if shrink == "left" else size)
        right.append(1 if shrink == "right" else size)
    return tuple(left), tuple(right)


def undone(gradient: Any, shape: tuple[int, ...]) -> Any:
    """NumPy's own way: sum over the dims in which the operand had size 1."""
    stretched = tuple(dim for dim, (n, m) in enumerate(zip(gradient.shape, shape, strict=True)) if n != m)
    return gradient.sum(axis=stretched, keepdims=True)


every_base = pytest.mark.parametrize("base", params(BASES))


def drawn(rng: np.random.Generator, low: float, shape: tuple[int, ...]) -> Any:
    """Numbers from ``low`` to 2 that every float format holds exactly, so that what is compared is the computing."""
    return np.round(rng.uniform(low, 2, shape) * 64) / 64


@every_base
@given(shapes=shape_pairs())
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]], base: UnderTest) -> None:
    device: Any = base.inside(Autodiff).device()
    rng = np.random.default_rng(1)
    a, b = (drawn(rng, -2, shape) for shape in shapes)
    x, y = leaf(a, device), leaf(b, device)
    product = x * y
    seed = drawn(rng, -2, product.shape)
    grads = product.backward(gradient=const(seed, device.inner))
    assert_close(gradient_of(x, grads), undone(seed * b, a.shape))
    assert_close(gradient_of(y, grads), undone(seed * a, b.shape))


BINARY = {
    name: getattr(Tensor, name) for name in ("add", "sub", "mul", "div", "powf", "maximum", "minimum", "remainder")
}


@pytest.mark.parametrize("op", [*BINARY, "multiply_no_nan"])
@every_base
@given(shapes=shape_pairs())
def test_every_binary_operation(op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], base: UnderTest) -> None:
    """The same operation on operands that were expanded by hand is the reference for the stretched dims."""
    rng = np.random.default_rng(2)
    device = base.inside(Autodiff).device()
    a, b = (drawn(rng, 0.5, shape) for shape in shapes)
    x, y = leaf(a, device), leaf(b, device)
    function = BINARY.get(op, multiply_no_nan)
    result = function(x, y)
    full_x, full_y = (leaf(np.broadcast_to(v, result.shape), device) for v in (a, b))
    grads = result.backward()
    full = function(full_x, full_y).backward()
    assert_close(gradient_of(x, grads), undone(gradient_of(full_x, full), a.shape))
    assert_close(gradient_of(y, grads), undone(gradient_of(full_y, full), b.shape))


@every_base
@given(shapes=shape_pairs())
def test_a_mask(shapes: tuple[tuple[int, ...], tuple[int, ...]], base: UnderTest) -> None:
    device = base.inside(Autodiff).device()
    rng = np.random.default_rng(3)
    a, b = (drawn(rng, -2, shape) for shape in shapes)
    where = rng.uniform(size=np.broadcast_shapes(*shapes)) > 0.5
    x, y = leaf(a, device), leaf(b, device)
    result: AnyTensor = x.mask_where(mask(where, x.device), y)
    assert_close(result.to_numpy(), np.where(where, b, a))
    grads = result.backward()
    assert_close(gradient_of(x, grads), undone((~where).astype(float), a.shape))
    assert_close(gradient_of(y, grads), undone(where.astype(float), b.shape))


@every_base
@given(sizes=st.tuples(*[st.integers(0, 3)] * 3), batches=st.sampled_from([(1, 2), (2, 1), (2, 2), (1, 1)]))
def test_batches_of_matrices(sizes: tuple[int, int, int], batches: tuple[int, int], base: UnderTest) -> None:
    device = base.inside(Autodiff).device()
    n, k, m = sizes
    rng = np.random.default_rng(4)
    a, b = drawn(rng, -2, (batches[0], n, k)), drawn(rng, -2, (batches[1], k, m))
    x, y = leaf(a, device), leaf(b, device)
    product = x @ y
    seed = np.ones(product.shape)
    grads = product.backward()
    assert_close(gradient_of(x, grads), undone(seed @ np.swapaxes(b, 1, 2), a.shape))
    assert_close(gradient_of(y, grads), undone(np.swapaxes(a, 1, 2) @ seed, b.shape))


def test_an_empty_dim_against_a_dim_of_one(base_tracked: Device[Any]) -> None:
    x, y = leaf(np.ones(0), base_tracked), leaf(np.ones(1), base_tracked)
    grads = (x * y).backward()
    assert gradient_of(x, grads).shape == (0,)
    assert gradient_of(y, grads).tolist() == [0.0]
