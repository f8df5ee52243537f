"""The event log of a small program, written out."""

from __future__ import annotations

from typing import Any

from tests.support import UnderTest
from tinyburn import Module, NdArray, Tensor, Traced
from tinyburn.backend.log import FORMATS, Category, Kind


def log_of_a_product(device: Any) -> Any:
    x, y = Tensor.ones((2, 3), device), Tensor.ones((2, 1), device)
    z = (x * y).transpose()
    del x
    w = z.reshape((6,)) + 1.0
    del z, w
    return device.log


def test_the_log_of_a_small_program() -> None:
    log = log_of_a_product(Traced[NdArray].device(float_dtype="float64"))
    names = {name: number for number, name in enumerate(log.names)}
    outside, forward = names[""], names["forward"]
    number = FORMATS.index("float64")
    assert log.events == [
        (Kind.OP, names["full"], outside, forward),
        (Kind.ALLOC, 0, 48, Category.INPUT, number),
        (Kind.OP, names["full"], outside, forward),
        (Kind.ALLOC, 1, 16, Category.INPUT, number),
        (Kind.OP, names["mul"], outside, forward, 0, 1),
        (Kind.ALLOC, 2, 48, Category.TEMPORARY, number),
        (Kind.OP, names["permute"], outside, forward, 2),  # a view: nothing is allocated
        (Kind.FREE, 0),
        (Kind.OP, names["reshape"], outside, forward, 2),  # of a permuted tensor: a copy
        (Kind.ALLOC, 3, 48, Category.TEMPORARY, number),
        (Kind.OP, names["add"], outside, forward, 3),
        (Kind.ALLOC, 4, 48, Category.TEMPORARY, number),
        (Kind.FREE, 3),
        (Kind.FREE, 2),
        (Kind.FREE, 4),
        (Kind.FREE, 1),
    ]


def test_the_log_is_the_same_again_and_on_shapes_alone(base: UnderTest) -> None:
    first = log_of_a_product(base.inside(Traced).device())
    for one in (base, base.shapes_alone()):
        again = log_of_a_product(one.inside(Traced).device())
        assert (again.events, again.names) == (first.events, first.names)


def test_the_log_holds_whole_numbers_only(base: UnderTest) -> None:
    for event in log_of_a_product(base.inside(Traced).device()).events:
        assert all(isinstance(part, int) for part in event)


class _Named(Module):
    def forward(self, x: Any) -> Any:
        return x.exp()


def test_an_operation_knows_its_module() -> None:
    backend: Any = Traced[NdArray]
    device = backend.device()
    x = Tensor.ones((1,), device)
    _Named()(x)
    operations = [event for event in device.log.events if event[0] == Kind.OP][1:]
    assert [(device.log.names[event[1]], device.log.names[event[2]]) for event in operations] == [("exp", "_named")]


def test_reading_and_making_are_transfers(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device("float32")
    Tensor.from_data([1.0, 2.0], device).to_numpy()
    transfers = [event for event in device.log.events if event[0] == Kind.TRANSFER]
    assert transfers == [(Kind.TRANSFER, 0, 8, 0), (Kind.TRANSFER, 0, 8, 1)]


def test_a_default_is_an_event_for_each_part(base: UnderTest) -> None:
    device: Any = base.inside(Traced).device()
    Tensor.ones((3,), device).var(0)
    operations = [device.log.names[event[1]] for event in device.log.events if event[0] == Kind.OP]
    assert "var" not in operations
    assert {"mean_dims", "sub"} <= set(operations)


def test_the_log_knows_the_dtype_of_each_buffer(base: UnderTest) -> None:
    """What an operation's name does not tell: an integer tensor was counted as floats."""
    device: Any = base.inside(Traced).device()
    x = Tensor.ones((2,), device)
    Tensor.arange(0, 3, device)
    (x * 3.0).int()
    _ = x > 0.0
    found = [FORMATS[event[4]] for event in device.log.events if event[0] == Kind.ALLOC]
    assert found == [base.float_dtype, base.int_dtype, base.float_dtype, base.int_dtype, "bool"]
