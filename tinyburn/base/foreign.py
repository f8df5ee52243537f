"""A name of NumPy or PyTorch that is not ours: the error says what to write. The table of them is in `habits.py`.

A name that is not here is an AttributeError, as Python wants it: ``hasattr``, ``copy``, ``pickle`` and the displays of
a notebook ask for names that may be missing. Where the table has the name, the error has ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from typing import Any, TypeVar

from .errors import ForeignCall, ForeignName
from .habits import HABITS

F = TypeVar("F", bound=Callable[..., Any])

_BY_NAME = {(habit.subject, habit.name): habit for habit in reversed(HABITS) if habit.name}


def missing(subject: str, owner: str, name: str) -> AttributeError:
    """The error for a name that is not there: ours if the table has it, else as Python says it.

    Args:
        subject: one of `habits.SUBJECTS`.
        owner: what has no such name, in Python's words.
        name: the name.
    """
    habit = _BY_NAME.get((subject, name))
    if habit is None:
        return AttributeError(f"{owner} has no attribute {name!r}")
    return ForeignName(habit.theirs, habit.because or "it has another name here", hint=f"write {habit.ours}")


class LeftOut:
    """A name as an attribute that is not there: to read it raises an AttributeError, so `hasattr` says no.

    A ``__getattr__`` could do the same in one place, but Python then reads every attribute that is there half as fast.
    """

    def __init__(self, error: Callable[[type[Any]], AttributeError]) -> None:
        self._error = error

    def __get__(self, _: object, owner: type[Any]) -> Any:
        raise self._error(owner)

    def __repr__(self) -> str:
        return "LeftOut()"


def leave_out(cls: type[Any], subject: str) -> None:
    """Gives a class the table's names of other libraries for a subject, as attributes that are not there.

    Nor does `dir` show them, so an editor offers our names alone.
    """
    ours = set(dir(cls))
    for known, name in _BY_NAME:
        if known == subject and name not in ours:
            setattr(cls, name, LeftOut(lambda _, name=name: missing(subject, "", name)))  # type: ignore[misc]
    shown: Any = cls
    shown.__dir__ = _names


def _names(self: object) -> list[str]:
    return [name for name in object.__dir__(self) if not isinstance(getattr_static(self, name, None), LeftOut)]


def called(names: Any) -> list[str]:
    """The methods of a tensor that exist here and are called in another way elsewhere."""
    return sorted({habit.name for habit in HABITS if habit.subject in ("x", "Tensor") and habit.name in names})


def explained(name: str, method: F) -> F:
    """A method, with an error of ours for a call that does not fit its parameters."""

    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the method
            reason = str(error).replace(method.__qualname__, name)
        habits = [habit for habit in HABITS if habit.name == name and habit.subject in ("x", "Tensor")]
        hints = dict.fromkeys(habit.ours for habit in habits)
        raise ForeignCall(name, reason, hint=f"write {' or '.join(hints)}")

    made: Any = call
    return made  # type: ignore[no-any-return]
