"""CSV files, read a block of whole lines at a time."""

from __future__ import annotations

import csv
import io
import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from tinyburn.base.errors import ConfigError, DataError

from .arrow import array_of, arrow_type, checked_types, pyarrow
from .blocks import RowBlocks, chosen
from .stacking import Array
from .text_blocks import LONGEST, check_encoding, read_block, stamp, text_blocks

NOTHING = ("", "NA", "N/A", "null", "NULL")
"""What stands for a value that is not there, outside of text. ``nan`` is a float, and stays one."""

LONGEST_SHOWN = 40


class Csv(RowBlocks):
    """The rows of a CSV file with a line of names, each a dict of its values. Memory is a few blocks of about 1 MiB.

    The file is gone through once to find its lines, which takes a fraction of the time of reading it; its values are
    read when they are asked for. Columns may be stated to be another type than the first block looks like.

    Args:
        path: the file, in UTF-8. Empty lines are passed over.
        columns: the names to read; all unless given.
        types: what columns hold: a dtype, or ``"text"``. Those not given are guessed from the first block.
        fill: what stands where a column has nothing, such as ``{"age": 0}``.
        delimiter: the character between two values.

    Raises:
        DataError: the names are missing or come twice, or a quote is never closed. Reading a row raises it for a line
            with too few or too many values, or with a value that is not of its column's type; it names the line.
        ImportError: pyarrow is not installed; it says how to install it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        delimiter: str = ",",
    ) -> None:
        self.path = os.fspath(path)
        self.asked = f"Csv({self.path!r})"
        if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > 127:
            raise ConfigError(self.asked, f"the delimiter is {delimiter!r}, and must be one ASCII character")
        self.delimiter, self.fill = delimiter, dict(fill or {})
        stated = checked_types(self.asked, types)
        pyarrow("csv", self.asked)
        self.stamp = stamp(self.path)
        self.names, start, line = self._header()
        self.columns = chosen(self.asked, self.names, None if columns is None else [*columns], {**stated, **self.fill})
        self.blocks = text_blocks(self.path, self.asked, start, line, quotes=True)
        self.types = {name: arrow_type(kind) for name, kind in stated.items()}
        super().__init__([block.items for block in self.blocks])
        if self.blocks:
            first = self._parsed(0)
            guessed = {name: first.column(name).type for name in self.columns if name not in self.types}
            # Arrow takes text that is not UTF-8 for bytes; as text it is refused, with its line.
            self.types |= {name: arrow_type("text") if kind == "binary" else kind for name, kind in guessed.items()}

    def _header(self) -> tuple[list[str], int, int]:
        """The names, the byte after them, and the line there."""
        with open(self.path, "rb") as file:
            start = check_encoding(self.asked, file.read(3))
            file.seek(start)
            content = file.readline(LONGEST)
            while content.count(b'"') % 2 and len(content) < LONGEST and (more := file.readline(LONGEST)):
                content += more
        text = content.decode("utf-8", errors="replace")
        try:
            names: list[str] = next(iter(self._records(text)), [])
        except csv.Error as error:
            raise DataError(self.asked, f"line 1: {error}") from None
        if not any(names):
            raise DataError(self.asked, "the first line has no names of columns", hint="write one such as: x,y,label")
        return names, start + len(content), 1 + content.count(b"\n")

    def _records(self, text: str) -> Any:
        return csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True)

    def _read(self, block: int) -> dict[str, Array]:
        read, first = self._parsed(block), self.start_of(block)
        columns = {}
        for name in self.columns:
            column = read.column(name)
            if column.null_count and name not in self.fill:
                raise self._explained(block, "a value is missing")
            columns[name] = array_of(column, name, self.asked, first, self.fill)
        return columns

    def _parsed(self, block: int) -> Any:
        """A block as a table of Arrow."""
        lib, error_of = pyarrow("csv", self.asked), pyarrow("", self.asked).ArrowException
        content = read_block(self.path, self.blocks[block], self.asked, self.stamp)
        known = {name: kind for name, kind in self.types.items() if name in self.columns}
        try:
            read = lib.read_csv(
                io.BytesIO(content),
                lib.ReadOptions(column_names=self.names, use_threads=False, block_size=max(len(content), 1 << 10)),
                lib.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in content),
                lib.ConvertOptions(
                    column_types=known, include_columns=self.columns, null_values=NOTHING, strings_can_be_null=False
                ),
            )
        except (error_of, OSError) as error:
            raise self._explained(block, str(error).splitlines()[0]) from None
        if len(read) != self.blocks[block].items:
            raise self._explained(block, f"{self.blocks[block].items} lines were counted, and {len(read)} rows read")
        return read

    def _explained(self, block: int, reason: str) -> DataError:
        """The error for a block that cannot be read: with its first wrong line, which is looked for only now."""
        where = self.blocks[block]
        text = read_block(self.path, where, self.asked, self.stamp).decode("utf-8", errors="surrogateescape")
        records, lines, broken = self._split(text, where.line)
        problems = [problem for name in self.columns if (problem := self._problem(records, name))]
        if problems:
            place, what, hint = min(problems)
            return DataError(self.asked, f"line {lines[place]}: {what}", hint=hint)
        if broken:
            return DataError(self.asked, broken[0], hint=broken[1])
        last = where.line + text.count("\n")
        return DataError(self.asked, f"between line {where.line} and line {last}: {reason}")

    def _split(self, text: str, line: int) -> tuple[list[list[str]], list[int], tuple[str, str] | None]:
        """The records up to the first that is none, their lines, and what is wrong with that one."""
        records: list[list[str]] = []
        lines: list[int] = []
        reader, start = self._records(text), line
        try:
            for record in reader:
                if record and len(record) != len(self.names):
                    problem = f"line {line}: it has {len(record)} values, and there are {len(self.names)} columns"
                    return (
                        records,
                        lines,
                        (problem, "a value with the delimiter or a quote in it needs quotes around it"),
                    )
                if record:
                    records.append(record)
                    lines.append(line)
                line = start + reader.line_num
        except csv.Error as error:
            return records, lines, (f"line {line}: {error}", "a quote inside quotes is written twice")
        return records, lines, None

    def _problem(self, records: list[list[str]], name: str) -> tuple[int, str, str] | None:
        """The first record with a wrong value in a column, what is wrong, and what to do; None if nothing is."""
        kind, column = self.types.get(name), self.names.index(name)
        if kind is None:
            return None
        values = [record[column] for record in records]
        if str(kind) != "string":
            if name not in self.fill and (gaps := [place for place, value in enumerate(values) if value in NOTHING]):
                return gaps[0], f"column {name!r} has nothing", f"state what to take: fill={{{name!r}: 0}}"
            values = ["0" if value in NOTHING else value for value in values]
        if _are_of(values, kind):
            return None
        place = bisect_left(range(len(values)), True, key=lambda place: not _are_of(values[: place + 1], kind))
        value = values[place]
        shown = value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"
        hint = f"correct the line, or state the type: types={{{name!r}: 'text'}}"
        return place, f"column {name!r} has {shown!r}, which is no {kind}", hint


def _are_of(values: list[str], kind: Any) -> bool:
    """Whether Arrow can convert these values. It is asked itself, so both always agree."""
    lib = pyarrow("csv", "Csv")
    quoted = "".join('"' + value.replace('"', '""') + '"\n' for value in values)
    content = quoted.encode("utf-8", errors="surrogateescape")
    try:
        lib.read_csv(
            io.BytesIO(content),
            lib.ReadOptions(column_names=["x"], use_threads=False, block_size=max(len(content), 1 << 10)),
            lib.ParseOptions(newlines_in_values=True),
            lib.ConvertOptions(column_types={"x": kind}, null_values=[], strings_can_be_null=False),
        )
    except pyarrow("", "Csv").ArrowException:
        return not values
    return True
