"""What IPython shows of an error of ours: the reader's own lines and the message, and all frames on request."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from tests.support import plain
from tinyburn import Tensor, TinyburnError
from tinyburn.base.errors import readers_frames

SETUP = """
from tinyburn import Module, NdArray, Tensor
x = Tensor.ones((2, 3), NdArray.device())
class Net(Module):
    def forward(self, x):
        return x @ x
"""
CALLS = {
    "an operator": ("y = x + x[:, :2]", "dim 1 is 3 in one and 2 in the other"),
    "a name": ("y = x.view(3, 2)", "write x.reshape((3, 2))"),
    "a call": ("y = x.sum(0)", "write x.sum_dim(0)"),
    "the class": ("y = Tensor([1.0, 2.0])", "from_data"),
    "a model": ("y = Net()(x)", "the inner dims differ"),
}


@pytest.fixture
def shell() -> Iterator[Any]:
    made: Any = InteractiveShell.instance()
    made.colors = "nocolor" if hasattr(made, "colors") else "NoColor"
    made.run_cell(SETUP)
    yield made
    InteractiveShell.clear_instance()


def shown(shell: Any, cell: str) -> str:
    """What a cell that fails prints, without colours."""
    with capture_output() as caught:
        result = shell.run_cell(cell)
    assert isinstance(result.error_in_exec, TinyburnError)
    return re.sub(r"\x1b\[[0-9;]*m", "", caught.stdout + caught.stderr)


@pytest.mark.parametrize("case", CALLS)
def test_a_notebook_shows_the_readers_line_and_the_message(shell: Any, case: str) -> None:
    cell, message = CALLS[case]
    text = shown(shell, cell)
    assert cell in text
    assert message in text
    assert "tinyburn/tensor" not in text
    assert "tinyburn/module" not in text
    assert "all_frames = True" in text
    assert "because" in text.splitlines()[-2] + text.splitlines()[-1] or "hint" in text.splitlines()[-1]


def test_the_readers_own_forward_is_shown(shell: Any) -> None:
    assert "return x @ x" in shown(shell, CALLS["a model"][0])


def test_all_frames_on_request(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TinyburnError, "all_frames", True)
    text = shown(shell, CALLS["an operator"][0])
    assert "tinyburn/tensor/elementwise.py" in text
    assert "not shown" not in text


def test_the_error_itself_keeps_every_frame(shell: Any) -> None:
    """For ``%debug``, and for whoever catches it."""
    with capture_output():
        error = shell.run_cell(CALLS["an operator"][0]).error_in_exec
    assert any("elementwise" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


def test_without_a_shell_it_is_a_plain_traceback() -> None:
    with pytest.raises(TinyburnError) as caught:
        Tensor.ones((2, 3), plain()).sum_dim(5)
    lines = caught.value._render_traceback_()
    assert "sum_dim(5)" in "".join(lines)
    assert not any("tinyburn/tensor" in line for line in lines)


def test_an_error_that_is_inside_alone_keeps_its_frames() -> None:
    assert readers_frames(None) == (None, 0)
