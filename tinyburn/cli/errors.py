"""What a command says when it cannot do its work."""

from __future__ import annotations

from importlib.util import find_spec

from tinyburn.base.errors import TinyburnError


class CommandError(TinyburnError):
    """A reason, in words for the person at the terminal: it is printed without a traceback."""


def need(package: str, extra: str, asked: str) -> None:
    """Raises CommandError, with the way to install it, if a package that only some commands need is missing."""
    if find_spec(package) is None:
        reason = f"the package {package} is not installed in this environment"
        raise CommandError(asked, reason, hint=f'pip install "tinyburn[{extra}]"')
