"""Text files whose lines are the items: as text, or as JSON."""

from __future__ import annotations

import os
from typing import Any

from tinyburn.base.errors import DataError
from tinyburn.base.json_text import parsed

from .blocks import Blocks
from .dataset import T
from .text_blocks import check_encoding, read_block, stamp, text_blocks


class LineBlocks(Blocks[T]):
    """The lines of a text file in UTF-8 that are not empty, found by one pass through it. Memory is a few blocks.

    Args:
        path: the file.

    Raises:
        DataError: it is no text in UTF-8; it names the line. Reading raises it too if the file was changed since.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.asked = f"{type(self).__name__}({self.path!r})"
        self.stamp = stamp(self.path)
        with open(self.path, "rb") as file:
            start = check_encoding(self.asked, file.read(3))
        self.blocks = text_blocks(self.path, self.asked, start)
        super().__init__([block.items for block in self.blocks])

    def _read(self, block: int) -> list[tuple[int, str]]:
        """The lines of a block with their numbers."""
        where = self.blocks[block]
        content = read_block(self.path, where, self.asked, self.stamp)
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            line = where.line + content.count(b"\n", 0, error.start)
            raise DataError(self.asked, f"line {line} is no text in UTF-8: {error.reason}") from None
        stripped = (line.removesuffix("\r") for line in lines)
        return [(number, line) for number, line in enumerate(stripped, start=where.line) if line]

    def line(self, index: int) -> tuple[int, str]:
        """The number of an item's line in the file, from 1, and its text."""
        block, place = self.place_of(index)
        found: tuple[int, str] = self.held(block)[place]
        return found


class Lines(LineBlocks[str]):
    """The lines of a text file in UTF-8, without their ends. Empty lines are passed over."""

    def __getitem__(self, index: int) -> str:
        return self.line(index)[1]


class JsonLines(LineBlocks[Any]):
    """A JSON value a line, as Python has it: objects are dicts, arrays are lists. Empty lines are passed over."""

    def __getitem__(self, index: int) -> Any:
        number, text = self.line(index)
        try:
            return parsed(text)
        except ValueError as error:
            raise DataError(self.asked, f"line {number} is no JSON: {error}") from None
