"""One family of exceptions, and the one layout of their messages.

A message answers four questions in a fixed order: what was asked and where, what was given,
every reason why that cannot work, and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .scope import current_path


class TinyburnError(Exception):
    """Base of every error that tinyburn raises on purpose. It lays its message out by itself.

    Args:
        asked: the operation, as the user wrote it; the running module is added to it. Without reasons it is a whole
            message, and stays as it is.
        reasons: why it cannot be done: one, or every one.
        given: what it was asked with, by name.
        hint: what to write instead; its lines stay lines.
    """

    def __init__(
        self,
        asked: str,
        reasons: str | Iterable[str] = (),
        *,
        given: Mapping[str, object] | None = None,
        hint: str | None = None,
    ) -> None:
        path = current_path() if reasons else ""
        lines = [f"{asked} (in {path})" if path else asked]
        width = max(map(len, given), default=0) if given else 0
        lines += [f"  {name:<{width}} : {value}" for name, value in (given or {}).items()]
        lines += [f"  because {reason}" for reason in ([reasons] if isinstance(reasons, str) else reasons)]
        if hint:
            lines.append(hint_lines(hint))
        super().__init__("\n".join(lines))


def hint_lines(hint: str) -> str:
    """The fix, as the last lines of a message."""
    return "  hint: " + hint.replace("\n", "\n        ")


class ShapeError(TinyburnError, ValueError):
    """Ranks or dimensions that do not fit together."""


class DTypeMismatch(TinyburnError, TypeError):
    """Number formats that do not fit: tinyburn never converts one silently."""


class BackendMismatch(TinyburnError, TypeError):
    """Tensors of two backends met in one operation, or an operation met a backend that lacks it."""


class DeviceMismatch(TinyburnError, ValueError):
    """Tensors of two devices met in one operation: tinyburn never copies one silently."""


class BackendUnavailable(TinyburnError, RuntimeError):
    """A backend was asked for that cannot run on this machine."""


class OutOfMemory(TinyburnError, MemoryError):
    """A device has no room for one more buffer. Nothing is lost: what was there before is there still."""


class GraphError(TinyburnError, RuntimeError):
    """The autodiff graph cannot do what was asked: consumed, untracked, or not a leaf."""


class ConfigError(TinyburnError, ValueError):
    """A configuration, or a file that should hold one, is not valid."""


class ForeignName(TinyburnError, AttributeError):
    """A name that another library has for it; the message has ours."""


class ForeignCall(TinyburnError, TypeError):
    """A call in another library's way, or one that fits no parameter; the message has ours."""
