"""`tinyburn docs`: what it says when it cannot build the site. `tests/docs/test_site.py` looks at the one it builds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tinyburn
from tinyburn.cli import docs as command
from tinyburn.cli import main

DOCS = Path(__file__).parents[2] / "docs"
FAULTS = {
    "a page that is not there": "[a](nowhere.md)",
    "a heading that is not there": "[b](index.md#no-such-heading)",
    "a file that is not there": "[c](../tinyburn/nowhere.py)",
    "a formula that cannot be read": r"$\nosuchmacro{x}$",
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that takes itself for the clone, with settings and without pages."""
    for name in ("extensions", "_static", "_root"):
        shutil.copytree(DOCS / name, tmp_path / "docs" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(DOCS / "conf.py", tmp_path / "docs")
    monkeypatch.setattr(tinyburn, "__file__", str(tmp_path / "tinyburn" / "__init__.py"))
    return tmp_path


def test_each_fault_of_a_page_is_told_and_fails(clone: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sphinx", reason="building the site needs the extra docs")
    (clone / "docs" / "index.md").write_text("\n\n".join(["# First page", *FAULTS.values()]), encoding="utf-8")
    assert main(["docs", "--no-browser"]) == 1
    told = capfd.readouterr().err
    for found in ("nowhere.md", "no-such-heading", "nowhere.py", "nosuchmacro"):
        assert any("index.md" in line and "WARNING" in line and found in line for line in told.splitlines()), told
    assert "the pages have the faults above" in told


def test_it_opens_what_it_has_built(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(command, "need", lambda *_: None)
    monkeypatch.setattr(command.webbrowser, "open", opened.append)
    monkeypatch.setattr(command.subprocess, "run", built)
    first = clone / "elsewhere" / "html" / "index.html"
    assert main(["docs", str(clone / "elsewhere")]) == 0
    assert main(["docs", str(clone / "elsewhere"), "--no-browser"]) == 0
    assert opened == [first.resolve().as_uri()]
    assert capsys.readouterr().out.splitlines()[-1] == f"The site is in {first.resolve()}"


def built(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 0)


def test_an_installed_tinyburn_has_no_pages_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tinyburn, "__file__", str(tmp_path / "tinyburn" / "__init__.py"))
    assert main(["docs"]) == 1
    told = capsys.readouterr().err
    assert f"there are no pages in {tmp_path / 'docs'}" in told
    assert 'pip install -e ".[docs]"' in told
