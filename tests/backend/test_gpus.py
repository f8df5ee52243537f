"""What the backends of GPUs share. Any object stands for a tensor here: what is tested is who keeps it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator

import pytest

from tinyburn.backend.gpus import let_go_of_failed_steps


class Held:
    """Something in a local variable of a step that fails."""


@pytest.fixture(autouse=True)
def collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def failed(held: list[weakref.ref[Held]], error: type[BaseException] = ValueError) -> BaseException:
    """The error of a step that fails; its traceback holds what the step had made."""

    def step() -> None:
        tensor = Held()
        held.append(weakref.ref(tensor))
        raise error("wrong")

    try:
        step()
    except BaseException as caught:
        return caught
    raise AssertionError


def chained(held: list[weakref.ref[Held]]) -> BaseException:
    later = RuntimeError("later")
    later.__cause__ = failed(held)
    return later


def in_context(held: list[weakref.ref[Held]]) -> BaseException:
    later = RuntimeError("later")
    later.__context__ = failed(held)
    return later


def grouped(held: list[weakref.ref[Held]]) -> BaseException:
    return ExceptionGroup("several", [ValueError("other"), ExceptionGroup("inner", [_as_exception(failed(held))])])


def in_a_circle(held: list[weakref.ref[Held]]) -> BaseException:
    first, second = failed(held), failed(held)
    first.__context__, second.__context__ = second, first
    return first


WAYS: list[Callable[[list[weakref.ref[Held]]], BaseException]] = [
    failed,
    lambda held: failed(held, KeyboardInterrupt),
    lambda held: failed(held, MemoryError),
    chained,
    in_context,
    grouped,
    in_a_circle,
]


def _as_exception(error: BaseException) -> Exception:
    assert isinstance(error, Exception)
    return error


@pytest.mark.parametrize("keeper", ["last_value", "last_exc"])
@pytest.mark.parametrize("way", WAYS)
def test_what_the_last_error_holds_goes(
    way: Callable[[list[weakref.ref[Held]]], BaseException], keeper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[Held]] = []
    error = way(held)
    monkeypatch.setattr(sys, keeper, error, raising=False)
    assert any(each() is not None for each in held)
    let_go_of_failed_steps()
    assert all(each() is None for each in held)


def test_what_the_error_in_hand_holds_goes_and_what_runs_stays() -> None:
    held: list[weakref.ref[Held]] = []
    mine = Held()
    try:
        raise failed(held)
    except ValueError:
        let_go_of_failed_steps()
        assert held[0]() is None
    alive = weakref.ref(mine)
    del mine
    assert alive() is None  # nor did anyone keep a copy of this function's variables


def test_what_a_cycle_holds_goes() -> None:
    held = Held()
    cycle: list[object] = [held]
    cycle.append(cycle)
    gone = weakref.ref(held)
    del held, cycle
    assert gone() is not None
    let_go_of_failed_steps()
    assert gone() is None
