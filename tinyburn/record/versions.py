"""The header of a record, its versions, and how a file of an earlier version becomes one of today's.

All of it is one text of JSON in the metadata of the safetensors file: several texts would be written in no fixed order.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeAlias

from tinyburn.base.errors import RecordError
from tinyburn.base.json_text import parsed

from .container import Container, Entry, damaged

FORMAT = 1
"""The version that is written. A change that a reader of it would not understand makes it one higher."""

KEY = "tinyburn"

Header: TypeAlias = dict[str, Any]
Entries: TypeAlias = dict[str, Entry]


def header_text(state: Any, checks: dict[str, int], notes: dict[str, Any]) -> str:
    """The header of a new file.

    ``state`` is the tree of what is stored, and ``checks`` has the checksum of each tensor. The header's own checksum
    is over the rest of it: a flipped bit in a number of steps would be as bad as one in a weight.
    """
    header = {"format": FORMAT, "tinyburn": version("tinyburn"), "state": state, "checks": checks, "notes": notes}
    return _text({**header, "checksum": _checksum(header)})


def header_of(container: Container) -> tuple[Header, Entries] | None:
    """The header in today's version, and the tensors under today's names; None if tinyburn has not written the file.

    Raises RecordError for a newer version, and for a header that is damaged.
    """
    text = container.metadata.get(KEY)
    if text is None:
        return None
    header, entries = _read(container.asked, text), container.entries
    for number in range(header["format"], FORMAT):
        header, entries = MIGRATIONS[number](header, entries)
    checks = header.get("checks")
    if not isinstance(checks, dict) or (checks and set(checks) != set(entries)):
        raise damaged(container.asked, "its header lists other tensors than the file has")
    return header, entries


def _read(asked: str, text: str) -> Header:
    """The header as it was written, whatever its version."""
    try:
        header: Any = parsed(text)
    except ValueError as error:
        raise damaged(asked, f"tinyburn's part of its header is not JSON: {error}") from error
    number = header.get("format") if isinstance(header, dict) else None
    if type(number) is not int or number < 0:
        raise damaged(asked, f"its header gives {number!r} as the version of the format")
    if number > FORMAT:
        reason = (
            f"it has version {number} of the format, and tinyburn {version('tinyburn')} reads versions up to {FORMAT}"
        )
        hint = f"it was written by tinyburn {header.get('tinyburn')}: install that or a later one"
        raise RecordError(asked, reason, hint=hint)
    if number >= 1 or "checksum" in header:  # so that a flipped number does not make an old file of it
        given = header.pop("checksum", None)
        if given != _checksum(header):
            raise damaged(asked, "its header does not have the checksum that it was written with")
    checked: Header = header
    return checked


def _text(document: Header) -> str:
    return json.dumps(document, separators=(",", ":"))  # in the order of the state: a dict has one


def _checksum(header: Header) -> int:
    return zlib.crc32(_text(header).encode())


def _from_version_0(header: Header, entries: Entries) -> tuple[Header, Entries]:
    """Version 0 never left the house: it is here so that the way from version to version is tested from the start.

    It held models alone, had no checksums, and wrote a path as in ``layers/0/weight``.
    """
    renamed = {name.replace("/", "."): entry for name, entry in entries.items()}
    model = {"$": "model", "class": header.get("model"), "names": sorted(renamed), "layout": "tinyburn"}
    today = {"format": 1, "tinyburn": header.get("tinyburn"), "state": model, "checks": {}, "notes": {}}
    return today, renamed


MIGRATIONS: dict[int, Callable[[Header, Entries], tuple[Header, Entries]]] = {0: _from_version_0}
"""For each earlier version the function that makes the next one of it."""
