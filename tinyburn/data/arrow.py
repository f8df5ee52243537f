"""From Arrow's columns to NumPy's arrays. CSV and Parquet are read with Arrow (pyarrow)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyburn.base.dtype import DType
from tinyburn.base.errors import ConfigError, DataError

from .shipped import optional
from .stacking import Array

TEXT = "text"
TYPES = (*(str(member) for member in DType if member is not DType.FLOAT16), TEXT)
"""What a column may be stated to be."""


def pyarrow(part: str, asked: str) -> Any:
    """A part of pyarrow. Raises ImportError with the way to install it."""
    return optional(f"pyarrow.{part}" if part else "pyarrow", "pyarrow", asked)


def arrow_type(name: str) -> Any:
    """Arrow's type for one of `TYPES`."""
    lib = pyarrow("", "a column type")
    return {"text": lib.string(), "bool": lib.bool_()}.get(name) or getattr(lib, name)()


def checked_types(asked: str, types: Mapping[str, str] | None) -> dict[str, str]:
    """The stated types. Raises ConfigError, which lists what is known, for any other."""
    given = dict(types or {})
    wrong = [f"the type of {name!r} is {kind!r}" for name, kind in given.items() if kind not in TYPES]
    if wrong:
        raise ConfigError(asked, wrong, hint=f"use one of {', '.join(TYPES)}")
    return given


def array_of(column: Any, name: str, asked: str, first: int, fill: Mapping[str, Any]) -> Array:
    """One column as an array: numbers and truths as they are, text as objects, lists of one length as rows.

    Args:
        first: the number of the first row, for the message.
        fill: what stands where the column has nothing.

    Raises:
        DataError: there is a row with nothing in it, or the column's type has no place in an array.
    """
    if column.null_count and name in fill:
        column = column.fill_null(fill[name])
    if column.null_count:
        row = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        hint = f"state what to take: fill={{{name!r}: 0}}"
        raise DataError(asked, f"column {name!r} has nothing in row {row}", hint=hint)
    try:
        return _array(column, name, asked)
    except pyarrow("", asked).ArrowException as error:
        raise DataError(asked, f"column {name!r} cannot be read: {error}") from None


def _array(column: Any, name: str, asked: str) -> Array:
    lib = pyarrow("", asked)
    kind = column.type
    if lib.types.is_dictionary(kind):
        return _decoded(column, name, asked)
    if lib.types.is_fixed_size_list(kind):
        flat = _array(column.combine_chunks().flatten() if hasattr(column, "chunks") else column.flatten(), name, asked)
        return flat.reshape(len(column), kind.list_size)
    is_text = lib.types.is_string(kind) or lib.types.is_large_string(kind) or lib.types.is_string_view(kind)
    if not (is_text or lib.types.is_boolean(kind) or lib.types.is_integer(kind) or lib.types.is_floating(kind)):
        hint = f"state its type, as in types={{{name!r}: 'text'}}, or leave it out with columns=[...]"
        raise DataError(asked, f"column {name!r} holds {kind}, which is no number, truth value or text", hint=hint)
    if is_text and _repeats(column):
        return _decoded(column.dictionary_encode(), name, asked)
    values: Array = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
    return values


PROBED = 1000
"""How many values are looked at before a column of text is read by its different values."""


def _repeats(column: Any) -> bool:
    """Whether text comes again and again, so that it is quicker to make each different value once."""
    return len(column) > PROBED and bool(len(column.slice(0, PROBED).unique()) < PROBED // 2)


def _decoded(column: Any, name: str, asked: str) -> Array:
    """Each value of a column that has its different values apart."""
    if hasattr(column, "chunks"):
        column = column.unify_dictionaries().combine_chunks()
    different = _array(column.dictionary, name, asked)
    values: Array = different[column.indices.to_numpy(zero_copy_only=False)]
    return values


def cast(column: Any, name: str, types: Mapping[str, str], asked: str) -> Any:
    """A column in the type that is stated for it. Raises DataError if a value would change."""
    if name not in types:
        return column
    try:
        wanted = arrow_type(types[name])
        is_float = types[name].startswith("float")  # a float may be rounded; a whole number must stay what it is
        return column.cast(wanted, safe=not is_float)
    except pyarrow("", asked).ArrowException as error:
        raise DataError(asked, f"column {name!r} cannot be {types[name]}: {error}") from None
