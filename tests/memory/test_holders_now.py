"""What keeps the memory of a program that runs: its names, what IPython keeps, and the graphs behind them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tinyburn import Autodiff, BackendMismatch, BalancedCheckpointing, NdArray, Tensor, Traced, Wgpu
from tinyburn.memory import holders_now

PROGRAM = """
from tinyburn import *
device = {backend}.device()
x = Tensor.ones((8, 4), device).require_grad()
loss = (x.exp() * 2.0).sum()
shared = [loss]
held = {{h.made_by.op: h.names for h in memory.holders_now(device)}}
total = sum(h.bytes for h in memory.holders_now(device)) == device.memory_usage().bytes_in_use
"""


def run(program: str) -> dict[str, Any]:
    """The names of a program, run as a module of its own."""
    names: dict[str, Any] = {}
    exec(compile(program, "program.py", "exec"), names)
    return names


@pytest.mark.parametrize("backend", ["Autodiff[Traced[NdArray]]", "Autodiff[Traced[Meta]]", "Autodiff[Traced[Wgpu]]"])
def test_a_name_keeps_its_tensor_and_what_its_graph_has_saved(backend: str) -> None:
    if "Wgpu" in backend and Wgpu.why_unavailable() is not None:
        pytest.skip(str(Wgpu.why_unavailable()))
    names = run(PROGRAM.format(backend=backend))
    assert names["total"]
    assert names["held"] == {
        "full": ("x in <module>",),
        "exp": ("the graph of loss in <module>", "the graph of shared in <module>"),  # its rule names its result
        "sum": ("loss in <module>", "shared in <module>"),
    }


def test_what_a_recipe_keeps_is_the_graphs_too() -> None:
    """Under balanced checkpointing the graph keeps the input, from which exp is computed again."""
    names = run(PROGRAM.format(backend="Autodiff[Traced[NdArray], BalancedCheckpointing]"))
    assert names["total"]
    assert "the graph of loss in <module>" in names["held"]["full"]


def test_after_backward_the_graph_keeps_nothing() -> None:
    names = run(PROGRAM.format(backend=Autodiff[Traced[NdArray]].__name__) + "\nloss.backward()\n")
    now = {h.made_by.op: h.names for h in eval("memory.holders_now(device)", names)}
    assert "exp" not in now
    assert now["sum"] == ("loss in <module>", "shared in <module>")


def test_what_ipython_keeps_is_named_and_the_way_out_works() -> None:
    pytest.importorskip("IPython")
    script = """
import gc
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_length=0, colors="NoColor")
shell.run_cell("from tinyburn import *\\ndevice = Autodiff[Traced[NdArray]].device()")
shell.run_cell("def loss(): return Tensor.ones((8, 4), device).require_grad().exp().sum()")

def bytes_after(*cells):
    for cell in cells:
        assert shell.run_cell(cell, store_history=True).success
    shell.run_cell("pass")  # IPython keeps the result of the last cell
    gc.collect()
    return shell.user_ns["device"].memory_usage().bytes_in_use

bytes_after("named = loss()\\nnamed")
shell.run_cell("names = [n for h in memory.holders_now(device) if h.made_by.op == 'exp' for n in h.names]")
print("NAMES", sorted(shell.user_ns["names"]))
print("BYTES", bytes_after("%xdel named"))
print("BYTES", bytes_after("loss()", "%xdel _"))
print("BYTES", bytes_after("loss();"))
print("BYTES", bytes_after("loss().into_scalar()"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    (names,) = [line for line in lines if line.startswith("NAMES")]
    for name in ("named", "_", "_1", "Out"):
        assert f"'the graph of {name} in <module>'" in names
    assert [line for line in lines if line.startswith("BYTES")] == ["BYTES 0"] * 4


def test_a_device_without_a_log_is_one_clear_error() -> None:
    for device in (NdArray.device(), Autodiff[NdArray, BalancedCheckpointing].device()):
        with pytest.raises(BackendMismatch, match="Traced"):
            holders_now(device)
    assert holders_now(Traced[NdArray].device()) == ()
    with pytest.raises(BackendMismatch):
        holders_now(Tensor)  # type: ignore[arg-type]
