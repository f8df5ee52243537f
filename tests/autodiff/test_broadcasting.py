"""Broadcasting is undone by the engine: a gradient has its operand's shape, and adds up what was repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import AnyTensor, assert_close, gradient_of, leaf, mask, tracked


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


@given(shape_pairs())
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, shape) for shape in shapes)
    x, y = leaf(a, tracked()), leaf(b, tracked())
    product = x * y
    seed = rng.uniform(-1, 1, product.shape)
    grads = product.backward(gradient=leaf(seed, tracked()).inner())
    assert_close(gradient_of(x, grads), undone(seed * b, a.shape))
    assert_close(gradient_of(y, grads), undone(seed * a, b.shape))


@pytest.mark.parametrize(
    "op", ["add", "sub", "mul", "div", "powf", "maximum", "minimum", "remainder", "multiply_no_nan"]
)
@given(shapes=shape_pairs())
def test_every_binary_operation(op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """The same operation on operands that were expanded by hand is the reference for the stretched dims."""
    rng = np.random.default_rng(2)
    a, b = (rng.uniform(0.5, 2, shape) for shape in shapes)
    x, y = leaf(a, tracked()), leaf(b, tracked())
    result = getattr(x, op)(y)
    full_x, full_y = (leaf(np.broadcast_to(v, result.shape), tracked()) for v in (a, b))
    grads = result.backward()
    full = getattr(full_x, op)(full_y).backward()
    assert_close(gradient_of(x, grads), undone(gradient_of(full_x, full), a.shape))
    assert_close(gradient_of(y, grads), undone(gradient_of(full_y, full), b.shape))


@given(shape_pairs())
def test_a_mask(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(-1, 1, shape) for shape in shapes)
    where = rng.uniform(size=np.broadcast_shapes(*shapes)) > 0.5
    x, y = leaf(a, tracked()), leaf(b, tracked())
    result: AnyTensor = x.mask_where(mask(where, x.device), y)
    assert_close(result.to_numpy(), np.where(where, b, a))
    grads = result.backward()
    assert_close(gradient_of(x, grads), undone((~where).astype(float), a.shape))
    assert_close(gradient_of(y, grads), undone(where.astype(float), b.shape))


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.sampled_from([(1, 2), (2, 1), (2, 2), (1, 1)]))
def test_batches_of_matrices(n: int, k: int, m: int, batches: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, (batches[0], n, k)), rng.uniform(-1, 1, (batches[1], k, m))
    x, y = leaf(a, tracked()), leaf(b, tracked())
    product = x @ y
    seed = np.ones(product.shape)
    grads = product.backward()
    assert_close(gradient_of(x, grads), undone(seed @ np.swapaxes(b, 1, 2), a.shape))
    assert_close(gradient_of(y, grads), undone(np.swapaxes(a, 1, 2) @ seed, b.shape))


def test_an_empty_dim_against_a_dim_of_one() -> None:
    x, y = leaf(np.ones(0), tracked()), leaf(np.ones(1), tracked())
    grads = (x * y).backward()
    assert gradient_of(x, grads).shape == (0,)
    assert gradient_of(y, grads).tolist() == [0.0]
