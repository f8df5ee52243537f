"""`Backend.into`: the bits of the operation itself, in the buffer of the target just where the interface says so."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.backend.layouts import LAYOUTS, arguments
from tests.backend.table import ROWS, Row
from tests.support import BASES, UnderTest, params
from tinyburn import NdArray, Traced
from tinyburn.backend import Kind
from tinyburn.backend.operations import OPERATIONS

IN_PLACE = [row for row in ROWS if OPERATIONS[row.name].in_place]
TARGETS = ("first", "second", "stranger", "wrong-shape", "wrong-dtype")

every_case = pytest.mark.parametrize(
    ("layout", "target", "row"),
    [pytest.param(*case, id=f"{case[2].id}-{case[1]}-{case[0]}") for case in product(LAYOUTS, TARGETS, IN_PLACE)],
)


def chosen(target: str, primitives: list[Any], result: Any, device: Any, layout: str) -> Any:
    """What is handed over as the target; None if the row has no such operand."""
    if target in ("first", "second"):
        candidate = dict(enumerate(primitives)).get(target == "second")
        return candidate if hasattr(candidate, "shape") else None
    shape = (*result.shape[:-1], result.shape[-1] + 1) if target == "wrong-shape" else result.shape
    dtype = "bool" if target == "wrong-dtype" else result.dtype
    return LAYOUTS[layout](np.ones(shape, dtype), device)


def is_row_major(a: Any, backend: Any) -> bool:
    flat = (int(np.prod(a.shape)),)
    return bool(backend.shares_buffer(backend.reshape(a, flat), a))


@pytest.mark.parametrize("base", params(BASES))
@every_case
def test_into_is_the_operation_itself(base: UnderTest, row: Row, target: str, layout: str) -> None:
    device = base.device()
    backend = device.backend
    primitives = arguments(row.args, device, layout)
    expected = getattr(backend, row.name)(*primitives)
    place = chosen(target, primitives, expected, device, layout)
    if place is None:
        return
    wanted = backend.to_numpy(expected).tobytes()
    fits = is_row_major(place, backend) and tuple(place.shape) == tuple(expected.shape)
    result = backend.into(place, row.name, *primitives)
    assert backend.to_numpy(result).tobytes() == wanted
    assert backend.shares_buffer(result, place) is (fits and place.dtype == expected.dtype)


@pytest.mark.parametrize("base", params(BASES))
@every_case
def test_shapes_alone_write_the_same_log(base: UnderTest, row: Row, target: str, layout: str) -> None:
    logs = []
    for one in (base, base.shapes_alone()):
        device: Any = one.inside(Traced).device()
        primitives = arguments(row.args, device, layout)
        expected = getattr(device.backend, row.name)(*primitives)
        place = chosen(target, primitives, expected, device, layout)
        if place is not None:
            device.backend.into(place, row.name, *primitives)
        del expected, place, primitives
        logs.append((device.log.events, device.log.names))
    assert logs[0] == logs[1]


LARGE = np.random.default_rng(1).normal(size=(401, 300))
NUMBERS: dict[str, tuple[float, ...]] = {
    "clamp_backward": (-0.5, 0.5),
    "leaky_relu_backward": (0.1,),
    "add_scaled": (3.0,),
    "weighted_sum": (0.5, 3.0),
    "weighted_square_sum": (0.5, 3.0),
    "adaptive_sum": (0.5, 3.0, 0.1),
}


WHOLE_TENSORS = [name for name, operation in OPERATIONS.items() if operation.in_place and name != "slice_assign"]
"""Those whose tensors may all have the shape of the result. `slice_assign` has tests of its own below."""


@pytest.mark.parametrize("name", WHOLE_TENSORS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("start", [0, 1])
def test_parts_of_one_large_array(name: str, dtype: str, start: int) -> None:
    """Rows that overlap, in either order: a block that is written may not be read afterwards."""

    def parts() -> tuple[Any, Any, Any]:
        whole = LARGE.astype(dtype)
        whole[::7, ::5] = 0
        return whole[start : 400 + start], whole[1 - start : 401 - start], whole[:400]

    target, a, b = parts()
    arguments = (*(a, b, b)[: len(OPERATIONS[name].tensors)], *NUMBERS.get(name, ()))
    expected = getattr(NdArray, name)(*arguments)
    assert NdArray.into(target, name, *arguments) is target
    assert target.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", WHOLE_TENSORS)
def test_the_transpose_of_the_target(name: str) -> None:
    square = LARGE[:300].astype("float32")
    operands = (square.T, square, square)[: len(OPERATIONS[name].tensors)]
    expected = getattr(NdArray, name)(*operands, *NUMBERS.get(name, ()))
    assert NdArray.into(square, name, *operands, *NUMBERS.get(name, ())) is square
    assert square.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "multiply_no_nan"])
@pytest.mark.parametrize("dead", [1.0, np.inf, np.nan])
@pytest.mark.parametrize("size", [(401, 1), (1, 300)])
def test_a_column_or_a_row_with_a_large_array(name: str, dead: float, size: tuple[int, int]) -> None:
    target, other = LARGE.astype("float32"), np.full(size, 0.5, "float32")
    target[::7, ::5] = 0
    other[0, 0] = dead
    for operands in ((target, other), (other, target.copy())):
        expected = getattr(NdArray, name)(*operands)
        place = target.copy()
        given = [place if x is target else x for x in operands]
        assert NdArray.into(place, name, *given) is place
        assert place.tobytes() == expected.tobytes()


def _of_whole(parts: tuple[slice, ...], target: str, values: str, backend: Any, device: Any) -> tuple[Any, Any]:
    """What `slice_assign` gives for two matrices, by NumPy and written into a target. The values to assign lie in the
    target, or in another buffer."""
    numbers = np.arange(72.0, dtype="float32").reshape(2, 6, 6)
    a, other = (backend.from_numpy(matrix, device) for matrix in numbers)
    place = a if target == "first" else other
    source = {"other": backend.from_numpy(-numbers[1], device), "target": place}[values]
    height, width = (len(range(*part.indices(6))) for part in parts)
    b = backend.slice(source, (slice(0, height, 1), slice(0, width, 1)))
    expected = numbers[0].copy()
    expected[parts] = backend.to_numpy(b)
    return expected, backend.into(place, "slice_assign", a, parts, b)


PARTS = {
    "rows": (slice(1, 3, 1), slice(0, 6, 1)),
    "a box": (slice(1, 6, 1), slice(2, 5, 1)),
    "every second": (slice(1, 6, 2), slice(0, 6, 2)),
    "all": (slice(0, 6, 1), slice(0, 6, 1)),
    "nothing": (slice(2, 2, 1), slice(0, 6, 1)),
}


@pytest.mark.parametrize("base", params(BASES))
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("target", ["first", "stranger"])
@pytest.mark.parametrize("values", ["other", "target"])
def test_a_part_is_assigned_where_the_target_lies(base: UnderTest, parts: str, target: str, values: str) -> None:
    """Also if the values lie in the target, which is written before they are all read."""
    device = base.device()
    expected, found = _of_whole(PARTS[parts], target, values, device.backend, device)
    assert device.backend.to_numpy(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("base", params(BASES))
def test_what_lies_in_the_target_is_left_there(base: UnderTest) -> None:
    """The whole is written once, however many parts follow: each is one event, and no buffer."""
    device: Any = base.inside(Traced).device()
    backend = device.backend
    whole, row = (backend.from_numpy(np.full((n, 4), n, "float32"), device) for n in (3, 1))
    buffers = device.log.live_buffers
    for at in range(3):
        whole = backend.into(whole, "slice_assign", whole, (slice(at, at + 1, 1), slice(0, 4, 1)), row)
    assert device.log.live_buffers == buffers
    assert [event[0] for event in device.log.events].count(Kind.DONATE) == 3
    assert (backend.to_numpy(whole) == 1).all()
