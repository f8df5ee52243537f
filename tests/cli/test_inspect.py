"""`tinyburn inspect`: the table, and a message without a traceback for a file that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import plain
from tinyburn import nn, record
from tinyburn.cli import main


def test_it_shows_what_a_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.LinearConfig(3, 2).init(plain())
    record.save(tmp_path / "x", {"model": model.into_record(), "epoch": 3}, notes={"step": 7})
    assert main(["inspect", str(tmp_path / "x"), "--check"]) == 0
    shown = capsys.readouterr().out
    assert "state       model, epoch\n" in shown
    assert "model       Linear\n" in shown
    assert "step        7\n" in shown
    assert "values      as they were written\n" in shown
    assert "model/weight  [3, 2]  float64  48 B\n" in shown


def test_a_file_of_somebody_else_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[1] / "golden" / "records.safetensors"
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "somebody else: no header of tinyburn" in shown
    assert "norm.num_batches_tracked" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [(["damaged"], "it has 4 bytes"), (["nothing"], "No such file"), (["."], "hint: give the path of a file")],
)
def test_a_file_that_cannot_be_read_ends_with_1(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged").write_bytes(b"half")
    assert main(["inspect", *words]) == 1
    assert told in capsys.readouterr().err


def test_values_that_changed_are_found_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nn.LinearConfig(3, 2).init(plain()).save(tmp_path / "x")
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert main(["inspect", str(tmp_path / "x")]) == 0
    assert main(["inspect", str(tmp_path / "x"), "--check"]) == 1
    assert "does not have the checksum" in capsys.readouterr().err
