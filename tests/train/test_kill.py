"""A training that is killed at any moment, and resumed each time, is the training that was left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.train.kill_programs import BATCHES, lines
from tinyburn import record

ROOT = Path(__file__).parents[2]
KILLS = 20


def program(*words: object, hash_seed: int = 0) -> Any:
    """What the program answers, run in an interpreter of its own."""
    paths = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tests.train.kill_programs", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork a process")
def test_twenty_kills_change_no_bit(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    killed.mkdir()
    whole.mkdir()
    answer = program("kill", killed, KILLS)
    assert answer["exitcode"] == 0
    assert answer["half_saved"] > 0, "no kill came in the middle of a save"
    program("train", whole, answer["epochs"], hash_seed=1)

    curve, written = dict(lines(whole)), lines(killed)
    assert len(curve) == answer["epochs"] * BATCHES
    assert len(written) > len(curve), "no kill came after a step that was not saved"
    assert [one for one in written if curve[one[0]] != one[1]] == []  # also the steps that were done twice
    assert dict(written) == curve
    assert kept(killed) == kept(whole)  # and so the last and the best, to the byte, and no draft

    state = record.load(max((killed / "kept").iterdir()))
    assert [loss.hex() for loss in state["history"]["losses"]] == [*curve.values()]


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the order of Python's sets, which PYTHONHASHSEED draws."""
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        program("train", tmp_path / str(seed), 4, hash_seed=seed)
    assert len(lines(tmp_path / "1")) == 4 * BATCHES
    assert lines(tmp_path / "1") == lines(tmp_path / "2")
    assert len(kept(tmp_path / "1")) >= 2
    assert kept(tmp_path / "1") == kept(tmp_path / "2")
