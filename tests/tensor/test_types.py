"""What Burn rejects at compile time, two Python type checkers reject before the program runs.

Each wrong program is one line; the checkers read all of them in one file, and must complain on just those lines.
The right programs stand in the same file, so the checkers must also accept them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tinyburn import TinyburnError

PREAMBLE = """\
from typing import Any

from tinyburn import (
    Autodiff, Bool, D1, D2, D3, Device, Distribution, Float, Gradients, Int, Meta, NdArray, Tensor, Traced, activation,
)

plain: Device[NdArray] = NdArray.device()
meta: Device[Meta] = Meta.device()
tracked: Device[Autodiff[NdArray]] = Autodiff[NdArray].device()
vector = Tensor.ones((4,), plain)
matrix = Tensor.ones((16, 4), plain)
cube = Tensor.ones((2, 16, 4), plain)
shape_only = Tensor.ones((16, 4), meta)
w = Tensor.ones((16, 4), tracked).require_grad()
labels = Tensor.arange(0, 4, plain)
truths = vector > 0.0
loss = (w * w).sum()
grads = loss.backward(retain_graph=True)
"""

WRONG = {
    "ranks: add": "matrix + vector",
    "ranks: sub": "vector - cube",
    "ranks: mul": "matrix * cube",
    "ranks: div": "matrix / vector",
    "ranks: matmul": "matrix @ cube",
    "ranks: compare": "matrix < vector",
    "ranks: method": "matrix.add(vector)",
    "ranks: maximum": "matrix.maximum(vector)",
    "ranks: after sum": "matrix + matrix.sum()",
    "ranks: after unsqueeze": "matrix + vector.unsqueeze().unsqueeze()",
    "ranks: after squeeze": "matrix + matrix.squeeze(0)",
    "ranks: after reshape": "vector + vector.reshape((2, 2))",
    "ranks: after flatten": "matrix + matrix.flatten()",
    "ranks: a mask of another rank": "matrix.mask_fill(truths, 0.0)",
    "ranks: an annotation": "wrong_rank: Tensor[NdArray, D1] = matrix",
    "ranks: from nested lists": "vector + Tensor.from_data([[1.0], [2.0]], plain)",
    "ranks: random": "vector + Tensor.random((2, 2), Distribution.Default, plain)",
    "ranks: eye": "vector + Tensor.eye(4, plain)",
    "ranks: select by a matrix": "matrix.select(0, labels.unsqueeze())",
    "backends: add": "matrix + shape_only",
    "backends: add tracked": "matrix + w",
    "backends: matmul": "shape_only @ matrix",
    "backends: an annotation": "wrong_backend: Tensor[Meta, D2] = matrix",
    "backends: a device of another": "wrong_device: Tensor[Meta, D2] = Tensor.ones((1, 1), plain)",
    "backends: an annotated device": "other_device: Device[Meta] = plain",
    "autodiff: backward on a plain backend": "matrix.sum().backward()",
    "autodiff: inner of a plain backend": "matrix.inner()",
    "autodiff: grad of a plain tensor": "matrix.grad(grads)",
    "autodiff: a gradient is on the inner backend": "outside: Tensor[Autodiff[NdArray], D2] | None = w.grad(grads)",
    "autodiff: a gradient of another backend": "loss.backward(gradient=Tensor.ones((1,), meta))",
    "autodiff: a gradient of another rank": "loss.backward(gradient=matrix)",
    "autodiff: an update across backends": "w - w.inner() * 0.1",
    "kinds: labels are no floats": "wrong_kind: Tensor[NdArray, D1, Float] = labels",
    "kinds: add labels to numbers": "vector + labels",
    "kinds: a mask of numbers": "vector.mask_fill(vector, 0.0)",
    "kinds: indices of numbers": "vector.gather(0, vector)",
    "kinds: backward of labels": "Tensor.arange(0, 4, tracked).backward()",
    "kinds: relu of labels": "activation.relu(labels)",
    "operands: a string": "matrix + '1'",
    "operands: a list": "matrix @ [[1.0]]",
    "operands: None": "matrix * None",
}

RIGHT = {
    "rank": "a: Tensor[NdArray, D2] = matrix + vector.unsqueeze()",
    "rank by rank": "b: Tensor[NdArray, D3] = matrix.unsqueeze() * cube",
    "numbers": "c: Tensor[NdArray, D2] = 2 * matrix - 1.5 / matrix ** 2 % 3",
    "reductions": "d: Tensor[NdArray, D1] = cube.mean() + matrix.sum()",
    "kept dims": "e: Tensor[NdArray, D2] = matrix - matrix.mean_dim(0)",
    "comparisons": "f: Tensor[NdArray, D2, Bool] = matrix > 0.0",
    "indices": "g: Tensor[NdArray, D1, Int] = labels + 1",
    "gather": "h: Tensor[NdArray, D1] = vector.gather(0, labels)",
    "select": "i: Tensor[NdArray, D2] = matrix.select(0, labels)",
    "mask": "j: Tensor[NdArray, D1] = vector.mask_where(truths, vector * 2.0)",
    "gradient": "k: Tensor[NdArray, D2] | None = w.grad(grads)",
    "gradients": "l: Gradients[NdArray] = loss.backward()",
    "given gradient": "loss.backward(gradient=Tensor.ones((1,), plain))",
    "inner": "m: Tensor[NdArray, D2] = w.inner() - 0.1",
    "from inner": "n: Tensor[Autodiff[NdArray], D2] = Tensor.from_inner(matrix)",
    "to device": "o: Tensor[Meta, D2] = matrix.to_device(meta)",
    "reshape": "p: Tensor[NdArray, D3] = matrix.reshape((4, 4, 4))",
    "matmul": "q: Tensor[NdArray, D2] = matrix @ matrix.transpose()",
    "slices": "r: Tensor[NdArray, D2] = matrix[1:3, ::2]",
    "activation": "s: Tensor[NdArray, D2] = activation.softmax(activation.relu(matrix), 1)",
    "lists": "t: Tensor[NdArray, D2] = Tensor.from_data([[1.0, 2.0]], plain)",
    "whole lists": "u: Tensor[NdArray, D1] = Tensor.from_data([1, 2], plain)",
    "casts": "v: Tensor[NdArray, D1] = labels.float() + truths.float()",
    "random": "x: Tensor[NdArray, D2] = Tensor.random((2, 2), Distribution.Normal(0, 1), plain)",
    "unknown shapes": "y: Any = Tensor.zeros(tuple([1, 4]), plain) + matrix",
    "decorators": "z: Tensor[Autodiff[Autodiff[NdArray]], D2] = Tensor.from_inner(w)",
}


def program() -> tuple[str, dict[int, str]]:
    """The file, and the name of the program on each line that holds one."""
    lines: list[str] = [*PREAMBLE.rstrip().split("\n")]
    names: dict[int, str] = {}
    for name, code in [*WRONG.items(), *RIGHT.items()]:
        lines.append(code)
        names[len(lines)] = name
    return "\n".join(lines) + "\n", names


def mypy_lines(path: Path) -> set[int]:
    root = Path(__file__).parents[2]
    options = ["--strict", "--no-error-summary", "--show-error-codes", "--hide-error-context", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(path.parent / "mypy"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(rf"{re.escape(path.name)}:(\d+): error", done.stdout)
    return {int(line) for line in found}


def pyright_lines(path: Path) -> set[int]:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)["generalDiagnostics"]
    return {row["range"]["start"]["line"] + 1 for row in report if row["severity"] == "error"}


CHECKERS = {"mypy": mypy_lines, "pyright": pyright_lines}


@pytest.fixture(scope="module", params=CHECKERS)
def rejected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the programs that a checker complains about; "preamble" for any other line."""
    source, names = program()
    path = tmp_path_factory.mktemp("types") / "programs.py"
    path.write_text(source, encoding="utf-8")
    return {names.get(line, "preamble") for line in CHECKERS[request.param](path)}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_rejected(name: str, rejected: set[str]) -> None:
    assert name in rejected, WRONG[name]


@pytest.mark.parametrize("name", [*RIGHT, "preamble"])
def test_a_right_program_is_accepted(name: str, rejected: set[str]) -> None:
    assert name not in rejected, RIGHT.get(name)


RUNNABLE = [name for name, code in WRONG.items() if not re.match(r"\w+: ", code)]


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_wrong_program_fails_when_it_runs_too(name: str) -> None:
    """The same promise for whoever uses no checker; an annotation alone does nothing at run time."""
    names: dict[str, object] = {}
    exec(PREAMBLE, names)
    with pytest.raises((TinyburnError, TypeError)):
        exec(WRONG[name], names)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_runs(name: str) -> None:
    names: dict[str, object] = {}
    exec(PREAMBLE, names)
    exec(RIGHT[name], names)
