"""A backend's quicker way to a composed operation gives the bits of the composition, in a buffer of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinyburn import NdArray
from tinyburn.backend.interface import Backend
from tinyburn.backend.operations import OPERATIONS

SHORTCUTS = [name for name in OPERATIONS if hasattr(getattr(NdArray, name), "is_shortcut")]
FORMATS = ["float16", "float32", "float64"]


def composed(name: str, *arguments: Any) -> Any:
    default: Any = getattr(Backend, name)
    return default.__func__(NdArray, *arguments)


def same(name: str, *arguments: Any) -> None:
    """The same values, shape and dtype, row-major, and none of the operands."""
    given, wanted = getattr(NdArray, name)(*arguments), composed(name, *arguments)
    assert (given.shape, given.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(given, wanted)  # NaN equals NaN here, and 0.0 equals -0.0
    assert given.flags.c_contiguous
    assert not any(np.may_share_memory(given, x) for x in arguments)


def draw(*shape: int, dtype: str) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def test_which_there_are() -> None:
    assert SHORTCUTS == ["relu", "linear_input", "linear_weight", "linear_bias"]
    assert all(NdArray.composes(name) for name in SHORTCUTS)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("columns", [0, 1, 7, 32, 40])
@pytest.mark.parametrize("rows", [0, 1, 16, 32, 33, 64, 100, 1024, 1056])
def test_linear(rows: int, columns: int, dtype: str) -> None:
    g, weight, x = draw(rows, columns, dtype=dtype), draw(5, columns, dtype=dtype), draw(rows, 5, dtype=dtype)
    for layout in (np.asarray, np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2]):
        a = layout(g)
        same("linear_bias", a)
        same("linear_input", a, weight)
        same("linear_weight", a, layout(x))


@pytest.mark.parametrize("dtype", FORMATS)
def test_linear_at_rank_3_and_spread_out(dtype: str) -> None:
    x, weight = draw(3, 4, 5, dtype=dtype), draw(5, 6, dtype=dtype)
    for g in (draw(3, 4, 6, dtype=dtype), np.broadcast_to(np.ones((1, 1, 1), dtype), (3, 4, 6))):
        same("linear_bias", g)
        same("linear_input", g, weight)
        same("linear_weight", g, x)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("size", [0, 1, 7, 512, 4095, 4096, 40_000])
def test_relu(size: int, dtype: str) -> None:
    a = draw(size, dtype=dtype)
    a[::3], a[1::7], a[2::11], a[3::13] = -0.0, np.nan, -np.inf, np.inf
    for _ in range(2):  # the second time its scratch memory is known
        for layout in (a, a[::2], np.stack([a, a]).T, np.broadcast_to(a[:1], (3, a[:1].size))):
            same("relu", layout)
            assert not np.signbit(NdArray.relu(layout)[~np.isnan(NdArray.relu(layout))]).any()
