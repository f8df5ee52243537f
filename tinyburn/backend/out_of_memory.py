"""What the pools of GPUs share: the error when there is no room, and letting go of what an earlier one still holds."""

from __future__ import annotations

import sys
import traceback

from tinyburn.base.errors import OutOfMemory
from tinyburn.base.text import amount

_HINT = """use a smaller batch (memory.max_batch_size finds the largest),
compute without gradients where none is needed,
or drop tensors that nothing needs any more, with del"""


def out_of_memory(asked: int, in_use: int, limit: int | None, reason: str) -> OutOfMemory:
    """The error for a buffer of ``asked`` bytes that there is no room for."""
    given = {
        "asked for": amount(asked),
        "in use": amount(in_use),
        "limit": "none" if limit is None else amount(limit),
    }
    return OutOfMemory("a new buffer", reason, given=given, hint=_HINT)


def forget_failed_step() -> None:
    """Frees the tensors of a step that ran out of memory earlier, if a notebook or a prompt keeps its traceback.

    Python keeps the last error that nobody caught, with every local variable on its way. They would be in the way of
    the smaller step that a student tries next.
    """
    failed = getattr(sys, "last_value", None)
    while failed is not None:
        if isinstance(failed, OutOfMemory):
            _clear_frames(failed)
        failed = failed.__context__


def _clear_frames(error: BaseException) -> None:
    """Forgets the local variables of the calls that an error came through."""
    traceback.clear_frames(error.__traceback__)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        _ = frame.f_locals  # before Python 3.13 a debugger, or IPython, leaves a copy here; reading it again renews it
