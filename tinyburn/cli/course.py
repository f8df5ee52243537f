"""Where the course is: in a clone it is notebooks/, and an installed tinyburn carries a copy of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import tinyburn

from .errors import CommandError

FIRST_PAGE = "index.ipynb"
COPY = "tinyburn-course"


def course_folder() -> Path:
    """The folder to work in: notebooks/ of a clone, else ``tinyburn-course`` in the current folder.

    The second is made, and filled with what it lacks, from the notebooks inside the installed package. Nobody should
    edit those: the next upgrade would replace them. Raises CommandError if there is no course or no place for it.
    """
    package = Path(tinyburn.__file__).parent
    clone = package.parent / "notebooks"
    if (package.parent / "pyproject.toml").is_file() and (clone / FIRST_PAGE).is_file():
        return clone
    shipped = package / "notebooks"
    if not (shipped / FIRST_PAGE).is_file():
        reason = f"there is no {FIRST_PAGE} in {clone} and none in {shipped}"
        raise CommandError("the course", reason, hint="install tinyburn again, or work in a full clone of it")
    return copy_course(shipped, Path.cwd() / COPY)


def copy_course(shipped: Path, target: Path) -> Path:
    """Copies the files that ``target`` does not have. A file that is there is the reader's work, and stays as it is."""
    try:
        for source in sorted(path for path in shipped.rglob("*") if path.is_file()):
            copy = target / source.relative_to(shipped)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                shutil.copyfile(source, copy)
    except OSError as error:
        hint = "start the command in a folder that you may write to"
        raise CommandError(f"a copy of the course in {target}", str(error), hint=hint) from error
    return target
