"""What Burn rejects at compile time, two Python type checkers reject before the program runs, and the program after.

All programs of `programs.py` stand in one file, each in a function of its own, so that each checker runs once.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Any

import pytest

from tinyburn import NdArray, Tensor

from .programs import PREAMBLE, RIGHT, WRONG

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

REVEAL = "from typing_extensions import reveal_type"


@dataclass
class Said:
    """What a checker says of each program: the codes of its errors, and the type that it reveals.

    The programs are under their names; "preamble" is any other line.
    """

    errors: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def one_file() -> tuple[str, dict[int, str]]:
    """The file, and the name of the program on each of its lines."""
    lines = [REVEAL, *PREAMBLE.rstrip().split("\n")]
    names: dict[int, str] = {}
    right = {name: _revealed(program.code) for name, program in RIGHT.items()}
    for name, code in [*((name, program.code) for name, program in WRONG.items()), *right.items()]:
        lines.append(f"def program_{len(lines)}() -> None:")
        for line in code.rstrip().split("\n"):
            lines.append(f"    {line}")
            names[len(lines)] = name
    return "\n".join(lines) + "\n", names


def _revealed(code: str) -> str:
    *before, last = code.rstrip().split("\n")
    return "\n".join([*before, f"reveal_type({last})"])


def ask_mypy(path: Path, names: dict[int, str]) -> Said:
    options = ["--strict", "--no-error-summary", "--show-error-codes", "--hide-error-context", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(path.parent / "mypy"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = Said()
    for row in re.finditer(rf"{re.escape(path.name)}:(\d+): (error|note): (.*)", done.stdout):
        name = names.get(int(row[1]), "preamble")
        if row[2] == "error":
            said.errors.setdefault(name, []).append(row[3].rpartition("[")[2].rstrip("]"))
        elif found := re.search(r'Revealed type is "(.*)"', row[3]):
            said.types[name] = plain_names(found[1])
    return said


def ask_pyright(path: Path, names: dict[int, str]) -> Said:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = Said()
    for row in json.loads(done.stdout)["generalDiagnostics"]:
        name = names.get(row["range"]["start"]["line"] + 1, "preamble")
        if row["severity"] == "error":
            said.errors.setdefault(name, []).append(row["rule"])
        elif found := re.search(r'^Type of .* is "(.*)"$', row["message"], re.DOTALL):
            said.types[name] = plain_names(found[1])
    return said


def plain_names(shown: str) -> str:
    """A type without modules, ranks by their names, and without the default way of checkpointing."""
    without_modules = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", shown)
    return re.sub(r"Literal\[(\d)\]", r"D\1", without_modules).replace(", NoCheckpointing", "")


CHECKERS: dict[str, Callable[[Path, dict[int, str]], Said]] = {"mypy": ask_mypy, "pyright": ask_pyright}


@pytest.fixture(scope="module", params=CHECKERS)
def checker(request: pytest.FixtureRequest) -> str:
    """The name of a checker."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def said(checker: str, tmp_path_factory: pytest.TempPathFactory) -> Said:
    source, names = one_file()
    path = tmp_path_factory.mktemp("types") / "all_programs.py"
    path.write_text(source, encoding="utf-8")
    return CHECKERS[checker](path, names)


@pytest.mark.parametrize("name", WRONG)
def test_a_checker_says_of_a_wrong_program_what_the_table_says(name: str, checker: str, said: Said) -> None:
    expected = getattr(WRONG[name], checker)
    assert said.errors.get(name, [None])[0] == expected, WRONG[name].code


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_accepted_and_has_its_type(name: str, said: Said) -> None:
    assert name not in said.errors, RIGHT[name].code
    assert said.types[name] == RIGHT[name].type


def test_the_preamble_is_accepted(said: Said) -> None:
    assert "preamble" not in said.errors


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_raises_when_it_runs(name: str) -> None:
    """The same promise for whoever uses no checker; an annotation alone does nothing at run time."""
    wrong, names = WRONG[name], dict[str, object]()
    exec(PREAMBLE, names)
    if wrong.raises is None:
        exec(wrong.code, names)
    else:
        with pytest.raises(Exception, match=r"\w") as caught:  # with a sentence
            exec(wrong.code, names)
        assert caught.type.__name__ == wrong.raises


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_runs(name: str) -> None:
    names: dict[str, object] = {"reveal_type": lambda value: value}
    exec(PREAMBLE, names)
    exec(_revealed(RIGHT[name].code), names)


def test_what_is_wrong_and_still_runs_is_an_annotation() -> None:
    """Python reads none. A model that says rank 2 for what works for each rank is such a case too."""
    silent = [wrong.code for wrong in WRONG.values() if wrong.raises is None]
    assert all(re.match(r"wrong: |model\(", code) for code in silent)


def test_there_are_enough_programs() -> None:
    assert len(WRONG) >= 60 <= len(RIGHT)
    assert not WRONG.keys() & RIGHT.keys()


def test_the_readme_shows_three_wrong_programs_that_both_checkers_refuse() -> None:
    shown = [wrong for wrong in WRONG.values() if f"\n{wrong.code}  #" in README]
    assert len(shown) == 3
    assert all(wrong.mypy and wrong.pyright and wrong.raises for wrong in shown)


MAKERS = ("from_data", "zeros", "ones", "empty", "full", "random", "arange", "eye", "from_inner")


@pytest.mark.parametrize("of", [Tensor, Tensor[NdArray, 2]], ids=["Tensor", "Tensor[NdArray, 2]"])
@pytest.mark.parametrize("name", MAKERS)
def test_an_editor_shows_the_name_the_arguments_and_what_it_does(name: str, of: Any) -> None:
    maker = getattr(of, name)
    parameters = inspect.signature(maker).parameters
    assert "device" in parameters
    assert not {parameter.kind for parameter in parameters.values()} & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
    assert maker.__name__ == name
    assert maker.__doc__.strip()
