"""The curves of a training: what the title finds, what a long table leaves out, and the live one in a notebook."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import train
from tinyburn.base.errors import ConfigError
from tinyburn.viz import LiveCurve, curve
from tinyburn.viz.curve import MOST_ROWS
from tinyburn.viz.lines import MOST_LINES


def history(**named: list[Any]) -> train.History:
    made = train.History()
    length = max(map(len, named.values()))
    made.rows = [{name.replace("_", " "): column[at] for name, column in named.items()} for at in range(length)]
    return made


FALLS = [2.0, 1.0, 0.5]
TURNS = [2.0, 1.5, 1.75]


def test_a_history_shows_its_loss_and_that_of_the_held_out_samples() -> None:
    picture = curve(history(loss=FALLS, valid_loss=TURNS, accuracy=[0.1, 0.2, 0.3]))
    assert picture.title == (
        "3 epochs: loss falls from 2 to 0.5; valid loss falls from 2 to 1.75, lowest 1.5 in epoch 2"
    )
    assert columns(picture, "epoch", "loss", "valid loss") == [("1", "2", "2"), ("2", "1", "1.5"), ("3", "0.5", "1.75")]
    assert {"loss", "0.5", "valid loss", "1.75", "epoch"} <= set(texts(picture))
    assert_readable(picture)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([0.5, 0.75, 0.9], "rises from 0.5 to 0.9"),
        ([0.5, 0.9, 0.6], "rises from 0.5 to 0.6, highest 0.9 in step 2"),
        ([1.0, 1.0], "stays at 1"),
        ([1.0], "is 1"),
        ([1.0, math.nan, 2.0], "is NaN in step 2"),
        ([1.0, math.inf], "is inf in step 2"),
        ([2.0, 0.5, 0.51], "falls from 2 to 0.51"),  # less than a twentieth of its way above the lowest point
        ([2.0, 0.5, 0.61], "falls from 2 to 0.61, lowest 0.5 in step 2"),  # more than that
        ([None, 3.0, 2.0], "falls from 3 to 2"),
    ],
)
def test_what_a_line_did(sizes: list[float | None], said: str) -> None:
    picture = curve({"a": sizes})
    assert picture.title == f"{len(sizes)} step{'s' if len(sizes) > 1 else ''}: a {said}"
    assert_readable(picture)


def test_a_single_lucky_step_is_no_turn() -> None:
    """A loss around 1 after it has fallen from 10, with one step at 0: the line has not turned there."""
    losses = [max(10.0 - at / 10, 1.0) for at in range(1000)]
    losses[500] = 0.0
    assert curve(losses).title == "1 000 steps: loss falls from 10 to 1"


@pytest.mark.parametrize("length", [MOST_ROWS, MOST_ROWS + 1, 100, 12_345])
def test_a_long_history_is_shortened_with_a_note(length: int) -> None:
    picture = curve(history(loss=[1.0 / at for at in range(1, length + 1)]))
    rows = [int(epoch.replace(" ", "")) for (epoch,) in columns(picture, "epoch")]
    assert [rows[0], rows[-1]] == [1, length]
    assert len(rows) <= MOST_ROWS
    assert ("are shown." in picture.text) == (length > MOST_ROWS)
    assert_readable(picture)


def test_the_row_in_which_a_line_turns_is_shown() -> None:
    picture = curve(history(loss=[abs(at - 37) + 1.0 for at in range(1, 101)]))
    assert "lowest 1 in epoch 37" in picture.title
    assert ("37", "1") in columns(picture, "epoch", "loss")


def test_a_million_steps_are_a_small_picture() -> None:
    picture = curve([math.sin(at) + 2 for at in range(1_000_000)])
    assert len(picture.html) < 40_000
    assert "1 000 000" in texts(picture)


def test_points_are_marked_until_they_would_run_together() -> None:
    few, many = (curve(history(loss=[1.0 / at for at in range(1, count + 1)])) for count in (10, 200))
    assert few.svg.count("<circle") == 10
    assert many.svg.count("<circle") == 0


def test_powers_of_ten() -> None:
    picture = curve({"a": [1.0, 1e-3, 0.0, 1e-6]}, log=True)
    assert {"1e0", "1e-6"} <= set(texts(picture))
    assert picture.svg.count('class="rule" fill="none"/>') == 2  # a ring for the 0, and the frame
    assert_readable(picture)


@pytest.mark.parametrize(
    ("numbers", "names", "word"),
    [
        (train.History(), (), "there is no number yet"),
        ([], (), "'loss' is no column of numbers"),
        ({}, (), "there is no number yet"),
        (history(loss=[1.0]), ("lost",), "'lost' is no column"),
        (history(loss=[1.0], matrix=[[[1]]]), ("matrix",), "'matrix' is no column"),
        ({"a": ["one"]}, (), "'a' is no column"),
        ({str(at): [1.0] for at in range(MOST_LINES + 1)}, (), "9 lines are more than the 8"),
    ],
)
def test_what_cannot_be_drawn(numbers: Any, names: tuple[str, ...], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        curve(numbers, *names)


def test_an_error_names_the_columns_that_are_there() -> None:
    with pytest.raises(ConfigError, match="there are loss, accuracy, as in"):
        curve(history(loss=[1.0], accuracy=[0.5]), "acuracy")


_SCRIPT = """
from tests.viz.test_curve import FALLS, TURNS, history
from tinyburn import viz
picture = viz.curve(history(loss=FALLS, valid_loss=TURNS))
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second


def test_a_live_curve_is_updated_in_place_and_silent_outside_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    LiveCurve().on_epoch(history(loss=FALLS))
    assert capsys.readouterr().out == ""
    pytest.importorskip("IPython")
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from IPython.utils.capture import capture_output\n"
        "shell = InteractiveShell.instance()\n"
        "from tinyburn import train, viz\n"
        "h, live = train.History(), viz.LiveCurve()\n"
        "with capture_output() as seen:\n"
        "    for value in (2.0, 1.0):\n"
        "        h.rows.append({'loss': value}); live.on_epoch(h)\n"
        "    live.close()\n"
        "print([sorted(o.data) for o in seen.outputs], [bool(o.update) for o in seen.outputs])\n"
        "print(seen.outputs[-1].data['text/plain'].splitlines()[0])\n"
    )
    environment = {**os.environ, "IPYTHONDIR": os.devnull + "-none"}
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    empty, drawn = "['text/plain']", "['text/html', 'text/plain']"
    shown = f"[{empty}, {drawn}, {drawn}, {empty}, {drawn}] [False, True, True, True, False]"
    assert result.stdout.splitlines()[-2:] == [shown, "2 epochs: loss falls from 2 to 1"], result.stderr


def test_a_live_curve_says_what_it_shows() -> None:
    assert repr(LiveCurve()) == "LiveCurve()"
    assert repr(LiveCurve("accuracy", "valid accuracy")) == "LiveCurve('accuracy', 'valid accuracy')"
