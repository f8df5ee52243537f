"""The course in a real browser: JupyterLab as `tinyburn lab` starts it, and Chromium.

One server and one browser serve all of these tests. Those that open every notebook have the mark `browser`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, while the block runs; so does Playwright's event loop, and no other one can run beside it.

    Skips the test on a machine that has none.
    """
    if CHROMIUM is None:
        assert "TINYBURN_NEED_BROWSER" not in os.environ
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()
