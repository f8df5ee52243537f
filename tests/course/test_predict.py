"""A guess is taken as a person would write it, and without one nothing is given away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import plain
from tinyburn import Tensor, course


def told(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> str:
    course.predict(*arguments, **options)
    return capsys.readouterr().out.strip()


RIGHT: list[tuple[Any, Any]] = [
    *[(guess, 512) for guess in (512, "512", 512.0, "512 B", "512 bytes", np.int64(512), "0.5 KiB", np.array([512]))],
    *[(guess, 1432) for guess in ("1 432", "1,432", "1_432 bytes", 1432)],
    *[
        (guess, (16, 4))
        for guess in ([16, 4], (16, 4), "16, 4", "(16, 4)", "[16, 4]", "16x4", "16 \N{MULTIPLICATION SIGN} 4")
    ],
    *[(guess, None) for guess in ("none", "None", "nothing", "no gradient")],
    *[(guess, True) for guess in (True, "yes", "True")],
    *[(guess, "block.weight") for guess in ("block.weight", "Block.Weight", "`block.weight`")],
    *[(guess, {"w", "b"}) for guess in ("w, b", ["b", "w"], {"w", "b"}, "b and w")],
    *[(guess, 0.25) for guess in ("1/4", "25 %", "0,25", 0.25, ".25")],
    (float("nan"), math.nan),
]


@pytest.mark.parametrize(("guess", "measured"), RIGHT)
def test_what_a_person_would_write_is_right(guess: Any, measured: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, guess, measured).endswith("You were right.")


@pytest.mark.parametrize(
    ("guess", "measured"),
    [
        (True, 1),
        ("512 or so", 512),
        (511, 512),
        ([16], (16, 4)),
        ([4, 16], (16, 4)),
        ("w", {"w", "b"}),
        ("", "w"),
        (0, None),
        ("1/0", 0.0),
        (0.31, 0.25),
        (object(), 3),
    ],
)
def test_what_is_wrong_is_told_with_what_was_measured(
    guess: Any, measured: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    line = told(capsys, guess, measured)
    assert line.startswith("Measured: ")
    assert "You guessed" in line


def test_a_float_is_right_by_the_decimals_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for guess in (0.3, 0.3025, "0.30"):
        assert told(capsys, guess, 0.3025, digits=1).endswith("You were right.")
    assert told(capsys, 0.3, 0.3025, digits=2).endswith("You were right.")
    assert "You guessed 0.31: 0.0075 too high" in told(capsys, 0.31, 0.3025)


def test_a_number_near_zero_is_not_right_because_it_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "1.9e-6", 1.91e-6).endswith("You were right.")
    assert told(capsys, 0, 0.0).endswith("You were right.")
    for guess in (0, 0.001, "1e-7"):
        assert "You guessed" in told(capsys, guess, 1.91e-6)


def test_without_a_guess_nothing_is_given_away(capsys: pytest.CaptureFixture[str]) -> None:
    for measured in (1432, "pow", (16, 4), None):
        line = told(capsys, None, measured, "bytes")
        assert line == 'Write your guess first, in the cell above, and run both cells. With "skip" you see the answer.'


def test_who_skips_sees_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "skip", 1432, "bytes") == "Measured: 1 432 bytes."


@pytest.mark.parametrize(
    ("guess", "far"),
    [
        (500, "You guessed 500: 12 too low."),
        (1024, "You guessed 1024: 2 times as much."),
        (256, "You guessed 256: half of it."),
        (128, "You guessed 128: 1/4 of it."),
        (-512, "You guessed -512: 1 024 too low."),
        ("two", "You guessed two."),
    ],
)
def test_how_far_off_a_number_is(guess: Any, far: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert far in told(capsys, guess, 512, "bytes")


def test_other_right_answers_and_numbers_in_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "w", "block.weight", also=("w",)).endswith("You were right.")
    assert told(capsys, 2, Tensor.full((1,), 2.0, plain())).endswith("You were right.")
