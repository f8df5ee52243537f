"""Where the numbers go: the history's tables, files, and a bar."""

from __future__ import annotations

import csv
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support import tracked
from tests.train.models import batches, learner
from tinyburn import BackendUnavailable, train
from tinyburn.train import progress


def test_the_history_prints_as_a_table() -> None:
    history = train.History()
    history.rows = [{"loss": 2.5, "confusion matrix": [[1]], "rate": 0.001}, {"loss": 1.25, "valid loss": 1.5}]
    assert repr(history) == (
        "epoch  loss   rate  valid loss\n"
        "    1   2.5  0.001\n"
        "    2  1.25                1.5"
    )  # fmt: skip
    columns = history.columns()
    assert columns["epoch"] == [1, 2]
    assert columns["rate"] == [0.001, None]
    assert columns["confusion matrix"] == [[[1]], None]


def test_csv_has_a_line_for_each_epoch(tmp_path: Path) -> None:
    device = tracked()
    path = tmp_path / "history.csv"
    mine = learner(device, metrics=[train.Accuracy()])
    data = batches(device, 32, 2)
    mine.fit(data, data, epochs=2, sinks=[train.CsvSink(path)])
    mine.fit(data, data, sinks=[train.CsvSink(path)])
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["valid accuracy"]) for row in rows] == mine.history.columns()["valid accuracy"]
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.csv"]


class Told(train.Sink):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def on_step(self, number: int, loss: float) -> None:
        self.calls.append((number, loss))

    def on_epoch(self, history: train.History) -> None:
        self.calls.append(len(history))

    def close(self) -> None:
        self.calls.append("closed")


def test_a_sink_is_told_of_everything_and_closed_also_after_an_error() -> None:
    device = tracked()
    mine, told = learner(device), Told()
    mine.fit(batches(device, 32, 2), sinks=[told])
    assert told.calls == [*enumerate(mine.history.losses, start=1), 1, "closed"]

    def stumbles(_: Any) -> None:
        raise RuntimeError("after the first step")

    with pytest.raises(RuntimeError, match="first step"):
        mine.fit(batches(device, 32, 2), sinks=[told], after_step=stumbles)
    assert told.calls[-1] == "closed"


def test_nothing_is_printed_unless_it_is_wanted(capfd: pytest.CaptureFixture[str]) -> None:
    device = tracked()
    learner(device).fit(batches(device, 32, 2), epochs=2)
    learner(device).fit(batches(device, 32, 2), progress=False)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_bar_comes_by_itself_only_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "Progress", lambda steps: ("bar", steps))
    monkeypatch.setattr(progress, "find_spec", lambda name: name)
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        assert progress.progress_sinks(None, 7) == ([("bar", 7)] if is_terminal else [])
        assert progress.progress_sinks(True, 7) == [("bar", 7)]
        assert progress.progress_sinks(False, 7) == []


def test_what_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = tracked()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(BackendUnavailable, match="pip install tqdm"):
        learner(device).fit(batches(device, 32, 1), progress=True)
    with pytest.raises(BackendUnavailable, match="pip install tensorboardX"):
        train.TensorBoardSink(tmp_path)


@pytest.mark.skipif(find_spec("tqdm") is None, reason="tqdm is not installed")
def test_a_bar_of_tqdm(capfd: pytest.CaptureFixture[str]) -> None:
    device = tracked()
    learner(device).fit(batches(device, 32, 2), epochs=2, progress=True)
    assert "4/4" in capfd.readouterr().err


@pytest.mark.skipif(find_spec("tensorboardX") is None, reason="tensorboardX is not installed")
@pytest.mark.filterwarnings("ignore")
def test_event_files(tmp_path: Path) -> None:
    device = tracked()
    mine = learner(device)
    sink = train.TensorBoardSink(tmp_path)
    mine.fit(batches(device, 32, 2), sinks=[sink])
    mine.fit(batches(device, 32, 3), sinks=[sink])
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert content.count(b"step/loss") == 5
    assert content.count(b"epoch/loss") == 2
