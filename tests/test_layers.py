"""The folders are layers: each imports only from those above it, so that each can be read without what comes later."""

from __future__ import annotations

import ast
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tinyburn"
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in FILES]

# design.md's list. `activation` is one file of functions on tensors; the command line stands on everything.
LAYERS = ["tensor", "activation", "backend", "autodiff", "module", "nn", "optim", "data", "train", "record", "onnx"]
LAYERS += ["memory", "viz", "cli", "__main__"]
LEAVES = {"text", "course"}  # these import nothing of tinyburn, so anybody may import them

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 25

HEAVY = "cupy wgpu matplotlib graphviz graphviz_pure onnx IPython jupyterlab jupyter_core ipywidgets nbformat pytest"


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """The parts of tinyburn that a file imports anywhere, inside functions too, but not for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    package = ["tinyburn", *path.relative_to(PACKAGE).parent.parts]
    modules: list[str] = []
    for node in ast.walk(tree):
        if node in only_for_types:
            continue
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            modules += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parts = [module.split(".") for module in modules]
    return {names[1] for names in parts if names[0] == "tinyburn" and len(names) > 1} & {*LAYERS, *LEAVES}


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def code_lines(path: Path) -> set[int]:
    """The numbers of the lines that hold code: not blank, and not a comment alone."""
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in silent:
                lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, code: set[int]) -> int:
    """Lines of code from ``def`` to the end, without the docstring."""
    lines = code & set(range(function.lineno, (function.end_lineno or function.lineno) + 1))
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= set(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return len(lines)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_layer_imports_only_from_those_above_it(path: Path):
    layer = layer_of(path)
    if layer in LEAVES:
        allowed: set[str] = set()
    elif layer == "__init__":
        allowed = {*LAYERS, *LEAVES} - {"cli", "__main__"}
    else:
        assert layer in LAYERS, f"{layer} is not in design.md's list of layers"
        allowed = {*LAYERS[: LAYERS.index(layer) + 1], *LEAVES}
    assert imported_layers(path) <= allowed


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_can_be_read_in_one_sitting(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES
    code = code_lines(path)
    too_long = {f.name: body_lines(f, code) for f in functions(path) if body_lines(f, code) > MAX_FUNCTION_LINES}
    assert too_long == {}


def test_importing_tinyburn_loads_nothing_heavier_than_numpy():
    script = f"import sys, tinyburn; print([name for name in {HEAVY.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_import_reader_sees_relative_late_and_dotted_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The reader itself: what it overlooked, the test above would not forbid."""
    folder = tmp_path / "nn"
    folder.mkdir()
    source = (
        "from typing import TYPE_CHECKING\n"
        "import tinyburn.base.shape\n"
        "from ..memory import measure\n"
        "from tinyburn import viz\n"
        "from . import linear\n"
        "if TYPE_CHECKING:\n    from tinyburn import train\n"
        "def late():\n    from ..onnx.reader import read\n"
    )
    (folder / "example.py").write_text(source, encoding="utf-8")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert imported_layers(folder / "example.py") == {"tensor", "memory", "viz", "nn", "onnx"}
