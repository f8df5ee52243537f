"""What the backends of GPUs share: saying that one is missing, that it has no room, and letting go of a failed step.

And what is known of them where none is: how `Wgpu` rounds and keeps, which `memory.simulate` replays on any machine.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from tinyburn.base.errors import BackendUnavailable, OutOfMemory, hint_lines
from tinyburn.base.text import amount

from .room import SMALLER

WGPU_ROUNDING = 256
"""Sizes are rounded up to a multiple of this many bytes, the widest alignment that WebGPU asks of a binding."""

WGPU_SHELF_BYTES = 1 << 30
"""If more than this lies on the shelves, they are cleared before a new buffer is made: sizes can be ever new."""


class Missing(NamedTuple):
    """What was looked for and not found, and the way out. Its text has a line for each."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}\n{hint_lines(self.hint)}"


NO_DRIVERS = Missing(
    "this Python runs in a browser, which has no drivers of GPUs for it",
    "use ndarray, which works everywhere; on your own computer tinyburn finds its GPU",
)
"""Why there is no GPU where `in_browser`: there, nothing that could be installed would help."""


def choose_device(asked: str, missing: Missing | None, which: str | int | None, names: Sequence[str]) -> int:
    """The index in ``names`` of the device that is asked for; None is the first.

    Raises BackendUnavailable if nothing is here, or not that one, with what there is.
    """
    if missing is not None:
        raise BackendUnavailable(asked, missing.reason, hint=missing.hint)
    if which is None:
        return 0
    if isinstance(which, int) and not isinstance(which, bool) and 0 <= which < len(names):
        return which
    if which in names:
        return list(names).index(str(which))
    reason = f"there is no device {which!r} here; there is {', '.join(names)}"
    raise BackendUnavailable(asked, reason, hint="leave the device out for the first one")


def out_of_memory(asked: int, in_use: int, limit: int | None, reason: str) -> OutOfMemory:
    """The error for a buffer of ``asked`` bytes that there is no room for."""
    given = {
        "asked for": amount(asked),
        "in use": amount(in_use),
        "limit": "none" if limit is None else amount(limit),
    }
    return OutOfMemory("a new buffer", reason, given=given, hint=SMALLER)


def let_go_of_failed_steps() -> None:
    """Frees the tensors of steps that raised, whatever the error, where only tracebacks and cycles still hold them.

    Python keeps the last error that nobody caught, with every local variable on its way, and so does the `except`
    that runs now. In a notebook the errors before that one are garbage, but in cycles. All of them would be in the way
    of the smaller step that a student tries next. Their local variables are lost to a debugger.
    """
    for error in _kept_errors():
        _clear_frames(error)
    gc.collect()


def _kept_errors() -> list[BaseException]:
    """The errors that Python itself keeps for this thread, and those that they came from or hold."""
    found: list[BaseException] = []
    waiting = [sys.exception(), getattr(sys, "last_exc", None), getattr(sys, "last_value", None)]
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseException) and not any(error is known for known in found):
            found.append(error)
            waiting += [error.__context__, error.__cause__, *getattr(error, "exceptions", ())]
    return found


def _clear_frames(error: BaseException) -> None:
    """Forgets the local variables of the calls that an error came through, but for those that still run."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        try:
            frame.clear()
        except RuntimeError:
            continue  # it still runs
        _ = frame.f_locals  # before Python 3.13 a debugger, or IPython, leaves a copy here; reading it again renews it
