"""The command as a person types it: help, wrong words, exit codes, and errors without a traceback."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

import tinyburn
from tinyburn.cli import errors, main
from tinyburn.cli.errors import CommandError, need


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["lab", "--help"],
        ["devices", "--help"],
        ["course", "start", "--help"],
        ["course", "status", "--help"],
        ["course", "grade", "--help"],
        ["inspect", "--help"],
        ["docs", "--help"],
        ["notebooks", "run", "--help"],
    ],
)
def test_help_succeeds(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    assert "usage: tinyburn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "COMMAND"),
        (["trainn"], "invalid choice"),
        (["lab", "--port", "0"], "'0' is not a port: a whole number from 1 to 65535"),
        (["lab", "--port", "70000"], "'70000' is not a port"),
        (["notebooks"], "ACTION"),
        (["notebooks", "run", "--timeout", "-1"], "'-1' is not a number of seconds greater than 0"),
        (["notebooks", "check", "--timeout", "nan"], "'nan' is not a number of seconds"),
        (["course"], "ACTION"),
        (["course", "grade"], "FOLDER"),
        (["course", "grade", "class", "--workers", "0"], "'0' is not a whole number greater than 0"),
        (["course", "grade", "class", "--memory", "1.5"], "'1.5' is not a whole number greater than 0"),
        (["course", "status", "--timeout", "0"], "'0' is not a number of seconds greater than 0"),
        (["inspect"], "FILE"),
        (["devices", "--all"], "unrecognized arguments: --all"),
    ],
)
def test_a_wrong_command_exits_with_2_and_says_why(words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"tinyburn {tinyburn.__version__}\n"


def test_a_missing_package_names_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def find_nothing(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(errors, "find_spec", find_nothing)
    assert main(["lab"]) == 1
    told = capsys.readouterr().err
    assert "the package jupyterlab is not installed" in told
    assert 'pip install "tinyburn[lab]"' in told
    assert main(["notebooks", "check"]) == 1
    assert 'pip install "tinyburn[test]"' in capsys.readouterr().err
    assert main(["docs"]) == 1
    assert 'pip install "tinyburn[docs]"' in capsys.readouterr().err


def test_a_present_package_is_no_error():
    need("numpy", "lab", "anything")
    with pytest.raises(CommandError):
        need("a_package_that_nobody_has", "lab", "anything")


def test_it_runs_as_a_module_and_loads_only_what_the_command_needs():
    script = "import sys; from tinyburn.cli import main; main(['devices']); print('jupyterlab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
    done = subprocess.run([sys.executable, "-m", "tinyburn", "devices"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("backend")
