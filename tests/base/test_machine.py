"""What a browser changes: advice that cannot be followed there is not given. A browser's Python is pretended here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain
from tinyburn import BackendUnavailable, Cuda, NdArray, Wgpu, data, record, train
from tinyburn.backend.cuda import find
from tinyburn.backend.wgpu import adapter
from tinyburn.base.errors import ConfigError, RecordError
from tinyburn.base.machine import how_to_install, in_browser
from tinyburn.cli.devices import report


def test_this_python_runs_in_no_browser_unless_it_was_built_for_one() -> None:
    assert in_browser() == (sys.platform == "emscripten")


def test_the_browser_is_seen(browser: None) -> None:
    assert in_browser()


def test_a_package_is_installed_in_a_terminal_or_in_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyburn.base.machine.in_browser", lambda: False)
    assert how_to_install("fsspec") == "pip install fsspec"
    assert how_to_install("fsspec", "cloud") == 'pip install "tinyburn[cloud]"'
    monkeypatch.setattr("tinyburn.base.machine.in_browser", lambda: True)
    assert how_to_install("fsspec", "cloud").startswith("write %pip install fsspec in a cell")


@pytest.mark.parametrize("backend", [Wgpu, Cuda])
def test_no_gpu_is_to_be_had_in_a_browser_and_nothing_to_install(backend: Any, browser: None) -> None:
    with pytest.raises(BackendUnavailable) as caught:
        backend.device()
    told = str(caught.value)
    assert "runs in a browser" in told
    assert "use ndarray" in told
    assert "install" not in told
    assert "install" not in report({"ndarray": NdArray, "other": backend})


def test_loaders_have_no_workers_in_a_browser(browser: None) -> None:
    items = data.InMemory([1.0, 2.0, 3.0])
    with pytest.raises(ConfigError) as caught:
        data.DataLoader(items, 2, plain(), workers=2)
    assert "workers is 2, and in a browser Python can start no process" in str(caught.value)
    assert "write workers=0" in str(caught.value)
    assert len(data.DataLoader(items, 2, plain(), workers=0)) == 2


def test_what_is_missing_is_installed_in_a_cell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, browser: None) -> None:
    for module in ("sklearn.datasets", "fsspec.core", "tensorboardX"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="write %pip install scikit-learn in a cell"):
        data.digits()
    with pytest.raises(RecordError, match="write %pip install fsspec in a cell"):
        record.load("memory://x")
    with pytest.raises(BackendUnavailable, match="write %pip install tensorboardX in a cell"):
        train.TensorBoardSink(tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Any:
    """The backends look for drivers once; a test must not see what another has found."""
    for missing in (adapter.missing, find.missing):
        missing.cache_clear()
    yield
    for missing in (adapter.missing, find.missing):
        missing.cache_clear()
