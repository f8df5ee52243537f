"""A notebook as a file: read with clear errors, written in one form and in one step."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from tinyburn.base.json_text import parsed

from .errors import CommandError


def read(path: Path) -> str:
    """The text of a file. Line ends stay as they are, since `check` must see them."""
    if path.is_dir():
        raise CommandError("this is a folder; name the notebooks in it")
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise CommandError("there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot be read as a notebook: {error}") from error


def parse(text: str) -> Any:
    """The notebook in a text. Raises CommandError if there is none, or if something in it is not as it should be."""
    return _validated(load(text))


def load(text: str) -> dict[str, Any]:
    """The JSON of a notebook: it has a list of cells, and what is in them may be anything. Raises CommandError."""
    try:
        data = parsed(text)
    except ValueError as error:
        raise CommandError(f"is not a notebook: its text is not JSON ({error})") from error
    if isinstance(data, dict) and data.get("nbformat") in (1, 2, 3):
        raise CommandError("is a notebook of an old format; open it in JupyterLab and save it again")
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise CommandError("is not a notebook: its JSON has no list of cells")
    if data.get("nbformat") != 4:
        raise CommandError(f"is not a notebook of format 4 but of {data.get('nbformat')!r}")
    return data


def _validated(data: dict[str, Any]) -> Any:
    data["nbformat_minor"] = 5
    for position, cell in enumerate(data["cells"]):
        cell["id"] = f"cell-{position}"  # `normalise` gives the lasting ones
    try:
        nbformat.validate(data)
    except nbformat.ValidationError as error:
        raise CommandError(f"is not a valid notebook: {error.message}") from error
    return nbformat.v4.reads(json.dumps(data))


def serialise(notebook: Any) -> str:
    """The one text of a notebook: keys sorted, one space of indent, a newline at the end."""
    return str(nbformat.v4.writes(notebook)).rstrip("\n") + "\n"


def write(path: Path, text: str) -> None:
    """Replaces a file in one step: whatever happens, the disk holds the old notebook or the new one."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".part", dir=path.parent)
        draft = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            draft.chmod(path.stat().st_mode)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"cannot be written: {error}") from error
