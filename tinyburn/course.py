"""The notebooks' two helpers: guess before you look, and check an exercise by yourself.

Both print plain lines, the same for the same answers, so that an untouched notebook stays as it is checked in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def predict(guess: object, measured: object, unit: str = "") -> None:
    """Puts a guess beside what was measured. ``None`` means that there is no guess yet."""
    value = f"{measured} {unit}".rstrip()
    if guess is None:
        print(f"Measured: {value}. You made no guess: write one above, and run both cells again.")
    elif guess == measured:
        print(f"Measured: {value}. You were right.")
    else:
        print(f"Measured: {value}. You guessed {guess}. Where does the difference come from?")


def check(number: int, answer: T | None, is_right: Callable[[T], bool], hint: str) -> None:
    """Says whether the answer to an exercise is right. ``None`` means not done yet.

    An answer that makes ``is_right`` raise is wrong too, and the message says what happened.
    """
    if answer is None:
        print(f"Exercise {number}: not done yet.")
        return
    try:
        right = bool(is_right(answer))
        problem = ""
    except Exception as error:  # whatever a wrong answer does, it is a wrong answer
        right, problem = False, f" ({type(error).__name__}: {error})"
    print(f"Exercise {number}: right." if right else f"Exercise {number}: not yet{problem}. Hint: {hint}")
