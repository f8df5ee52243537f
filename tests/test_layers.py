"""The folders are floors: each imports only from those below it, so that each can be read without what stands above.

Every import counts: also one for type checkers alone, and one inside a function.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.code_lines import PACKAGE, code_lines

FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in FILES]

# From the ground up. `activation`, `linalg` and `grid` are a file of functions on tensors each, and `text` is the
# notebooks' name for base's; `magics` are a notebook's way to the pictures, and the command line stands on everything.
FLOORS = [
    "base",
    "text",
    "backend",
    "tensor",
    "activation",
    "linalg",
    "grid",
    "autodiff",
    "record",
    "module",
    "nn",
    "optim",
    "memory",
    "data",
    "parallel",
    "train",
]
FLOORS += ["viz", "widgets", "onnx", "magics", "course", "cli", "__main__"]

PARTS_OF_TENSOR = "tinyburn.tensor"
"""The one folder in which files may import each other in a circle: class Tensor is written in several files."""

HEAVY = "cupy wgpu matplotlib graphviz graphviz_pure onnx IPython jupyterlab jupyter_core ipywidgets nbformat pytest"
HEAVY += " mpi4py safetensors fsspec pyarrow pandas polars narwhals PIL sklearn multiprocessing"
LATER = "tinyburn.backend.cuda tinyburn.backend.wgpu tinyburn.backend.gpus tinyburn.cli tinyburn.data tinyburn.record"
LATER += " tinyburn.memory tinyburn.nn tinyburn.optim tinyburn.linalg tinyburn.grid tinyburn.train tinyburn.viz"
LATER += " tinyburn.widgets tinyburn.magics tinyburn.parallel"
SOMETIMES = "json pathlib secrets numpy.typing"
"""Modules of Python and of NumPy that only some programs need."""


def module_name(path: Path, package: Path = PACKAGE) -> str:
    parts = ["tinyburn", *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imported(path: Path, modules: set[str], package: Path = PACKAGE) -> Iterator[str]:
    """Each module of tinyburn that a file names in an import; a name that a package hands on is the package's."""
    folder = ["tinyburn", *path.relative_to(package).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            start = folder[: len(folder) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            for name in (f"{source}.{alias.name}" for alias in node.names):
                if name in modules or source in modules:
                    yield name if name in modules else source


MODULES = {module_name(path) for path in FILES}
IMPORTS = {module_name(path): sorted(set(imported(path, MODULES))) for path in FILES}


def circle_in(graph: Mapping[str, list[str]]) -> list[str]:
    """The nodes of a way that comes back to where it started; empty if there is none."""
    done: set[str] = set()
    for start in graph:
        way: list[tuple[str, Iterator[str]]] = [(start, iter(graph[start]))]
        on_it = {start}
        while way:
            node, following = way[-1]
            target = next((other for other in following if other not in done and other in graph), None)
            if target is None:
                done.add(node)
                on_it.discard(node)
                way.pop()
            elif target in on_it:
                nodes = [name for name, _ in way]
                return [*nodes[nodes.index(target) :], target]
            else:
                on_it.add(target)
                way.append((target, iter(graph[target])))
    return []


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_floor_imports_only_from_those_below_it(path: Path) -> None:
    name = module_name(path)
    floor = floor_of(name)
    found = {floor_of(module) for module in IMPORTS[name]} - {"__init__"}
    if floor == "__init__":
        assert not found & {"cli", "__main__"}
    else:
        assert floor in FLOORS, f"{floor} is not in the list of floors"
        assert found <= set(FLOORS[: FLOORS.index(floor) + 1])


def test_no_folders_import_each_other() -> None:
    """What the floors say, without their list."""
    folders: dict[str, list[str]] = {}
    for name, targets in IMPORTS.items():
        if name != "tinyburn":
            others = {floor_of(target) for target in targets} - {floor_of(name), "__init__"}
            folders.setdefault(floor_of(name), []).extend(sorted(others))
    assert circle_in(folders) == []


def test_no_files_import_each_other_but_the_parts_of_class_tensor() -> None:
    outside = {name: targets for name, targets in IMPORTS.items() if not name.startswith(PARTS_OF_TENSOR)}
    assert circle_in(outside) == []
    assert circle_in(IMPORTS), "the parts of class Tensor name it, so there is a circle to be allowed"


def printed_by(script: str) -> str:
    """What a program prints in a process of its own, where nothing is imported yet."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("names", [HEAVY, LATER, SOMETIMES], ids=["heavy", "later", "sometimes"])
def test_importing_tinyburn_loads_nothing_that_only_some_programs_need(names: str) -> None:
    loaded = "import numpy, sys; before = {*sys.modules}; import tinyburn; new = {*sys.modules} - before"
    assert printed_by(f"{loaded}; print([name for name in {names.split()} if name in new])") == "[]\n"


@pytest.mark.parametrize("name", ["tinyburn.memory", "tinyburn.data", "tinyburn.Cuda", "tinyburn.backend.Wgpu"])
@pytest.mark.parametrize(
    "script",
    [
        "import {package}; print({package}.{name})",
        "from {package} import {name}; print({name})",
        "from {package} import *; print({name})",
        "import {package}; print('{name}' in dir({package}), '{name}')",
    ],
)
def test_what_is_loaded_later_is_there_under_its_name(name: str, script: str) -> None:
    """In a process in which nobody has asked for it before."""
    package, _, last = name.rpartition(".")
    printed = printed_by(script.format(package=package, name=last))
    assert last in printed
    assert "False" not in printed


def test_the_import_reader_sees_relative_late_dotted_and_type_imports(tmp_path: Path) -> None:
    """The reader itself: what it overlooked, the tests above would not forbid."""
    folder = tmp_path / "nn"
    folder.mkdir()
    source = (
        "from typing import TYPE_CHECKING\n"
        "import tinyburn.base.shape\n"
        "from ..memory import measure, MemoryReport\n"
        "from tinyburn import viz\n"
        "from . import linear\n"
        "if TYPE_CHECKING:\n    from tinyburn.train import fit\n"
        "def late():\n    from ..onnx.reader import read\n"
    )
    (folder / "example.py").write_text(source, encoding="utf-8")
    names = "base.shape memory memory.measure viz nn.linear train onnx.reader"
    modules = {f"tinyburn.{name}" for name in names.split()}
    assert set(imported(folder / "example.py", modules, tmp_path)) == modules


@pytest.mark.parametrize(
    ("graph", "circle"),
    [
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"]),
        ({"a": ["a"]}, ["a", "a"]),
    ],
)
def test_a_circle_is_found(graph: dict[str, list[str]], circle: list[str]) -> None:
    assert circle_in(graph) == circle


def test_lines_of_code_are_counted_without_docstrings_comments_and_blanks(tmp_path: Path) -> None:
    source = '''"""A docstring
of two lines."""

from x import (  # counts as three
    y,
)

# a comment
NAME = """text that
is a value"""  # two lines
"""What NAME is: a docstring too."""


def f(a):  # one
    """Another."""
    return a  # one
'''
    path = tmp_path / "example.py"
    path.write_text(source, encoding="utf-8")
    assert code_lines(path) == 3 + 2 + 2
