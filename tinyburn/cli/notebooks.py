"""`tinyburn notebooks`: what a notebook stores is what its code shows, and one command proves it."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .course import course_folder
from .errors import CommandError, need

_DIFF_LINES = 20
_DIFF_WIDTH = 160
_DIFF_REACH = 200
"""From the first difference on, this many lines are compared: to compare all of two long notebooks can take hours."""

_BITMAP = re.compile(r'("image/(?:png|jpeg)": )"[^"]*"')


def notebooks(action: str, files: Sequence[Path], timeout: float) -> int:
    """Runs or checks each file, tells about each one, and goes on after a failure. Returns the exit code.

    ``timeout`` is in seconds, for one cell.
    """
    need("nbclient", "test", f"tinyburn notebooks {action}")
    do: Callable[[Path, float], str] = run if action == "run" else check
    failed = 0
    for path in files or sorted(course_folder().glob("*.ipynb")):
        try:
            print(f"{path}: {do(path, timeout)}", flush=True)
        except CommandError as error:
            failed += 1
            print(f"tinyburn: {path}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def run(path: Path, timeout: float) -> str:
    """Executes a notebook and stores the result, if it differs. A notebook that fails stays as it is on disk."""
    from .document import write

    stored, fresh = _stored_and_fresh(path, timeout)
    if stored == fresh:
        return "unchanged"
    write(path, fresh)
    return "written"


def check(path: Path, timeout: float) -> str:
    """Executes a notebook in memory. Raises CommandError, with the first differences, if another text is stored.

    A bitmap may differ: each version of matplotlib draws its own pixels. So may a cell with nbval's tag
    ``nbval-ignore-output``: it shows what is so on this machine.
    """
    stored, fresh = _stored_and_fresh(path, timeout)
    stored, fresh = _without_bitmaps(stored), _without_bitmaps(_with_free_outputs(fresh, stored))
    if stored != fresh:
        raise CommandError(f"not up to date; `tinyburn notebooks run` would change it\n{_short_diff(stored, fresh)}")
    return "up to date"


def _stored_and_fresh(path: Path, timeout: float) -> tuple[str, str]:
    from .document import parse, read, serialise
    from .execute import execute
    from .normalise import normalise

    stored = read(path)
    notebook = parse(stored)
    execute(notebook, path.parent, timeout)
    normalise(notebook)
    return stored, serialise(notebook)


def _with_free_outputs(fresh: str, stored: str) -> str:
    """The fresh notebook, but what a tag leaves free is as it is stored."""
    import nbformat

    from .document import parse, serialise

    notebook, before = json.loads(fresh), parse(stored)
    for cell, old in zip(notebook["cells"], before.cells, strict=True):
        if "nbval-ignore-output" in cell["metadata"].get("tags", []):
            cell["outputs"] = old["outputs"]
    return serialise(nbformat.from_dict(notebook))


def _without_bitmaps(text: str) -> str:
    return _BITMAP.sub(r'\1"…"', text)


def _short_diff(stored: str, fresh: str) -> str:
    """The first differences of two texts, after the line before them."""
    old, new = stored.split("\n"), fresh.split("\n")
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    near = slice(max(same - 1, 0), same + _DIFF_REACH)
    found = difflib.unified_diff(old[near], new[near], n=1, lineterm="")
    lines = [line for line in list(found)[2:] if not line.startswith("@@")]
    shown = [f"from line {same + 1}, - stored, + now:", *(line[:_DIFF_WIDTH] for line in lines[:_DIFF_LINES])]
    if len(lines) > _DIFF_LINES or max(len(old), len(new)) > near.stop:
        shown.append("… and maybe more lines")
    return "\n".join(shown)
