"""`tinyburn lab` in a real browser: the first page opens, its pictures show, and nothing is trusted for it."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

from tests.browsers import CHROMIUM, QUIET

FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
ALT_AND_WIDTH = "images => images.map(image => [image.alt, image.complete && image.naturalWidth])"
SHOWN_AND_DRAWN = "images => images.map(image => [image.clientWidth, image.naturalWidth])"
SECONDS = 60


@dataclass
class Lab:
    """A running `tinyburn lab`: the address it printed, the port it was asked for, and where it keeps its data."""

    address: str
    asked_port: int
    data: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Started with a port that is taken, and with settings and data of its own."""
    home = tmp_path_factory.mktemp("lab")
    environment = {**os.environ, **{name: str(home / folder) for name, folder in FOLDERS.items()}}
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "tinyburn", "lab", "--no-browser", "--port", str(port)],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield Lab(printed_address(server), port, home / "data")
        finally:
            server.terminate()
            server.communicate(timeout=SECONDS)


def printed_address(server: subprocess.Popen[str]) -> str:
    """Reads what the server prints until it names its address."""
    assert server.stdout is not None
    told = []
    deadline = Timer(SECONDS, server.kill)
    deadline.start()
    try:
        for line in server.stdout:
            told.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/\S+", line):
                return found[0]
    finally:
        deadline.cancel()
    raise AssertionError("the server printed no address:\n" + "".join(told))


def test_a_taken_port_is_left_alone(lab: Lab):
    assert f":{lab.asked_port}/" not in lab.address


def test_the_address_is_that_of_the_first_page(lab: Lab):
    assert "/lab/tree/tinyburn-course/index.ipynb?token=" in lab.address


def test_the_first_page_shows_with_its_pictures_and_without_trust(lab: Lab):
    if CHROMIUM is None:
        assert "TINYBURN_NEED_BROWSER" not in os.environ
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        page = browser.new_page(viewport={"width": 1200, "height": 4000})
        page.goto(lab.address)
        page.wait_for_selector(".jp-Notebook h1", timeout=SECONDS * 1000)
        assert page.inner_text(".jp-Notebook h1").startswith("tinyburn")
        page.wait_for_selector(".jp-OutputArea-output img", timeout=SECONDS * 1000)
        pictures = page.eval_on_selector_all(".jp-OutputArea-output img", ALT_AND_WIDTH)
        assert pictures
        assert all(alt and width > 0 for alt, width in pictures)
        assert page.get_by_text("Jupyter news").count() == 0
        for width in (1280, 800):
            page.set_viewport_size({"width": width, "height": 900})
            sizes = page.eval_on_selector_all(".jp-OutputArea-output img", SHOWN_AND_DRAWN)
            assert sizes
            assert all(shown == drawn for shown, drawn in sizes), "a picture, and its text, was made smaller"
        browser.close()
    assert trusted_notebooks(lab.data) == 0


def trusted_notebooks(data: Path) -> int:
    """How many notebooks Jupyter's own records mark as trusted."""
    with closing(sqlite3.connect(data / "nbsignatures.db")) as records:
        return int(records.execute("SELECT count(*) FROM nbsignatures").fetchone()[0])
