"""What NumPy says when an array does not fit, as an error of ours.

There are two ways not to fit. The memory has no room for it; or it has more bytes than an address can count. With 64
bits that takes a slip of the hand. In a browser, where addresses have 32, it happens from 2 GiB on. NumPy tells the
first with a MemoryError and the second with a ValueError, in other words in each of its functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from tinyburn.base.errors import OutOfMemory, TinyburnError
from tinyburn.base.machine import in_browser
from tinyburn.base.text import amount

from .operations import OPERATIONS, label_of

Function = TypeVar("Function", bound=Callable[..., Any])

NO_ROOM = (MemoryError, ValueError, OverflowError)
"""What NumPy raises for an array that does not fit, and for other things too."""

MOST_BYTES = sys.maxsize
"""Of one array. An address tells so many bytes apart in each direction."""

_ABOUT_SIZES = ("too big", "too large", "aximum allowed", "aximum supported")
"""Words by which NumPy's ValueErrors about sizes are known."""

SMALLER = """use a smaller batch (memory.max_batch_size finds the largest),
compute without gradients where none is needed,
or drop tensors that nothing needs any more, with del"""

_ELSEWHERE = "\nor run it in Python on your own computer: a browser gives all tensors together a few GiB"


def explain(error: Exception, asked: str, arguments: Sequence[Any]) -> None:
    """Raises OutOfMemory if NumPy's error says that an array did not fit; else the caller raises the error again.

    Args:
        error: one of `NO_ROOM`.
        asked: the name of the operation.
        arguments: what it was asked with; tensors and shapes among them are shown.
    """
    if isinstance(error, TinyburnError) or type(error).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return  # it explains itself, or the backend of its library does
    if isinstance(error, MemoryError):
        reason = f"there is no room in memory: {error}" if str(error) else "there is no room in memory"
    elif isinstance(error, OverflowError) or any(words in str(error) for words in _ABOUT_SIZES):
        bits = MOST_BYTES.bit_length() + 1
        reason = f"addresses have {bits} bits here, so an array has at most {amount(MOST_BYTES)}, and this has more"
    else:
        return
    hint = f"{SMALLER}{_ELSEWHERE if in_browser() else ''}"
    raise OutOfMemory(label_of(asked), reason, given=_given(asked, arguments), hint=hint) from None


def _given(asked: str, arguments: Sequence[Any]) -> dict[str, str]:
    """The shapes that the result comes from; of an operation's other tuples some are dims."""
    has_shape = asked not in OPERATIONS or "shape" in OPERATIONS[asked].parameters
    tensors = [f"{tuple(x.shape)} {x.dtype}" for x in arguments if hasattr(x, "shape") and hasattr(x, "dtype")]
    shapes = [str(x) for x in arguments if has_shape and isinstance(x, tuple)]
    given = {"tensor" if len(tensors) == 1 else "tensors": ", ".join(tensors), "shape": ", ".join(shapes)}
    return {name: text for name, text in given.items() if text}


def fitting(function: Function) -> Function:
    """A function of arrays that raises OutOfMemory for a result that does not fit."""

    @wraps(function)
    def explained(*arguments: Any) -> Any:
        try:
            return explained.__wrapped__(*arguments)
        except NO_ROOM as error:
            explain(error, explained.__name__, arguments)
            raise

    return explained  # type: ignore[return-value]
