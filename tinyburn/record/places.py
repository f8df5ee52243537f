"""Where a file is: a path of this machine, or an address that fsspec understands, as in ``"memory://model"``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, TypeAlias

from tinyburn.base.errors import RecordError
from tinyburn.base.machine import how_to_install

Path: TypeAlias = str | os.PathLike[str]

PART = ".part"
"""How the name of the folder ends in which a file is being written."""


def is_remote(path: Path) -> bool:
    """Whether it is an address and not a path of this machine."""
    return "://" in os.fspath(path)


def write(asked: str, path: Path, to_file: Callable[[str], None], to_bytes: Callable[[], bytes]) -> None:
    """Puts a file there, all at once or not at all. What was there before stays until the new file is whole.

    ``to_file`` writes it under a name that it is given, ``to_bytes`` makes it for a place that is not on this machine.
    Raises OSError, as `open` does, if it cannot be written; then nothing is left behind.
    """
    if is_remote(path):
        files, name = _remote(asked, path)
        if "file" not in _protocols(files):
            files.pipe_file(name, to_bytes())  # one request: an object store shows the object whole or not at all
            return
        path = name
    _write_beside(os.path.realpath(path), to_file)


def _write_beside(path: str, to_file: Callable[[str], None]) -> None:
    """Written beside, flushed down to the disk, then renamed: a rename on one disk cannot stop half way.

    Beside is a folder of its own, whose name tells what a kill has left there.
    """
    folder = f"{path}.{os.urandom(6).hex()}{PART}"  # two that write the same file do not write the same draft
    draft = os.path.join(folder, "draft")
    os.mkdir(folder)
    try:
        to_file(draft)
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        remove_draft(folder)
    _sync_folder(os.path.dirname(path))


def remove_draft(path: str) -> None:
    """Removes what is left of a file that was being written."""
    shutil.rmtree(path, ignore_errors=True)


def _sync_folder(path: str) -> None:
    """Takes the new name of a file, too, down to the disk. Only POSIX has a way to say so."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def reading(asked: str, path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The open file and how many bytes it has. Raises OSError, as `open` does, if it cannot be opened."""
    if is_remote(path):
        files, name = _remote(asked, path)
        with files.open(name, "rb") as file:
            yield file, int(files.size(name))
    else:
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size


def _remote(asked: str, path: Path) -> tuple[Any, str]:
    """The file system of an address, and the name in it."""
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        reason = f"{os.fspath(path)} is an address, and the package fsspec, which understands it, is not installed"
        raise RecordError(asked, reason, hint=how_to_install("fsspec", "cloud")) from error
    try:
        files, name = core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise RecordError(asked, f"fsspec does not understand {os.fspath(path)}: {error}") from error
    return files, name


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)
