"""Where the course is, and the copy of it that a reader works in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import tinyburn

from .errors import CommandError

FIRST_PAGE = "index.ipynb"
COPY = "tinyburn-course"

_GUESS = "my_guess = None"
_ANSWER = "The answer:"


def course_folder() -> Path:
    """The notebooks with all that they show: notebooks/ of a clone, or those that an installed tinyburn carries.

    Raises CommandError if there is no course.
    """
    package = Path(tinyburn.__file__).parent
    clone, shipped = package.parent / "notebooks", package / "notebooks"
    if (package.parent / "pyproject.toml").is_file() and (clone / FIRST_PAGE).is_file():
        return clone
    if not (shipped / FIRST_PAGE).is_file():
        reason = f"there is no {FIRST_PAGE} in {clone} and none in {shipped}"
        raise CommandError("the course", reason, hint="install tinyburn again, or work in a full clone of it")
    return shipped


def start_course(folder: Path | None = None) -> Path:
    """Makes the copy to work in, or adds what it lacks. A file that is there is the reader's work, and stays as it is.

    Args:
        folder: where; ``tinyburn-course`` in the current folder unless given.

    Raises CommandError if it cannot be written.
    """
    source = course_folder()
    target = folder or Path.cwd() / COPY
    try:
        for path in sorted(path for path in source.rglob("*") if path.is_file() and not _is_hidden(path, source)):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                _copy(path, copy)
    except OSError as error:
        hint = "name a folder that you may write to, as in: tinyburn course start my-course"
        raise CommandError(f"a copy of the course in {target}", str(error), hint=hint) from error
    return target


def _is_hidden(path: Path, source: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(source).parts)


def _copy(path: Path, copy: Path) -> None:
    if path.suffix != ".ipynb":
        shutil.copyfile(path, copy)
        return
    notebook = json.loads(path.read_text(encoding="utf-8"))
    hide_answers(notebook)
    copy.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


def hide_answers(notebook: dict[str, Any]) -> None:
    """Takes out of a notebook what would answer its guesses: outputs from the first guess on, and explanations.

    A text that begins with "The answer:" is folded, and opens with a click.
    """
    is_after_guess = False
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        is_after_guess = is_after_guess or _GUESS in source
        if cell["cell_type"] == "code" and is_after_guess:
            cell["outputs"], cell["execution_count"] = [], None
        if cell["cell_type"] == "markdown" and source.startswith(_ANSWER):
            cell["metadata"]["jupyter"] = {**cell["metadata"].get("jupyter", {}), "source_hidden": True}
