"""The cell magics in a shell of IPython: what they draw, what they leave behind, and what an error looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tinyburn import Autodiff, Meta, NdArray, Tensor, Traced, memory, nn, viz, widgets
from tinyburn.viz import Picture

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
capture = pytest.importorskip("IPython.utils.capture")

SETUP = """
from tinyburn import Autodiff, Device, Distribution, NdArray, Tensor, nn
device = Autodiff[NdArray].device()
device.seed(3)
x = Tensor.ones((16, 8), device)
w = Tensor.full((8, 4), 0.5, device).require_grad()
def divided(number):
    return number / 0
def data(rows):
    return Tensor.ones((rows, 8), device)
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    made: Any = interactiveshell.InteractiveShell.instance()
    made.colors = "nocolor" if hasattr(made, "colors") else "NoColor"
    made.run_cell(SETUP, store_history=True)
    made.run_line_magic("load_ext", "tinyburn")
    yield made
    interactiveshell.InteractiveShell.clear_instance()


def run(shell: Any, cell: str) -> Any:
    """What a cell gives, which must not fail. Nothing but that is shown."""
    with capture.capture_output() as caught:
        result = shell.run_cell(cell, store_history=True)
    result.raise_error()
    assert "Traceback" not in caught.stdout
    return result.result


def failed(shell: Any, cell: str) -> tuple[BaseException, str]:
    """How a cell fails, and what it prints, without colours; its number is that after the last cell."""
    with capture.capture_output() as caught:
        result = shell.run_cell(cell, store_history=True)
    error = result.error_in_exec or result.error_before_exec
    assert error is not None
    return error, re.sub(r"\x1b\[[0-9;]*m", "", caught.stdout + caught.stderr)


def names_of(shell: Any) -> dict[str, Any]:
    """The names of the notebook, without those that IPython keeps for its own ends."""
    return {name: value for name, value in shell.user_ns.items() if not name.startswith("_")}


# The graph


def test_the_graph_of_the_last_line_with_the_names_of_the_cell(shell: Any) -> None:
    picture = run(shell, "%%graph\nh = x @ w\nloss = (h * h).mean()\nloss")
    space = shell.user_ns
    assert picture.svg == viz.graph(space["loss"], h=space["h"], x=space["x"], w=space["w"], loss=space["loss"]).svg
    assert re.findall(r"^\w+", picture.text, re.M)[1:] == ["x", "w", "h", "t1", "loss"]


def test_a_graph_by_name_and_of_several_tensors(shell: Any) -> None:
    by_name = run(shell, "%%graph h\nh = x @ w\nloss = h.mean()")
    assert "1 operation;" in by_name.title
    both = run(shell, "%%graph\n[h.sum(), h.mean()]")
    assert "result" not in both.text
    assert {"loss 1", "loss 2", "h"} <= set(re.findall(r"^(?:loss )?\w+", both.text, re.M))


def test_the_parameters_of_a_module_have_their_names(shell: Any) -> None:
    picture = run(shell, "%%graph\nmodel = nn.LinearConfig(8, 2).init(device)\nmodel(x).sum()")
    assert {"model.weight", "model.bias"} <= set(re.findall(r"^[\w.]+", picture.text, re.M))


def test_what_the_cell_makes_stays_and_what_has_no_graph_gets_no_name(shell: Any) -> None:
    picture = run(shell, "%%graph\nplain = Tensor.ones((2, 2), NdArray.device())\nfinal = (x @ w).sum()\nfinal")
    assert shell.user_ns["final"].shape == (1,)
    assert shell.user_ns["plain"].backend is NdArray
    assert "plain" not in picture.text
    assert shell.user_ns["_"] is picture


def test_a_cell_may_hold_magics_and_end_with_a_comment(shell: Any) -> None:
    assert isinstance(run(shell, "%%graph\n%xmode Context\n\n(x @ w).sum()  # the end\n# of the cell"), Picture)
    assert isinstance(run(shell, "%%graph\nfor _ in range(2):\n    x = x * 1.0\n(x @ w).sum();"), Picture)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%graph\nloss = (x @ w).sum()", "the last line of the cell gives no value"),
        ("%%graph\nloss = (x @ w).sum()\n3", "what the last line of the cell gives is of type int"),
        ("%%graph\n[]", "gives is of type list, and no tensor"),
        ("%%graph lost\nloss = (x @ w).sum()", "there is no 'lost'"),
        ("%%graph number\nnumber = 3", "number is of type int, and no tensor"),
        ("%%graph\nx + x", "nothing was recorded"),
        ("%%graph\nTensor.ones((2,), NdArray.device())", "records no graph"),
    ],
)
def test_what_has_no_graph(shell: Any, cell: str, words: str) -> None:
    before = names_of(shell)
    _, text = failed(shell, cell)
    assert words in text
    assert "hint: " in text
    assert "Cell In" not in text, "the cell has no fault in it"
    assert names_of(shell) == before


# Errors of the cell

ERRORS = {
    "a line": "y = x * 2.0\n1 / 0",
    "the last line, which is an expression": "1 + 1\n(x @ w) / missing",
    "a function of another cell": "y = 1\ndivided(3)",
    "a method of ours": "y = 1\nx @ x",
    "a syntax error": "y = 1\nx @@ x",
    "an indentation error": "y = 1\n    x = 2",
    "an exit of a loop": "for x in range(3):\n    raise KeyboardInterrupt('stopped')",
}


@pytest.mark.parametrize("magic", ["%%graph", "%%memory"])
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_looks_as_in_a_cell_without_a_magic(shell: Any, magic: str, name: str) -> None:
    """Also its line numbers: the line of the magic counts, as a comment in its place would."""
    made = "x = Tensor.ones((16, 8), device)\nw = Tensor.ones((8, 4), device)\n"
    before = names_of(shell)
    error, text = failed(shell, f"{magic}\n{made}{ERRORS[name]}")
    assert names_of(shell) == before
    usual, usual_text = failed(shell, f"#\n{made}{ERRORS[name]}")
    assert type(error).__name__ == type(usual).__name__
    number, following = (int(re.findall(r"In\[(\d+)", each)[0]) for each in (text, usual_text))
    assert following == number + 1
    text = text.replace(f"In[{number}]", f"In[{following}]").replace("Traced[NdArray]", "NdArray")
    assert text.replace(magic, "#") == usual_text


@pytest.mark.parametrize("magic", ["%%graph", "%%memory"])
def test_after_an_error_every_name_is_what_it_was(shell: Any, magic: str) -> None:
    before = names_of(shell)
    failed(shell, f"{magic}\nx = 1\nfresh = 2\ndel data\ndef divided(): pass\n1 / 0")
    after = names_of(shell)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


# The memory

JOB = """
x = Tensor.random((batch_size, 8), Distribution.Normal(0, 1), device)
model = nn.LinearConfig(8, 4).init(device)
hidden = model(x)
loss = (hidden * hidden).mean()
loss.backward()
"""


def test_a_cell_is_counted_as_the_same_lines_in_a_job(shell: Any) -> None:
    """Event for event: what a function's locals hold, and when they let go of it, is what a cell's names hold."""

    def job(device: Any, batch_size: int) -> Any:
        from tinyburn import Distribution

        x = Tensor.random((batch_size, 8), Distribution.Normal(0, 1), device)
        model = nn.LinearConfig(8, 4).init(device)
        hidden = model(x)
        loss = (hidden * hidden).mean()
        return loss.backward()

    report = memory.measure(job, Autodiff[NdArray].device(), 32)
    picture = run(shell, f"%%memory 32\n{JOB}")
    assert (picture.title, picture.text, picture.svg) == (
        viz.memory(report).title,
        viz.memory(report).text,
        viz.memory(report).svg,
    )


def test_a_cell_leaves_nothing_behind(shell: Any) -> None:
    before, device = names_of(shell), shell.user_ns["device"]
    state = device.random_state()
    run(shell, f"%%memory 4\n{JOB}")
    assert names_of(shell) == before
    assert shell.user_ns["device"] is device
    assert device.random_state() == state


def test_functions_of_earlier_cells_make_their_tensors_on_the_device_that_is_counted(shell: Any) -> None:
    assert run(shell, "%%memory\ndata(32)").title.startswith("Peak 1 024 B")


def test_the_notebooks_own_batch_size_and_one_for_the_cell(shell: Any) -> None:
    shell.user_ns["batch_size"] = 2
    own, other = (run(shell, f"{magic}\ndata(batch_size)") for magic in ("%%memory", "%%memory 3"))
    assert own.title.startswith("Peak 64 B")
    assert other.title.startswith("Peak 96 B")
    assert shell.user_ns["batch_size"] == 2


@pytest.mark.parametrize("backend", [NdArray, Autodiff[Meta]], ids=["no graph", "shapes only"])
def test_other_devices(shell: Any, backend: Any) -> None:
    shell.user_ns["device"] = backend.device()
    assert run(shell, "%%memory\ndata(32)").title.startswith("Peak 1 024 B")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%memory\n1 + 1", "nothing in the cell was made on `device`"),
        ("%%memory\nTensor.ones((2,), NdArray.device())", "nothing in the cell was made on `device`"),
        ("%%memory\ndevice = Autodiff[NdArray].device()\ndata(3)", "the cell makes a `device` of its own"),
        ("%%memory many\ndata(3)", "'many' is not a batch size"),
        ("%%memory 0\ndata(3)", "'0' is not a batch size"),
    ],
)
def test_what_cannot_be_counted(shell: Any, cell: str, words: str) -> None:
    before = names_of(shell)
    _, text = failed(shell, cell)
    assert words in text
    assert "hint: " in text
    assert "Cell In" not in text
    assert names_of(shell) == before


@pytest.mark.parametrize(("value", "words"), [(None, "`device` is not there"), (3, "`device` is of type int")])
def test_a_notebook_without_a_device(shell: Any, value: Any, words: str) -> None:
    shell.run_cell("del device" if value is None else f"device = {value}")
    _, text = failed(shell, "%%memory\nTensor.ones((2,), NdArray.device())")
    assert words in text
    assert "write device = Autodiff[NdArray].device()" in text


def test_tensors_of_earlier_cells_are_out_of_sight_since_nobody_would_count_them(shell: Any) -> None:
    _, text = failed(shell, "%%memory\ny = Tensor.ones((2, 8), device) @ w")
    assert "name 'w' is not defined" in text
    assert "`w` is from an earlier cell, and %%memory counts only what this cell makes" in text
    shell.run_cell("several = [w]")
    _, text = failed(shell, "%%memory\ny = Tensor.ones((2, 8), device) @ several[0]")
    assert "the backends differ" in text
    assert "Something here is from an earlier cell" in text


# The steps

STEPS = """
a = Tensor.full((1,), 3.0, device).require_grad()
loss = (a * 2.0) ** 2
grads = loss.backward()
"""


def test_the_steps_of_a_cell_with_its_names(shell: Any) -> None:
    """Its four operations forward and back are those of the same lines on a traced device."""
    traced: Any = Autodiff[Traced[NdArray]].device()
    a = Tensor.full((1,), 3.0, traced).require_grad()
    loss = (a * 2.0) ** 2
    grads = loss.backward()
    assert a.grad(grads) is not None
    before = names_of(shell)
    for shown in (run(shell, f"%%step\n{STEPS}loss"), run(shell, f"%%step loss\n{STEPS}")):
        assert isinstance(shown, widgets.Live)
        assert shown.still.text == viz.stepper(loss, a=a, loss=loss).text
    assert names_of(shell) == before


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (f"%%step\n{STEPS}", "the last line of the cell gives no value"),
        (f"%%step\n{STEPS}[loss, a]", "the result is of type list"),
        ("%%step\n(x @ w).mean()", "`x` is from an earlier cell, and %%step counts only what this cell makes"),
        ("%%step\ndata(3)", "no tensor that it was computed from is tracked"),
    ],
)
def test_what_has_no_steps(shell: Any, cell: str, words: str) -> None:
    before = names_of(shell)
    _, text = failed(shell, cell)
    assert words in text
    assert names_of(shell) == before


# The magics themselves


def test_each_magic_explains_itself(shell: Any) -> None:
    for name in ("graph", "memory", "step"):
        words = shell.find_cell_magic(name).__doc__
        assert f"%%{name} " in words
        assert words.startswith("Runs the cell")
