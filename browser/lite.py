"""The course as a site that runs in a browser, with nothing installed: ``python -m browser.lite FOLDER``.

It is JupyterLite, which is JupyterLab as files that any web server can hand out, with Pyodide in place of a server that
computes. The folder has all that it needs, so it also works with no network at all. docs/browser.md tells a reader what
it can do, and what it cannot.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from tinyburn.cli.course import start_course

from .pyodide import NEEDED, ROOT, WIDGETS, Unavailable, build_wheel, fetch_pure, fetch_pyodide, pip

BUILDER = (
    "jupyterlite-core==0.6.4",
    "jupyterlite-pyodide-kernel==0.6.1",
    "jupyter_server>=2.14",
    "jupyterlab_widgets==3.0.15",
)
"""The newest pair that works with this Pyodide, what lists the notebooks, and the browser's side of ipywidgets.

That is the newest one for this pair's JupyterLab: a later one shows no widget, and no error.
"""

WANTED = ("numpy", "ipython", "jedi", "micropip", "sqlite3", "ssl", "scikit-learn")
"""Of Pyodide's packages these, and what they need. The kernel takes all but the first and the last, and hangs else."""

DEPENDS = {"tinyburn": ["numpy", "typing-extensions"], "ipywidgets": ["comm", "ipython", "traitlets"]}
"""What is loaded before a wheel of ours is. What tinyburn imports only sometimes is not in it."""

SOMETIMES = {
    "ipywidgets": r"\bwidgets\.\w+\(",
    "sklearn": r"\bdata\.(breast_cancer|diabetes|digits|iris|shipped|wine)\(",
}
"""Packages that the browser loads only if a cell imports them, and the calls that need them though no cell does."""

COURSE = "tinyburn-course"


def main() -> int:
    """Builds the site. It ends with the size, and the command that serves it."""
    parser = argparse.ArgumentParser(prog="python -m browser.lite", description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the site is made; what is there is removed")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was fetched; else nothing is kept")
    asked = parser.parse_args()
    site = asked.folder.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        try:
            pyodide = fetch_pyodide(asked.cache or work / "cache")
            wheels = [*fetch_pure((*NEEDED, *WIDGETS), work / "wheels"), build_wheel(work)]
            python = builders_python(asked.cache or work / "cache")
        except Unavailable as reason:
            print(f"skipped, the site was not built: {reason}")
            return int("TINYBURN_NEED_PYODIDE" in os.environ)
        contents = work / "contents"
        write_course(contents)
        build(site, contents, work, python)
        add_pyodide(pyodide, wheels, site / "static" / "pyodide")
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{site}: {size / 1e6:.0f} MB")
    print(f"python -m http.server --directory {asked.folder} 8000")
    print(f"then open http://localhost:8000/lab/index.html?path={COURSE}/index.ipynb")
    return 0


# The course


def write_course(folder: Path) -> None:
    """The reader's copy of the course, as `tinyburn course start` makes it, beside the pages that it links to."""
    start_course(folder / COURSE)
    for path in sorted((folder / COURSE).glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        prepare(notebook)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / "docs").mkdir()
    for page in sorted((ROOT / "docs").glob("*.md")):
        shutil.copyfile(page, folder / "docs" / page.name)


def prepare(notebook: dict[str, Any]) -> None:
    """Names the kernel, and lets the first cell import what the browser would else not load."""
    notebook["metadata"]["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    source = "\n".join("".join(cell["source"]) for cell in cells)
    modules = [module for module, calls in SOMETIMES.items() if re.search(calls, source)]
    if modules:
        line = f"import {', '.join(modules)}  # so that the browser loads what tinyburn needs below\n"
        cells[0]["source"] = [line, *cells[0]["source"]]


# JupyterLite


def build(site: Path, contents: Path, work: Path, python: Path) -> None:
    """JupyterLite's own builder, in an environment of its own, since its Jupyter is another than ours."""
    lite = work / "lite"
    lite.mkdir()
    (lite / "jupyter-lite.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (lite / "overrides.json").write_text(json.dumps(PREFERENCES), encoding="utf-8")
    shutil.rmtree(site, ignore_errors=True)
    command = [str(python), "-m", "jupyterlite_core.app", "build", "--no-sourcemaps", "--no-unused-shared-packages"]
    folders = ["--lite-dir", lite, "--contents", contents, "--output-dir", site]
    done = subprocess.run([*command, *map(str, folders)], cwd=work, capture_output=True, text=True, check=False)
    if done.returncode or not (site / "lab" / "index.html").is_file():
        raise SystemExit(f"JupyterLite was not built:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "appName": "tinyburn",
        "exposeAppInBrowser": True,  # for the test, which runs a notebook by the names of commands
        "litePluginSettings": {
            "@jupyterlite/pyodide-kernel-extension:kernel": {
                "pyodideUrl": "./static/pyodide/pyodide.js",
                "disablePyPIFallback": True,  # everything is in the folder
            }
        },
    },
}


PREFERENCES = {
    # All cells are on the page, where the search of the browser and a screen reader find them; else only those in view.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "defer"},
}


def builders_python(cache: Path) -> Path:
    """The Python of an environment that has the builder. Raises Unavailable."""
    environment = cache / "jupyterlite"
    python = environment / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip("install", *BUILDER, python=python)
    return python


# Pyodide


def add_pyodide(pyodide: Path, wheels: list[Path], target: Path) -> None:
    """Puts Pyodide and the wheels beside JupyterLite, with a list by which the kernel loads what a cell imports."""
    target.mkdir(parents=True)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    wanted = needed_by(WANTED, lock["packages"])
    lock["packages"] = {name: entry for name, entry in lock["packages"].items() if name in wanted}
    for name in ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"):
        shutil.copyfile(pyodide / name, target / name)
    for entry in lock["packages"].values():
        shutil.copyfile(pyodide / entry["file_name"], target / entry["file_name"])
    for wheel in wheels:
        shutil.copyfile(wheel, target / wheel.name)
        entry = entry_of(wheel)
        lock["packages"][entry["name"]] = entry
    (target / "pyodide-lock.json").write_text(json.dumps(lock, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def needed_by(names: tuple[str, ...], packages: dict[str, Any]) -> set[str]:
    """These packages and all that they need, by the keys of the list."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        key = key_of(waiting.pop(), packages)
        if key not in found:
            found.add(key)
            waiting += packages[key]["depends"]
    return found


def key_of(name: str, packages: dict[str, Any]) -> str:
    """A package's key in the list, which is its name, with - in place of _."""
    return next(key for key in packages if key.lower().replace("_", "-") == name.lower().replace("_", "-"))


def entry_of(wheel: Path) -> dict[str, Any]:
    """A wheel in the words of Pyodide's list."""
    module, version, *_ = wheel.name.split("-")
    name = module.replace("_", "-")
    return {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [module],
        "depends": DEPENDS.get(name, []),
        "unvendored_tests": False,
    }


if __name__ == "__main__":
    sys.exit(main())
