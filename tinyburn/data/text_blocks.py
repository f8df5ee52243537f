"""Where the lines of a text file are: one pass that keeps a few numbers a block, so that any line is found again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tinyburn.base.errors import DataError

from .stacking import Array

PIECE = 1 << 20
"""Bytes that are read at once. A block is whole records: the first end of one after so many bytes ends it."""

LONGEST = 1 << 26
"""Bytes that a record may have. One that is longer has a quote that is never closed, or is no text."""

NEWLINE, RETURN, QUOTE = b'\n\r"'


@dataclass(frozen=True)
class TextBlock:
    """Some whole records of a file.

    Attributes:
        start, stop: its bytes in the file.
        line: the number of its first line, from 1.
        items: how many records it has that are not empty.
    """

    start: int
    stop: int
    line: int
    items: int


def stamp(path: str) -> tuple[int, int]:
    """What changes when a file is written again: its size and its time."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def text_blocks(path: str, asked: str, start: int = 0, line: int = 1, *, quotes: bool = False) -> list[TextBlock]:
    """The blocks of a file from a byte on.

    Args:
        asked: for the messages.
        line: the number of the line that begins there.
        quotes: whether a line may end inside quotes without the end of its record, as in CSV.

    Raises:
        DataError: a record has more than `LONGEST` bytes.
    """
    blocks: list[TextBlock] = []
    rest, at = b"", start
    for piece, is_last in _pieces(path, start):
        content = rest + piece
        ends = _record_ends(np.frombuffer(content, np.uint8), quotes)
        stop = len(content) if is_last else int(ends[-1]) if len(ends) else 0
        if not is_last and len(content) - stop > LONGEST:
            hint = "a quote in this line is never closed" if quotes else "this is no text file"
            raise DataError(asked, f"the record that begins in line {line} has more than {LONGEST} bytes", hint=hint)
        if is_last and quotes and content.count(b'"') % 2:
            start_of = int(ends[-1]) if len(ends) else 0
            first = line + content.count(b"\n", 0, start_of)
            raise DataError(asked, f"line {first}: the record that begins there has a quote that is never closed")
        if stop:
            if is_last and (not len(ends) or int(ends[-1]) < stop):
                ends = np.append(ends, stop)
            blocks.append(TextBlock(at, at + stop, line, _filled(content, ends)))
            line += content.count(b"\n", 0, stop)
            at += stop
        rest = content[stop:]
    return blocks


def _pieces(path: str, start: int) -> Iterator[tuple[bytes, bool]]:
    """The bytes of a file, and whether they are the last."""
    with open(path, "rb") as file:
        file.seek(start)
        piece = file.read(PIECE)
        while piece:
            following = file.read(PIECE)
            yield piece, not following
            piece = following


def _record_ends(content: Array, quotes: bool) -> Array:
    """The places after the ends of lines that are not inside quotes."""
    ends = np.flatnonzero(content == NEWLINE)
    if quotes:
        marks = np.flatnonzero(content == QUOTE)
        if len(marks):
            ends = ends[np.searchsorted(marks, ends) % 2 == 0]
    return ends + 1


def _filled(content: bytes, ends: Array) -> int:
    """How many records have more in them than the end of a line."""
    values = np.frombuffer(content, np.uint8)
    lengths = np.diff(ends, prepend=0)
    starts = ends - lengths
    first = values[starts]
    is_empty = (lengths == 1) & (first == NEWLINE) | (lengths == 2) & (first == RETURN) & (values[ends - 1] == NEWLINE)
    return len(ends) - int(is_empty.sum())


def read_block(path: str, block: TextBlock, asked: str, known: tuple[int, int]) -> bytes:
    """The bytes of a block. Raises DataError if the file is not what it was when its lines were counted."""
    if stamp(path) != known:
        raise DataError(asked, "the file was changed after its lines had been counted", hint="make the data set anew")
    with open(path, "rb") as file:
        file.seek(block.start)
        return file.read(block.stop - block.start)


def check_encoding(asked: str, start: bytes) -> int:
    """How many bytes before the text say that it is UTF-8. Raises DataError for text in UTF-16, or for none."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(asked, "the file is text in UTF-16", hint="write it again as UTF-8")
    return 3 if start.startswith(b"\xef\xbb\xbf") else 0
