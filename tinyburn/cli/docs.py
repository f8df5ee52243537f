"""`tinyburn docs`: the site of pages, notebooks and reference, built from what is stored. No notebook is run for it."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from pathlib import Path

import tinyburn

from .errors import CommandError, need

_ASKED = "tinyburn docs"


def docs(folder: Path | None, *, browser: bool) -> int:
    """Builds the site anew, prints where it is, and opens it.

    Args:
        folder: where to; ``docs/_build`` of the clone unless given. The first page is ``html/index.html`` in it.
        browser: whether to open it.

    Raises CommandError without the pages, without Sphinx, and if anything is wrong with the pages: a link that leads
    nowhere, for example. Each warning is an error here.
    """
    sources = _sources()
    need("sphinx", "docs", _ASKED)
    folder = folder or sources / "_build"
    html = folder / "html"
    print("Building the site", flush=True)
    # The pages lie in two folders, docs/ and notebooks/, so Sphinx reads from the root; its settings are in docs/.
    words: list[str | Path] = ["-b", "html", "-q", "-E", "-a", "-W", "-c", sources, "-d", folder / "doctrees"]
    done = subprocess.run([sys.executable, "-m", "sphinx", *words, sources.parent, html], check=False)
    if done.returncode != 0:
        raise CommandError(_ASKED, "the pages have the faults above", hint="mend them; each one names its file")
    page = (html / "index.html").resolve()
    print(f"The site is in {page}")
    if browser:
        webbrowser.open(page.as_uri())
    return 0


def _sources() -> Path:
    """The folder of the pages, which only a clone has."""
    folder = Path(tinyburn.__file__).parents[1] / "docs"
    if not (folder / "conf.py").is_file():
        reason = f"there are no pages in {folder}: an installed tinyburn does not carry them"
        raise CommandError(_ASKED, reason, hint='work in a clone, and install it with: pip install -e ".[docs]"')
    return folder
