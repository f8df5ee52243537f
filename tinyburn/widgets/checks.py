"""What several widgets ask of their arguments."""

from __future__ import annotations

from typing import Any

from tinyburn.base.errors import ConfigError
from tinyburn.base.shape import is_count


def check_job(widget: str, job: Any, more: str) -> None:
    """Raises ConfigError for what cannot be a job; ``more`` is how the call goes on, for the hint."""
    if not callable(job):
        reason = f"{type(job).__name__} is no job: a function of a device and a batch size"
        raise ConfigError(f"widgets.{widget}", reason, hint=f"write widgets.{widget}(job, {more})")


def count_problems(least: int, most: int, **given: Any) -> list[str]:
    """What is wrong with numbers that must be whole and within limits, by their names."""
    return [
        f"{name} is {value!r}, and must be a whole number from {least} to {most}"
        for name, value in given.items()
        if not (is_count(value) and least <= value <= most)
    ]


def choice_problems(name: str, given: Any, options: Any) -> list[str]:
    """What is wrong with an argument that must be one of some words."""
    return [] if given in options else [f"{name} is {given!r}, and must be one of {', '.join(options)}"]
