"""`tinyburn lab` as a reader starts it, in a folder, with settings and data of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread

from tinyburn.cli.course import COPY, course_folder

SECONDS = 60
"""For each single thing that a test waits for, on a machine that is busy."""
STORED = "stored"
"""The folder of the notebooks as the project stores them, with all outputs: as untrusted as in a fresh clone."""
NOTEBOOKS = sorted(course_folder().glob("*.ipynb"))

_FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
_CONFIG = {
    "LabApp": {
        "expose_app_in_browser": True,  # tests drive it by its own commands: clicks on menus hang at times
        "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
    }
}


@dataclass(frozen=True)
class Lab:
    """A running `tinyburn lab`.

    Attributes:
        address: what it printed.
        asked_port: the port that it was asked for, which was taken.
        home: the folder that it serves.
    """

    address: str
    asked_port: int
    home: Path

    @property
    def copy(self) -> Path:
        """The reader's own copy of the course."""
        return self.home / COPY

    @property
    def trusted(self) -> int:
        """How many notebooks Jupyter's own records mark as trusted."""
        with closing(sqlite3.connect(self.home / "data" / "nbsignatures.db")) as records:
            return int(records.execute("SELECT count(*) FROM nbsignatures").fetchone()[0])


@contextmanager
def started(home: Path) -> Iterator[Lab]:
    """Starts it with a port that is taken, and stops it."""
    environment = {**os.environ, **{name: str(home / folder) for name, folder in _FOLDERS.items()}}
    (home / "config").mkdir()
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    shutil.copytree(course_folder(), home / STORED, ignore=shutil.ignore_patterns(".*"))
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with subprocess.Popen(
            [sys.executable, "-m", "tinyburn", "lab", "--no-browser", "--port", str(port)],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as server:
            reader = _Reader(server)
            try:
                yield Lab(reader.address(), port, home)
            finally:
                server.terminate()
                reader.join(SECONDS)


class _Reader(Thread):
    """Reads all that the server prints: with a full pipe it would stop."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._told: list[str] = []
        self._found: Queue[str | None] = Queue()
        self.start()

    def run(self) -> None:
        """Until the server and its kernels have closed their end."""
        assert self._server.stdout is not None
        for line in self._server.stdout:
            self._told.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/\S+", line):
                self._found.put(found[0])
        self._found.put(None)

    def address(self) -> str:
        """The first address that it prints."""
        found = self._found.get(timeout=SECONDS)
        assert found is not None, "the server printed no address:\n" + "".join(self._told)
        return found
