"""What a reader may write for an answer: 512, "512", 512.0 and "512 B" are one number."""

from __future__ import annotations

import math
import re
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

_UNITS = {"%": Fraction(1, 100)}
_UNITS |= {f"{letter}b": Fraction(1000**power) for power, letter in enumerate("kmg", 1)}
_UNITS |= {f"{letter}ib": Fraction(1024**power) for power, letter in enumerate("kmg", 1)}
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?:/(\d+))?\s*(%|[a-z]*)", re.IGNORECASE)
_NOTHING = {"none", "nothing", "no gradient", "no", "-"}
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def is_right(guess: object, measured: object, digits: int) -> bool:
    """Whether a guess means what was measured. A float is right if both are the same after ``digits`` decimals."""
    if measured is None:
        return words(guess) in _NOTHING
    if isinstance(measured, bool):
        return (guess if isinstance(guess, bool) else _TRUTHS.get(words(guess))) is measured
    if isinstance(measured, int | float):
        if measured == 0 and words(guess) in _NOTHING:
            return True
        number = number_in(guess)
        return number is not None and _same_number(number, measured, digits)
    if isinstance(measured, AbstractSet):
        return set(map(words, _items(guess))) == set(map(words, measured))
    if isinstance(measured, list | tuple):
        items = _items(guess)
        pairs = zip(items, measured, strict=False)
        return len(items) == len(measured) and all(is_right(one, other, digits) for one, other in pairs)
    return words(guess) == words(measured)


def number_in(guess: object) -> float | int | None:
    """The number that a guess is: whole if it can be, without its unit; None if it is none."""
    if isinstance(guess, bool):
        return None
    if isinstance(guess, int | float):
        return guess
    if not isinstance(guess, str):
        number: float | int | None = _single(guess)
        return number
    text = re.sub(r"(?<=\d)[ _\u202f](?=\d{3})|(?<=\d),(?=\d{3}\b)", "", guess.strip())  # 1 432, 1_432 and 1,432
    found = _NUMBER.fullmatch(text.replace(",", "."))
    if found is None or found[2] == "0":
        return None
    value = Fraction(found[1]) / int(found[2] or 1) * _UNITS.get(found[3].lower(), 1)
    return value.numerator if value.denominator == 1 else float(value)


def words(value: object) -> str:
    """A text as it is compared: in small letters, without quotes and the like around it, and with single spaces."""
    return " ".join(str(value).casefold().split()).strip(" .,;:!?'\"`()[]")


def plain(value: Any) -> Any:
    """A NumPy scalar as a number of Python, a shape as a tuple; anything else as it is."""
    if isinstance(value, list | tuple):
        return type(value)([plain(item) for item in value]) if type(value) in (list, tuple) else tuple(value)
    return _single(value) if not isinstance(value, str | bool) and _single(value) is not None else value


def _single(value: Any) -> Any:
    """The number in an array or a tensor of one element, or in a scalar of NumPy; None if there is no such number."""
    if isinstance(value, int | float):
        return value
    for name in ("into_scalar", "item"):
        take = getattr(value, name, None)
        if callable(take) and math.prod(getattr(value, "shape", ())) == 1:
            return take()
    return None


def _same_number(guess: float, measured: float, digits: int) -> bool:
    if isinstance(measured, int) or not math.isfinite(measured) or not math.isfinite(guess):
        return guess == measured or (guess != guess and measured != measured)
    if round(measured, digits) == 0:  # so small that any other small number would be right too
        return math.isclose(guess, measured, rel_tol=0.05, abs_tol=0.0)
    return round(guess, digits) == round(measured, digits)


def _items(guess: object) -> list[object]:
    """The parts of [16, 4], (16, 4), "16, 4" and "16 x 4"; also of a set of names."""
    if isinstance(guess, str):
        parts = re.split(r"\s*(?:[,\N{MULTIPLICATION SIGN}]|\bx\b|(?<=\d)x(?=\d)|\band\b)\s*", guess.strip(" ()[]{}"))
        return [part for part in parts if part]
    if isinstance(guess, list | tuple | AbstractSet):
        return list(guess)
    return [guess]
