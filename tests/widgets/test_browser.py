"""A widget in JupyterLab: while it runs it hides the still picture, and keys and buttons lead through the steps."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from nbformat.v4 import new_code_cell, new_notebook, writes

from tests.widgets.test_stepper import PROGRAM

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
QUIET += " --disable-component-update --disable-sync"
FOLDERS = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR JUPYTERLAB_WORKSPACES_DIR"
SETTINGS = "--no-browser --allow-root --ip=127.0.0.1 --IdentityProvider.token= --LabApp.news_url=None"
SETTINGS += " --PasswordIdentityProvider.hashed_password= --LabApp.expose_app_in_browser=True"
SETTINGS += " --KernelManager.transport=ipc"
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells')"
SECONDS = 60


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A notebook with a stepper, all of whose cells have run."""
    if CHROMIUM is None:
        assert "TINYBURN_NEED_BROWSER" not in os.environ
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    home = tmp_path_factory.mktemp("lab")
    (home / "page.ipynb").write_text(writes(new_notebook(cells=[new_code_cell(PROGRAM)])), encoding="utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, **{name: str(home / name) for name in (*FOLDERS.split(), "IPYTHONDIR")}}
    command = [sys.executable, "-m", "jupyter", "lab", f"--port={port}", *SETTINGS.split()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=home, env=environment, **quiet)
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
            opened = browser.new_page(viewport={"width": 1280, "height": 1000})
            opened.set_default_timeout(SECONDS * 1000)
            opened.goto(f"http://127.0.0.1:{port}/lab/tree/page.ipynb")
            opened.wait_for_selector(".jp-Notebook .jp-CodeCell")
            opened.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
            opened.evaluate(RUN_ALL)
            opened.wait_for_selector(".tinyburn-live img")
            yield opened
            browser.close()
    finally:
        server.terminate()
        server.communicate(timeout=SECONDS)


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    """Until a server answers. It takes some seconds to start, and each try a little while to fail."""
    while server.poll() is None:
        try:
            urlopen(address, timeout=SECONDS).close()
            return
        except URLError:
            server_is_starting(server)
    raise AssertionError("the server has ended")


def server_is_starting(server: subprocess.Popen[bytes]) -> None:
    """Lets it work for a moment."""
    try:
        server.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return


def shown_step(page: Any, number: int) -> str:
    """The title of a step, once it is shown."""
    status = page.locator('.tinyburn-live [role="status"]', has_text=f"Step {number} of 7")
    status.wait_for()
    title: str = status.inner_text()
    return title


def test_the_widget_is_shown_and_the_still_picture_is_not(page: Any) -> None:
    assert page.locator(".tinyburn-live img").is_visible()
    assert page.locator(".tinyburn-still").count() == 1
    assert not page.locator(".tinyburn-still").is_visible()
    assert page.locator(".tinyburn-live img").get_attribute("alt") == shown_step(page, 1)


def test_arrow_keys_and_buttons_go_on_and_back(page: Any) -> None:
    page.locator(".tinyburn-live .noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    assert "t1 = w * 2" in shown_step(page, 2)
    page.get_by_role("button", name="Next step").click()
    assert "loss = t1 ** 2" in shown_step(page, 3)
    page.get_by_role("button", name="Previous step").focus()
    page.keyboard.press("Enter")
    shown_step(page, 2)
    assert page.get_by_role("spinbutton", name="Step").input_value() == "2"


def test_it_plays_to_the_end_and_its_button_says_what_it_does(page: Any) -> None:
    page.get_by_role("spinbutton", name="Step").fill("6")
    page.keyboard.press("Enter")
    shown_step(page, 6)
    page.get_by_role("button", name="Play").click()
    assert "w gets g * 2" in shown_step(page, 7)
    page.get_by_role("button", name="Play").wait_for()
