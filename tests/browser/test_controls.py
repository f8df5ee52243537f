"""The finder of controls itself: what it overlooked, no lesson would be held to."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Page

from .controls import Controls, check_controls
from .jupyterlab import KERNEL, Notebook, opened
from .server import Lab

pytestmark = pytest.mark.browser

FOLLOW = """\
from ipywidgets import *

def followed(control, trait="value"):
    text = HTML("at the start")
    control.observe(lambda change: setattr(text, "value", f"is {change.new}"), trait)
    return VBox([control, text])
"""
CONTROLS = {
    "IntSlider(value=3, max=9, description='size')": ("slider", "size", 3),
    "IntSlider(value=9, max=9, description='size')": ("slider", "size", 9),
    "SelectionSlider(options=['a', 'b'], description='which')": ("slider", "which", 0),
    "IntText(value=3, description='count')": ("spinbutton", "count", 3),
    "Dropdown(options=['a', 'b'], description='which')": ("combobox", "which", "a"),
    "Select(options=['a', 'b'], description='which')": ("listbox", "which", None),
    "Checkbox(description='keep')": ("checkbox", "keep", "false"),
    "ToggleButton(description='keep')": ("button", "keep", None),
    "Text(description='name')": ("textbox", "name", None),
}
BACK_AND_NEXT = """\
back, next, text = Button(description="Back", disabled=True), Button(description="Next"), HTML("step 0")

def go(button):
    back.disabled, next.disabled = button is back, button is next
    text.value = "step 0" if button is back else "step 1"

back.on_click(go)
next.on_click(go)
HBox([back, next, text])
"""


def notebook_of(page: Page, lab: Lab, *sources: str) -> Notebook:
    """A new notebook with these cells, after a run."""
    cells = [nbformat.v4.new_code_cell(source) for source in (FOLLOW, *sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), lab.home / "controls.ipynb")
    notebook = opened(page, "controls.ipynb", kernel=True)
    notebook.run()
    return notebook


def test_each_kind_is_found_named_and_moved(page: Page, lab: Lab) -> None:
    notebook = notebook_of(page, lab, *[f"followed({control})" for control in CONTROLS], BACK_AND_NEXT)
    found = check_controls(notebook)
    assert [(one.role, one.name, one.value) for one in found[:-2]] == list(CONTROLS.values())
    assert [one.name for one in found[-2:]] == ["Back", "Next"]
    controls = Controls(notebook)
    assert [one.value for one in controls.found()[:2]] == [4, 8]
    assert "is 4" in [name for _, name, *_ in controls.said(0)]


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [("Button(description='Go')", "no key changes anything"), ("followed(IntSlider())", "no name: .*role='slider'")],
    ids=["a button that does nothing", "a slider without a name"],
)
def test_a_control_that_fails_is_named(page: Page, lab: Lab, cell: str, complaint: str) -> None:
    notebook = notebook_of(page, lab, cell)
    with pytest.raises(AssertionError, match=complaint):
        check_controls(notebook)


def test_a_notebook_without_controls_has_none(page: Page, lab: Lab) -> None:
    assert check_controls(notebook_of(page, lab, "HTML('text')")) == []
