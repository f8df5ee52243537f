"""Where a file is: a path of this machine, or an address that fsspec understands, as in ``"memory://model"``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, BinaryIO, TypeAlias

from tinyburn.base.errors import RecordError

Path: TypeAlias = str | os.PathLike[str]

PART = ".part"
"""How the name of a file ends while it is being written."""


def is_remote(path: Path) -> bool:
    """Whether it is an address and not a path of this machine."""
    return "://" in os.fspath(path)


def write(asked: str, path: Path, data: bytes) -> None:
    """Puts the bytes there, all at once or not at all. What was there before stays until the new file is whole.

    Raises OSError, as `open` does, if it cannot be written; then nothing is left behind.
    """
    if is_remote(path):
        files, name = _remote(asked, path)
        if "file" not in _protocols(files):
            files.pipe_file(name, data)  # one request: an object store shows the object whole or not at all
            return
        path = name
    _write_beside(os.path.realpath(path), data)


def _write_beside(path: str, data: bytes) -> None:
    """Written beside, flushed down to the disk, then renamed: a rename within a folder cannot stop half way."""
    draft = f"{path}.{os.urandom(6).hex()}{PART}"  # two that write the same file do not write the same draft
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(draft)
        raise
    if os.name == "posix":  # so that the new name, too, is on the disk
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
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
        raise RecordError(asked, reason, hint='pip install "tinyburn[cloud]"') from error
    try:
        files, name = core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise RecordError(asked, f"fsspec does not understand {os.fspath(path)}: {error}") from error
    return files, name


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)
