"""A student edits a copy of tinyburn while a kernel runs: under ``%autoreload 2`` the next decorator knows of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.code_lines import PACKAGE

SESSION = """
import json, os, sys, time
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
sys.dont_write_bytecode = True

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()


def cell(code):
    done = shell.run_cell(code)
    assert done.success, (code, done.error_in_exec or done.error_before_exec)
    return shell.user_ns.get("seen")


def edit(name, old, new):
    path = folder / "tinyburn" / name
    text = path.read_text(encoding="utf-8")
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    os.utime(path, (time.time() + 10,) * 2)  # a clock that counts in seconds would not see the difference


cell("%load_ext autoreload")
cell("%autoreload 2")
cell("import tinyburn as tb; from tinyburn import Autodiff, NdArray, Tensor; old = Autodiff[NdArray]")
SLOPE = "d = Autodiff[NdArray].device(); x = Tensor.ones((1,), d).require_grad(); y = {}; "
SLOPE += "seen = float(x.grad(y.backward()).into_scalar())"
VALUE = "d = Autodiff[NdArray].device(); x = Tensor.ones((1, 2), d); seen = float(({}).into_scalar())"
found = {"slope before": cell(SLOPE.format("x.sin() * 0.0 + x * 3.0"))}
edit("autodiff/rules.py", "lambda g, a: multiply_no_nan(g, a.cos())", "lambda g, a: g * 5.0")
found["a rule"] = cell(SLOPE.format("x.sin()"))
found["the class is a new one"] = cell("seen = Autodiff[NdArray] is not old and Autodiff[NdArray] is Autodiff[NdArray]")
edit("autodiff/rules.py", "return g / b if b else", "return g * 7.0 if b else")
found["what a rule calls"] = cell(SLOPE.format("x / 2.0"))
edit("backend/ndarray.py", "NumPyArray = a.dot(b)", "NumPyArray = a.dot(b) * 3")
found["a backend's operation"] = cell(VALUE.format("x @ x.transpose()"))
edit("backend/ndarray.py", "a.size // max(total.size, 1), total)", "a.size // max(total.size, 1) / 2, total)")
found["one that is called quietly"] = cell(VALUE.format("x.mean()"))
edit("backend/fused.py", "np.negative(a, out)", "np.multiply(a, 0.0, out)")
found["a kernel"] = cell(VALUE.format("tb.activation.sigmoid(x).max()"))
edit("backend/normalization.py", 'cls.into(weights, "div", weights', 'cls.into(weights, "mul", weights')
found["a default"] = cell(VALUE.format("tb.activation.softmax(x, 1).max()"))
edit("backend/interface.py", '"the error function", cheap=False', '"the error function", cheap=True')
found["a declaration"] = cell("seen = Autodiff[NdArray, tb.BalancedCheckpointing].strategy.recomputes('erf')")
print(json.dumps(found))
"""


def test_an_edit_takes_effect_on_the_next_decorator(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    shutil.copytree(PACKAGE, tmp_path / "tinyburn", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", SESSION, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "slope before": 3.0,
        "a rule": 5.0,
        "the class is a new one": True,
        "what a rule calls": 7.0,
        "a backend's operation": 6.0,
        "one that is called quietly": 2.0,
        "a kernel": 0.5,
        "a default": 2.0,
        "a declaration": True,
    }
