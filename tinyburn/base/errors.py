"""One family of exceptions, and the one layout of their messages.

A message answers four questions in a fixed order: what was asked and where, what was given,
every reason why that cannot work, and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from traceback import format_exception
from types import TracebackType
from typing import ClassVar

from .scope import current_path


class TinyburnError(Exception):
    """Base of every error that tinyburn raises on purpose. It lays its message out by itself.

    Args:
        asked: the operation, as the user wrote it; the running module is added to it. Without reasons it is a whole
            message, and stays as it is.
        reasons: why it cannot be done: one, or every one.
        given: what it was asked with, by name.
        hint: what to write instead; its lines stay lines.

    Attributes:
        all_frames: whether a notebook also shows the lines of tinyburn that the error went through. It is set on the
            class: ``TinyburnError.all_frames = True``.
    """

    all_frames: ClassVar[bool] = False

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

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of its own traceback: the reader's lines, and the message."""
        shell = import_module("IPython").get_ipython()
        kept, hidden = self.__traceback__, 0
        if not TinyburnError.all_frames:
            kept, hidden = readers_frames(self.__traceback__)
        if shell is None:
            return "".join(format_exception(type(self), self, kept)).splitlines()
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, kept, tb_offset=0)
        note = f"({hidden} lines inside tinyburn are not shown; TinyburnError.all_frames = True shows them)\n"
        return [*lines[:-1], note, *lines[-1:]] if hidden else lines


def readers_frames(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames inside tinyburn and IPython, and how many those of tinyburn are; the whole one if
    there are no others."""
    entries = []
    entry = traceback
    while entry is not None:
        entries.append((entry, entry.tb_frame.f_globals.get("__name__", "").split(".")[0]))
        entry = entry.tb_next
    mine = [entry for entry, package in entries if package not in (_PACKAGE, "IPython")]
    if not mine:
        return traceback, 0
    shorter: TracebackType | None = None
    for entry in reversed(mine):
        shorter = TracebackType(shorter, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shorter, sum(package == _PACKAGE for _, package in entries)


_PACKAGE = __name__.split(".")[0]


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


class NonFinite(TinyburnError, ArithmeticError):
    """An operation on ordinary numbers gave inf or NaN, where somebody had asked to be told."""


class GraphError(TinyburnError, RuntimeError):
    """The autodiff graph cannot do what was asked: consumed, untracked, or not a leaf."""


class ConfigError(TinyburnError, ValueError):
    """A configuration, or a file that should hold one, is not valid."""


class DataError(TinyburnError, ValueError):
    """Data that cannot be read or put together. The message names the item, or the file and the line."""


class NoSuchItem(DataError, IndexError):
    """A data set was asked for an item that it does not have."""


class ForeignName(TinyburnError, AttributeError):
    """A name that another library has for it; the message has ours."""


class ForeignCall(TinyburnError, TypeError):
    """A call in another library's way, or one that fits no parameter; the message has ours."""


class RanksDiffer(TinyburnError, RuntimeError):
    """Processes that train together are at different places of the program, or bring what does not fit together."""


class RecordError(TinyburnError, ValueError):
    """A file of a model or of a training state cannot be written, or is damaged, too new, or another model's."""


class OnnxError(TinyburnError, ValueError):
    """An ONNX model cannot be read, run, written or compared: it is damaged, or has what tinyburn has not."""
