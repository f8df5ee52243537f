"""Why a backend does not work here, and what to do about it: said alike by every backend that may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tinyburn.base.errors import BackendUnavailable, hint_lines


class Missing(NamedTuple):
    """What was looked for and not found, and the way out. Its text has a line for each."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}\n{hint_lines(self.hint)}"


def choose_device(asked: str, missing: Missing | None, which: str | int | None, names: Sequence[str]) -> int:
    """The place in ``names`` of the device that is asked for; None is the first.

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
