"""The stepper's controls: each of them leads to the same step, and a notebook stores the still picture of it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_notebook, writes

from tests.viz.examples import new_device, training_step
from tests.viz.test_steps import line_squared, traced
from tinyburn import BackendMismatch, Tensor, viz, widgets
from tinyburn.cli import main
from tinyburn.widgets.live import HINT, VIEW

PROGRAM = """\
import tinyburn as tb
device = tb.RunConfig(trace=True).init()
w = tb.Tensor.from_data([3.0], device).require_grad()
loss = (w * 2.0) ** 2
grads = loss.backward()
tb.widgets.stepper(loss, w=w)
"""


def made() -> tuple[widgets.Live, viz.Stepper]:
    loss, names = line_squared(traced())
    loss.backward()
    return widgets.stepper(loss, **names), viz.stepper(loss, **names)


def named(shown: widgets.Live, kind: str, words: str = "") -> Any:
    """The control of a class, with these words on it."""
    (found,) = [
        each for each in shown.controls.row if type(each).__name__ == kind and words in (each.description or words)
    ]
    return found


def step_of(shown: widgets.Live) -> str:
    return shown.widget.children[2].value


def test_it_starts_at_the_first_step_and_its_still_picture_is_the_strip() -> None:
    shown, picture = made()
    assert step_of(shown) == picture.frames[0].html
    assert (shown.still.title, shown.still.text, shown.still.svg) == (picture.title, picture.text, picture.svg)


def test_every_control_leads_to_a_step() -> None:
    shown, picture = made()
    named(shown, "IntSlider").value = 7
    assert step_of(shown) == picture.frames[6].html
    named(shown, "BoundedIntText").value = 3
    assert step_of(shown) == picture.frames[2].html
    named(shown, "Button", "Next step").click()
    assert step_of(shown) == picture.frames[3].html
    named(shown, "Button", "Previous step").click()
    named(shown, "Button", "Previous step").click()
    assert step_of(shown) == picture.frames[1].html
    named(shown, "Play").value = 12
    assert step_of(shown) == picture.frames[11].html
    assert named(shown, "BoundedIntText").value == named(shown, "IntSlider").value == 12


def test_the_buttons_stop_at_both_ends() -> None:
    shown, picture = made()
    _ = shown.widget
    named(shown, "Button", "Previous step").click()
    assert step_of(shown) == picture.frames[0].html
    named(shown, "IntSlider").value = len(picture.frames)
    named(shown, "Button", "Next step").click()
    assert step_of(shown) == picture.frames[-1].html


def test_play_and_pause_are_one_button_with_a_name() -> None:
    """The clock's own buttons are pictures without a name, so it is hidden."""
    shown, _ = made()
    button, clock = named(shown, "ToggleButton"), named(shown, "Play")
    assert (button.description, clock.playing, clock.layout.display) == ("Play", False, "none")
    button.value = True
    assert (button.description, clock.playing) == ("Pause", True)
    clock.playing = False  # as the clock does at the end
    assert (button.description, button.value) == ("Play", False)


def test_every_control_that_is_seen_has_a_name() -> None:
    shown, _ = made()
    names = {type(each).__name__: each.description for each in shown.controls.row if each.layout.display != "none"}
    assert names == {"Button": "Next step", "BoundedIntText": "Step", "IntSlider": "or slide", "ToggleButton": "Play"}


def test_errors_come_at_once() -> None:
    loss, names = training_step(new_device())
    with pytest.raises(BackendMismatch, match="writes no log"):
        widgets.stepper(loss, **names)
    with pytest.raises(BackendMismatch, match="writes no log"):
        widgets.stepper(Tensor.ones((1,), new_device()).require_grad() * 2.0)


# In a notebook


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook with a stepper in it, as `tinyburn notebooks run` stores it."""
    path = tmp_path_factory.mktemp("notebook") / "page.ipynb"
    path.write_text(writes(new_notebook(cells=[new_code_cell(PROGRAM)])), encoding="utf-8")
    assert main(["notebooks", "run", str(path)]) == 0
    return path


def test_a_second_run_changes_nothing(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notebooks", "run", str(stored)]) == 0
    assert main(["notebooks", "check", str(stored)]) == 0
    assert capsys.readouterr().out == f"{stored}: unchanged\n{stored}: up to date\n"


def test_what_is_stored_is_the_still_picture_and_a_hint(stored: Path) -> None:
    notebook = json.loads(stored.read_text(encoding="utf-8"))
    still, hint = notebook["cells"][0]["outputs"]
    assert set(still["data"]) == {"text/plain", "text/html"}
    assert "".join(still["data"]["text/plain"]).startswith("7 steps: 2 operations forward")
    assert hint["data"] == {"text/plain": [HINT]}
    assert "widgets" not in notebook["metadata"]
    assert VIEW not in stored.read_text(encoding="utf-8")
    assert stored.stat().st_size < 2_000_000


def test_a_page_made_of_a_notebook_that_was_saved_while_it_ran_shows_the_still_picture(stored: Path) -> None:
    """JupyterLab stores the view and not the state: nbconvert then takes the other forms."""
    from nbconvert import HTMLExporter

    notebook = json.loads(stored.read_text(encoding="utf-8"))
    notebook["cells"][0]["outputs"][1]["data"][VIEW] = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}
    saved = stored.with_name("saved.ipynb")
    saved.write_text(json.dumps(notebook), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that nbconvert uses
        page, _ = HTMLExporter().from_filename(str(saved))
    assert '<img alt="7 steps: 2 operations forward' in page
    assert HINT in page
    assert f'type="{VIEW}"' not in page
