"""Calling NumPy without its warnings, and with results that are always row-major."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

import numpy as np

from .interface import Operand

NumPyArray = np.ndarray[Any, Any]


def _ignoring_errors() -> tuple[ContextVar[Any], Any]:
    """The variable in which NumPy keeps what to do about inf and NaN, and its value for doing nothing."""
    np.seterr(all="ignore")
    ((variable, value),) = copy_context().items()
    return variable, value


# inf and NaN are values here, not accidents: no warning for them, whatever the caller's own setting is. An
# ``np.errstate`` for each operation does this too, and takes longer than NumPy needs for a small sum. So the variable
# is looked up once, in an empty context, where it is the only one, and each operation sets it and sets it back.
_ERRORS, _IGNORED = Context().run(_ignoring_errors)
_ignore, _restore = _ERRORS.set, _ERRORS.reset


def quiet(function: Callable[..., NumPyArray]) -> Any:
    """A function of arrays during which NumPy does not warn."""

    def apply(*arguments: Any) -> NumPyArray:
        token = _ignore(_IGNORED)
        try:
            return function(*arguments)
        finally:
            _restore(token)

    return apply


def rowmajor(ufunc: np.ufunc) -> Any:
    """A ufunc whose result is always row-major; NumPy by itself would copy the layout of its operands."""

    def unary(a: NumPyArray) -> Any:
        token = _ignore(_IGNORED)
        try:
            return ufunc(a, order="C")
        finally:
            _restore(token)

    def binary(a: Operand, b: Operand) -> Any:
        token = _ignore(_IGNORED)
        try:
            return ufunc(a, b, order="C")
        finally:
            _restore(token)

    return unary if ufunc.nin == 1 else binary
