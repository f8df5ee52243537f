"""One command: makes the environment of the benchmarks on first use, and runs them in it.

    python benchmarks/start.py [NAME ...] [--json FILE]

Only the standard library is used here, so that any Python 3.11 or newer can start it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
READY = ENVIRONMENT / "installed"  # a copy of the requirements that were installed; written last


def main() -> int:
    """Returns the exit status of the run."""
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = (HERE / "requirements.txt").read_text(encoding="utf-8")
    if not READY.exists() or READY.read_text(encoding="utf-8") != wanted:
        venv.create(ENVIRONMENT, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-r", str(HERE / "requirements.txt"), "-e", str(HERE.parent)]
        subprocess.run(install, check=True)
        READY.write_text(wanted, encoding="utf-8")
    return subprocess.run([str(python), str(HERE / "run.py"), *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
