"""One server and one browser for all tests of this folder, and a file with the screen of each test that fails."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page

from . import chromium
from .jupyterlab import keep_screenshot, started_page
from .server import NOTEBOOKS, Lab, started


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The server, in a folder of its own."""
    with started(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, until the tests of another folder begin."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="package")
def page(browser: Browser, lab: Lab) -> Page:
    """JupyterLab, for one notebook after the other."""
    return started_page(browser, lab)


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """The file of each notebook in the project, one after the other."""
    found: Path = request.param
    return found


@pytest.fixture(scope="session", autouse=True)
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screen of a test that fails is kept: the folder that TINYBURN_SCREENSHOTS names, or one of pytest's."""
    named = os.environ.get("TINYBURN_SCREENSHOTS")
    return Path(named) if named else tmp_path_factory.mktemp("screens")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the screen to the report of a failure."""
    report = yield
    if report.failed and "page" in item.funcargs:
        try:
            kept = str(keep_screenshot(item.funcargs["page"], item.funcargs["screens"], item.name))
        except Error as error:  # the window is gone, which may be why the test failed
            kept = f"none: {error}"
        report.sections.append(("screen", kept))
    return report
