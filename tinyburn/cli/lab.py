"""`tinyburn lab`: JupyterLab at the first page of the reader's own copy of the course.

Nothing is marked as trusted here. The pictures show without it, and a notebook from somewhere else must not get it.
"""

from __future__ import annotations

import os
from pathlib import Path

from .course import FIRST_PAGE, start_course
from .errors import need


def lab(port: int, *, browser: bool) -> int:
    """Runs JupyterLab in this process until it is stopped. If the port is taken, Jupyter takes the next free one."""
    need("jupyterlab", "lab", "tinyburn lab")
    # A kernel of the same name in the home folder may belong to another Python, without tinyburn.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # JupyterLab would ask every new reader whether it may fetch news. What readers have set themselves comes first.
    paths = [str(Path(__file__).parent / "jupyter"), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    from jupyterlab.labapp import LabApp

    folder = start_course()
    print(f"Your copy of the course is in {folder}", flush=True)
    words = [
        f"--ServerApp.root_dir={folder.parent}",  # one folder up: in a clone the notebooks link to its docs
        f"--LabApp.default_url=/lab/tree/{folder.name}/{FIRST_PAGE}",
        f"--port={port}",
    ]
    if not browser:
        words.append("--no-browser")
    if _is_root():
        words.append("--allow-root")  # as in a container; the server listens on this machine only
    LabApp.launch_instance(argv=words)
    return 0


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
