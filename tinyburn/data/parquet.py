"""Parquet files, read a row group at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tinyburn.base.errors import DataError

from .arrow import array_of, cast, checked_types, pyarrow
from .blocks import RowBlocks, chosen
from .stacking import Array


class Parquet(RowBlocks):
    """The rows of a Parquet file, each a dict of its values. Memory is a few row groups, whatever the file's size.

    Args:
        path: the file.
        columns: the names to read; all unless given. Others are not read from the disk.
        types: formats to convert columns to, such as ``{"age": "float32"}``; a column keeps the file's unless given.
        fill: what stands where a column has nothing, such as ``{"age": 0}``.

    Raises:
        DataError: it is no Parquet file, or a column is not there. Reading a row raises it for values that do not fit.
        ImportError: pyarrow is not installed; it says how to install it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.asked = f"Parquet({self.path!r})"
        self.types, self.fill = checked_types(self.asked, types), dict(fill or {})
        self._texts: list[str] = []
        names, sizes = self._described()
        wanted = None if columns is None else [*columns]
        self.columns = chosen(self.asked, names, wanted, {**self.types, **self.fill})
        super().__init__(sizes)

    def _described(self) -> tuple[list[str], list[int]]:
        """The names of the columns, and how many rows each row group has."""
        with self._opened() as file:
            try:
                fields = [file.schema_arrow.field(number) for number in range(len(file.schema_arrow))]
                names = [field.name for field in fields]
            except self._errors() as error:
                raise self._broken(error) from None
            stated = {*self.types, *self.fill}
            self._texts = [field.name for field in fields if field.type == "string" and field.name not in stated]
            groups = range(file.metadata.num_row_groups)
            return names, [file.metadata.row_group(group).num_rows for group in groups]

    def _opened(self) -> Any:
        lib = pyarrow("parquet", self.asked)
        try:
            # Text mostly stands in the file as numbers of its different values; it is read so, and made once each.
            return lib.ParquetFile(self.path, page_checksum_verification=True, read_dictionary=self._texts)
        except FileNotFoundError:
            raise
        except self._errors() as error:
            raise self._broken(error) from None

    def _errors(self) -> tuple[type[Exception], ...]:
        """What Arrow raises for a file that is not as it was written; ValueError is for names that are not UTF-8."""
        return (pyarrow("", self.asked).ArrowException, OSError, ValueError)

    def _broken(self, error: Exception) -> DataError:
        hint = "the file is no Parquet file, or it was cut off or changed"
        return DataError(self.asked, f"it cannot be read: {error}", hint=hint)

    def _read(self, block: int) -> dict[str, Array]:
        """A row group. Numbers are not copied once more: the arrays look at what Arrow has read."""
        first, size = self.start_of(block), int(self.ends[block]) - self.start_of(block)
        try:
            with self._opened() as file:
                read = file.read_row_group(block, columns=self.columns)
        except self._errors() as error:
            raise self._broken(error) from None
        if len(read) != size:
            raise self._broken(ValueError(f"row group {block} has {len(read)} rows, and {size} were promised"))
        casts = {name: cast(read.column(name), name, self.types, self.asked) for name in self.columns}
        return {name: array_of(column, name, self.asked, first, self.fill) for name, column in casts.items()}
