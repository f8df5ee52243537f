"""Tables that are in memory: pandas, polars, Arrow, or a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError

from .arrow import array_of, cast, checked_types, pyarrow
from .blocks import Row, chosen
from .dataset import Dataset, Indices, position


class Table(Dataset[Row]):
    """The rows of a table, each a dict of its values.

    Args:
        table: whatever shares its columns by Arrow's C stream, as the tables of pandas, polars, pyarrow and DuckDB do,
            which needs pyarrow; or a dict of arrays, which does not.
        columns: the names to take; all unless given.
        types: formats to convert columns to, such as ``{"age": "float32"}``; a column keeps its own unless given.
        fill: what stands where a column has nothing, such as ``{"age": 0}``.

    Raises:
        ConfigError: it is no table.
        DataError: a column is not there, has nothing in some row, or holds what is neither number nor text.
    """

    def __init__(
        self,
        table: Any,
        columns: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> None:
        stated = checked_types("Table", types)
        given = _columns(table)
        names = chosen("Table", [*given], None if columns is None else [*columns], {**stated, **(fill or {})})
        self.columns = {
            name: given[name]
            if isinstance(given[name], np.ndarray) and name not in stated
            else _converted(given[name], name, stated, fill or {})
            for name in names
        }
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len({*lengths.values()}) > 1:
            raise ConfigError("Table", f"the columns have different lengths: {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> Row:
        index = position(self, index)
        return {name: column[index] for name, column in self.columns.items()}

    def stacked(self, indices: Indices) -> Any:
        """See `Dataset`."""
        return {name: column[indices] for name, column in self.columns.items()}


def _columns(table: Any) -> dict[str, Any]:
    """The columns by name: arrays, or Arrow's."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(column) for name, column in table.items()}
    if not hasattr(table, "__arrow_c_stream__"):
        reason = f"{type(table).__name__} shares no columns by Arrow's C stream"
        raise ConfigError("Table", reason, hint="hand it a table of pandas 2.2, polars or pyarrow, or a dict of arrays")
    read = pyarrow("", "data.Table of a table").table(table)
    # pandas hands on its row labels as a column of this name.
    names = [name for name in read.column_names if not name.startswith("__index_level_")]
    return {name: read.column(name) for name in names}


def _converted(column: Any, name: str, types: Mapping[str, str], fill: Mapping[str, Any]) -> Any:
    if isinstance(column, np.ndarray):
        column = pyarrow("", "data.Table with types").array(column)
    return array_of(cast(column, name, types, "Table"), name, "Table", 0, fill)
