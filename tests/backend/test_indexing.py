"""Reading and adding at indices: few and many, in every layout and dtype, and in the order in which they come.

`NdArray` cuts many indices into pieces, and adds whole rows where they are long; the sizes here lie on both sides. The
reference is NumPy with an index array for each dim.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS
from tests.backend.test_allocation import PLACES, SLACK, extra_bytes
from tests.support import UnderTest
from tinyburn import NdArray
from tinyburn.backend import indexing

Values = np.ndarray[Any, Any]

MANY = indexing._PIECE
"""So many indices are one piece."""
LONG = indexing._LONG_RUN
"""Elements of a row that is added, or of a line that is read, at once."""

# The shape of the operand, the dim, and the shape of the indices.
POINTS = [
    ((MANY,), 0, (MANY,)),
    ((7,), 0, (MANY + 1,)),
    ((3, MANY), 0, (3, MANY)),
    ((2, 3), 1, (2, 2 * MANY + 1)),
    ((MANY + 1, 2), 1, (MANY + 1, 2)),
    ((200, 300), 0, (199, 150)),
    ((200, 300), 1, (150, 299)),
    ((7,), 0, (LONG,)),
    ((3, 40), 1, (2, LONG - 1)),
    ((3, 40), 1, (2, LONG)),
    ((2, 3, 50), 2, (2, 2, LONG + 1)),
    ((5, 4, 90, 30), 2, (5, 3, 100, 20)),
    ((5, 4, 90, 30), 0, (9, 4, 80, 30)),
    ((0, 3), 1, (0, 3)),
    ((4, 3), 0, (0, 3)),
]
# The shape of the operand, the dim, and how many indices.
ROWS = [
    ((9, LONG - 1), 0, 40),
    ((9, LONG), 0, 40),
    ((LONG, 9), 1, 40),
    ((3, 5, LONG), 1, 8),
    ((3, LONG, 5), 1, LONG),
    ((2, 3, 4, LONG // 4), 1, 5),
    ((3, 2 * MANY), 0, 2),
    ((4, 3), 0, 0),
    ((4, 0), 0, 2),
]


def drawn(shape: tuple[int, ...]) -> Values:
    """Whole numbers of which some hundred can be added in any order, exactly, even in float16."""
    return np.random.default_rng(1).integers(-2, 3, shape).astype("float64")


def places(count: int, shape: tuple[int, ...]) -> Values:
    """Indices below ``count``; most come several times."""
    return np.random.default_rng(2).integers(0, count, shape)


def grid(dim: int, indices: Values) -> tuple[Values, ...]:
    each: list[Values] = list(np.indices(indices.shape))
    each[dim] = indices
    return tuple(each)


def added(a: Values, index: Any, b: Values) -> Values:
    out = a.copy()
    np.add.at(out, index, b)
    return out


def run(device: Any, name: str, layout: str, *arguments: Any) -> Values:
    """The operation of a backend on arrays of one layout."""
    make = LAYOUTS[layout]
    given = [make(x, device) if isinstance(x, np.ndarray) else x for x in arguments]
    return np.asarray(device.backend.to_numpy(getattr(device.backend, name)(*given)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "dim", "wanted"), POINTS, ids=str)
def test_gather_and_scatter(shape: Any, dim: int, wanted: Any, layout: str, base: UnderTest) -> None:
    device = base.device()
    dtype, index_dtype = str(device.float_dtype), str(device.int_dtype)
    a, b = drawn(shape).astype(dtype), drawn(wanted).astype(dtype)
    indices = places(shape[dim], wanted).astype(index_dtype)
    index = grid(dim, indices)
    np.testing.assert_array_equal(run(device, "gather", layout, a, dim, indices), a[index])
    np.testing.assert_array_equal(run(device, "scatter", layout, a, dim, indices, b), added(a, index, b))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "dim", "count"), ROWS, ids=str)
def test_select_and_select_assign(shape: Any, dim: int, count: int, layout: str, base: UnderTest) -> None:
    device = base.device()
    dtype, index_dtype = str(device.float_dtype), str(device.int_dtype)
    a, b = drawn(shape).astype(dtype), drawn((*shape[:dim], count, *shape[dim + 1 :])).astype(dtype)
    indices = places(shape[dim], (count,)).astype(index_dtype)
    index = (*[slice(None)] * dim, indices)
    np.testing.assert_array_equal(
        run(device, "select", layout, a, dim, indices), np.take(a, indices.astype(np.intp), dim)
    )
    np.testing.assert_array_equal(run(device, "select_assign", layout, a, dim, indices, b), added(a, index, b))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int32", "int64"])
@pytest.mark.parametrize("index_dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("length", [3, LONG])
def test_every_dtype_of_values_and_indices(dtype: str, index_dtype: str, length: int) -> None:
    a, b = np.abs(drawn((6, length))).astype(dtype), np.abs(drawn((9, length))).astype(dtype)
    rows = places(6, (9,)).astype(index_dtype)
    points = np.repeat(rows[:, np.newaxis], length, axis=1)
    assert NdArray.select(a, 0, rows).tolist() == a[rows].tolist()
    assert NdArray.gather(a, 0, points).tolist() == a[rows].tolist()
    for found in (NdArray.select_assign(a, 0, rows, b), NdArray.scatter(a, 0, points, b)):
        assert found.dtype == dtype
        assert found.tolist() == added(a, rows, b).tolist()


@pytest.mark.parametrize("length", [3, LONG])
def test_hits_of_one_place_are_added_in_their_order(length: int) -> None:
    """Bit by bit as if one after another, across pieces too."""
    count = 2 * MANY // length
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, length)), rng.normal(size=(count, length)) * 10.0 ** rng.integers(-9, 9, (count, 1))
    rows = places(4, (count,))
    points = np.repeat(rows[:, np.newaxis], length, axis=1)
    one_by_one = a.copy()
    for row, values in zip(rows, b, strict=True):
        one_by_one[row] += values
    assert NdArray.select_assign(a, 0, rows, b).tobytes() == one_by_one.tobytes()
    assert NdArray.scatter(a, 0, points, b).tobytes() == one_by_one.tobytes()


@pytest.mark.parametrize("side", [300, 1200])
@pytest.mark.parametrize("is_row_major", [True, False])
def test_places_take_the_same_memory_at_any_size(side: int, is_row_major: bool) -> None:
    """Also where the values that are added are not row-major: each piece of them is copied, for a moment."""
    a = np.ones((side, side))
    a = a if is_row_major else a.T
    rows = np.arange(side)[::-1].copy()
    points = np.broadcast_to(rows, a.shape)
    allowed = SLACK + PLACES + 8 * MANY
    assert extra_bytes(lambda: NdArray.gather(a, 1, points)) < allowed
    assert extra_bytes(lambda: NdArray.scatter(a, 1, points, a)) < allowed
    assert extra_bytes(lambda: NdArray.select(a, 1, rows)) < allowed
    assert extra_bytes(lambda: NdArray.select_assign(a, 1, rows, a)) < allowed


# Addresses of 32 bits


class Narrow(np.ndarray[Any, Any]):
    """An array that takes places of 32 bits alone, as every array does where addresses have no more."""

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        assert indices.dtype == np.int32
        return np.asarray(self).take(indices, axis, out, mode)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("shape", "dim", "wanted"), [*POINTS, ((4, 3), 0, (2, 3))], ids=str)
def test_indices_are_no_wider_than_an_address(
    shape: Any, dim: int, wanted: Any, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 32 bits NumPy's `take` refuses int64, which Int tensors have. Here it is pretended, by an array that does."""
    a, indices = drawn(shape), places(shape[dim], wanted).astype("int64")
    given = np.asfortranarray(a) if turned else a
    monkeypatch.setattr(indexing, "INDEX", np.dtype(np.int32))
    found = indexing.gather(given.view(Narrow), dim, indices)
    np.testing.assert_array_equal(found, a[grid(dim, indices)])
    if indices.ndim == 1 or not turned:
        line = indices.reshape(-1)[:5]
        found = np.asarray(indexing.select(given.view(Narrow), dim, line))
        np.testing.assert_array_equal(found, np.take(a, line.astype(np.intp), dim))
