"""A guess beside what was measured."""

from __future__ import annotations

from tinyburn.base.text import thousands

from .guesses import is_right, number_in, plain, words

SKIP = "skip"


def predict(guess: object, measured: object, unit: str = "", *, digits: int = 2, also: tuple[object, ...] = ()) -> None:
    """Says whether a guess is right, and how far off it is. Without one it gives nothing away.

    Args:
        guess: what the reader has written: a number with or without its unit, a shape, a name, "none". ``None`` means
            that there is no guess yet, and ``"skip"`` that the reader wants to see the answer.
        measured: what the cell has found.
        unit: what a number counts, such as ``"bytes"``.
        digits: how many decimals of a float are asked for.
        also: other answers that are right as well.
    """
    answers = [plain(answer) for answer in (measured, *also)]
    value = f"{_shown(answers[0], digits)} {unit}".rstrip()
    if guess is None:
        print('Write your guess first, in the cell above, and run both cells. With "skip" you see the answer.')
    elif words(guess) == SKIP:
        print(f"Measured: {value}.")
    elif any(is_right(guess, answer, digits) for answer in answers):
        print(f"Measured: {value}. You were right.")
    else:
        print(
            f"Measured: {value}. You guessed {guess}{_how_far(guess, answers[0], digits)}. Where does that come from?"
        )


def _shown(value: object, digits: int) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, set | frozenset):
        return ", ".join(sorted(map(str, value)))
    return thousands(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _how_far(guess: object, measured: object, digits: int) -> str:
    """How a number differs, as ``: 12 too high``, or ``: 2 times as much``; empty for what is no number."""
    number = number_in(guess)
    if number is None or not isinstance(measured, int | float) or isinstance(measured, bool):
        return ""
    if measured and number / measured == number // measured > 1:
        return f": {number / measured:g} times as much"
    if number and measured / number == measured // number > 1:
        return ": half of it" if measured / number == 2 else f": 1/{measured / number:g} of it"
    far = abs(number - measured)
    if far != far:
        return ""
    text = thousands(int(far)) if far == int(far) and far < 1e15 else f"{far:.{max(digits, 1)}g}"
    return f": {text} too {'high' if number > measured else 'low'}"
