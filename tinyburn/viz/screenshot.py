"""A drawing as a PNG, by whatever on this machine can draw an SVG as it is meant: the package resvg-py, or a browser.

Not every converter can. CairoSVG takes another font and blurs the pixels of images, ImageMagick knows no stylesheets.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tinyburn.base.errors import BackendUnavailable

Converter = Callable[[str], bytes]

ZOOM = 2
"""Pixels of the PNG for each of the drawing, so that it is sharp in print."""
SECONDS = 60

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Those that take a picture of a page without a window: by their names on PATH, and by the usual places."""

_FLAGS = "--headless --disable-gpu --hide-scrollbars --no-first-run --default-background-color=00000000"


def png_of(svg: str, asked: str) -> bytes:
    """A drawing in one theme as a PNG. ``asked`` is the call, for the error message.

    Raises BackendUnavailable where nothing can draw it, and where a browser fails.
    """
    draw = _by_resvg() or _by_browser(asked)
    if draw is None:
        reasons = [
            "the package resvg-py is not installed",
            f"no browser was found: looked for {', '.join(BROWSERS[:7])}",
        ]
        if sys.platform == "emscripten":
            reasons[1:] = ["a page cannot start a browser"]
        hint = "save it as .svg or .html, which need nothing; or pip install resvg-py, or install Chromium"
        raise BackendUnavailable(asked, reasons, hint=hint)
    return draw(svg)


def _by_resvg() -> Converter | None:
    try:
        library: Any = import_module("resvg_py")
    except ImportError:
        return None
    return lambda svg: bytes(library.svg_to_bytes(svg_string=svg, zoom=ZOOM))


def _by_browser(asked: str) -> Converter | None:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    return None if program is None else lambda svg: _screenshot(program, svg, asked)


def _screenshot(program: str, svg: str, asked: str) -> bytes:
    """The browser has a profile of its own, since one that runs already would take the request and draw nothing."""
    root = ElementTree.fromstring(svg)
    width, height = (math.ceil(float(root.get(side, "1"))) for side in ("width", "height"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page, target = Path(folder, "picture.svg"), Path(folder, "picture.png")
        page.write_text(svg, encoding="utf-8")
        command = [program, *_FLAGS.split(), f"--user-data-dir={Path(folder, 'profile')}", f"--screenshot={target}"]
        command += [f"--window-size={width},{height}", f"--force-device-scale-factor={ZOOM}"]
        command += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # root has none
        said = _run([*command, page.as_uri()])
        if not target.exists():
            hint = "save it as .svg or .html, which need nothing; or pip install resvg-py"
            raise BackendUnavailable(asked, f"{program} drew nothing: {said}", hint=hint)
        return target.read_bytes()


def _run(command: list[str]) -> str:
    """The last line that a program says of its errors."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
