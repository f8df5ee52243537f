"""Ctrl-C at a good moment: the step that runs is finished first."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """``with Interrupt() as interrupt``: a first Ctrl-C only sets ``interrupt.asked``; a second one is Python's own.

    Signals reach the main thread of a program alone; in another thread nothing changes.

    Args:
        is_shared: whether several ranks have to stop at the same place. Then a Ctrl-C is due from the next `agree` on.
    """

    def __init__(self, is_shared: bool = False) -> None:
        self.asked = False
        self._is_shared, self._is_agreed = is_shared, False
        self._before: Any = None

    @property
    def is_due(self) -> bool:
        """Whether to stop now."""
        return self._is_agreed if self._is_shared else self.asked

    def agree(self, asked: bool) -> None:
        """Notes whether some rank has been asked, which all of them know."""
        self._is_agreed = asked

    def __repr__(self) -> str:
        return f"Interrupt(asked={self.asked})"

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
