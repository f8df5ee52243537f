"""What is in a file, without reading its values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tinyburn.base.text import amount, table

from .container import Entry
from .files import check_values, opened
from .places import Path


@dataclass(frozen=True, repr=False)
class Inspection:
    """The answer of `inspect`; it prints as a table.

    Attributes:
        header: what tinyburn has written about the file; empty for a file of somebody else.
        entries: dtype, shape and place of each tensor by its name.
        size: bytes of the file.
        is_checked: whether the values have been held against their checksums.
    """

    header: dict[str, Any]
    entries: dict[str, Entry]
    size: int
    is_checked: bool

    def __repr__(self) -> str:
        facts = [*_facts(self.header), ("file", amount(self.size))]
        if self.is_checked:
            facts.append(("values", "as they were written"))
        rows = [
            (name, str(list(entry.shape)), entry.dtype, amount(entry.bytes))
            for name, entry in sorted(self.entries.items())
        ]
        return f"{table(('about', ''), facts)}\n\n{table(('name', 'shape', 'dtype', 'bytes'), rows)}"


def inspect(path: Path, check: bool = False) -> Inspection:
    """Reads the header of any safetensors file; with ``check`` also the values, to hold them against their checksums.

    Raises RecordError for a file that is damaged or too new, and OSError if it cannot be opened.
    """
    with opened(f"inspect({os.fspath(path)!r})", path) as (container, found):
        header, entries = found or ({"checks": {}}, container.entries)
        if check:
            check_values(container, header, entries)
        about = {name: value for name, value in header.items() if name != "checks"}
        return Inspection(about, entries, container.size, check and bool(header["checks"]))


def _facts(header: dict[str, Any]) -> list[tuple[str, str]]:
    """The header in rows of two words."""
    if not header:
        return [("written by", "somebody else: no header of tinyburn")]
    facts = [("format", str(header.get("format"))), ("written by", f"tinyburn {header.get('tinyburn')}")]
    state = header.get("state")
    if isinstance(state, dict):
        facts += _state_facts(state)
    notes = header.get("notes")
    return facts + [(name, str(value)) for name, value in (notes.items() if isinstance(notes, dict) else ())]


def _state_facts(state: dict[str, Any]) -> list[tuple[str, str]]:
    if state.get("$") == "model":
        return _model_facts(state)
    inside = state.get("model")
    facts = [("state", ", ".join(state))]
    return facts + (_model_facts(inside) if isinstance(inside, dict) and inside.get("$") == "model" else [])


def _model_facts(model: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known of a model; of its structure only how many modules it has, for a table is no place for a tree."""
    facts = [("model", str(model.get("class")))]
    facts += [
        (name, _listed(model[name]))
        for name in ("layout", "dtype", "device", "config", "frozen", "shared")
        if model.get(name)
    ]
    return [*facts, ("modules", str(len(model.get("structure") or [])))]


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
