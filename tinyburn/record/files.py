"""Saving and loading: a state becomes one file, and a file the state again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tinyburn.base.errors import RecordError

from .container import Container, Values, checksum, damaged, little_endian, pack_into, packed, unpacked
from .model_record import ModelRecord
from .places import Path, reading, write
from .states import StateReader, StateWriter, loaded_model
from .versions import KEY, Entries, Header, header_of, header_text


def save(path: Path, state: dict[str, Any] | ModelRecord, notes: dict[str, Any] | None = None) -> None:
    """Writes a state as one safetensors file: the same state is always the same bytes.

    The file is written beside, down to the disk, and then renamed: whenever it stops, the old file or the new one is
    there, whole. It copies the tensors to the host for as long as it runs.

    Args:
        path: a file of this machine, or an address for fsspec, as in ``"s3://bucket/model.safetensors"``.
        state: nested dicts, lists and tuples of numbers, texts, bytes, tensors, NumPy arrays and model records: what
            ``optimizer.state(model)``, ``scheduler.state()``, ``device.random_state()`` and ``model.into_record()``
            return.
        notes: numbers and texts that `inspect` shows beside the rest.

    Raises RecordError for what has no form in a file, and OSError if the file cannot be written.
    """
    asked = f"save({os.fspath(path)!r})"
    if not isinstance(state, dict | ModelRecord):
        reason = f"the state is {type(state).__name__}"
        raise RecordError(asked, reason, hint="put it into a dict, or write model.save(path)")
    writer = StateWriter(asked)
    try:
        tree, remarks = writer.tree(state), writer.tree(notes or {}, "notes")
        checks = {name: _checksum_of(array) for name, array in writer.arrays.items()}
        text = header_text(tree, checks, remarks)
    except RecursionError as error:
        raise RecordError(asked, "the state stands inside itself, or is nested too deep") from error
    write(
        asked,
        path,
        lambda draft: pack_into(draft, writer.arrays, {KEY: text}),
        lambda: packed(writer.arrays, {KEY: text}),
    )


def load(path: Path) -> Any:
    """What `save` was given; each tensor comes back as `TensorData`, on the host, and a model as a `ModelRecord`.

    ``optimizer.load_state`` and ``model.load_record`` take them to the model's device. Raises RecordError, which says
    why, for a file that is damaged, too new, or not tinyburn's; OSError if it cannot be opened.
    """
    asked = f"load({os.fspath(path)!r})"
    with opened(asked, path) as (container, found):
        if found is None:
            reason = "tinyburn has not written it: its header does not say what it holds"
            raise RecordError(asked, reason, hint='a model can take its values: model.load(path, layout="torch")')
        header, entries = found
        return _decoded(container, header, entries, header.get("state"))


def read_model(path: Path) -> ModelRecord:
    """The model in a file: all of it, what a training state has under ``"model"``, or the tensors of a foreign file.

    Raises as `load` does; and RecordError for a training state without a model.
    """
    asked = f"load({os.fspath(path)!r})"
    with opened(asked, path) as (container, found):
        if found is None:
            read = _Read(container, container.entries, {})
            return loaded_model({name: name for name in container.entries}, read)
        header, entries = found
        tree, inside = header.get("state"), ""
        if isinstance(tree, dict) and isinstance(tree.get("model"), dict) and "$" not in tree:
            tree, inside = tree["model"], "model"
        model = _decoded(container, header, entries, tree, inside)
    if not isinstance(model, ModelRecord):
        hint = 'save it as {"model": model.into_record(), …}; record.load(path) gives what is there'
        raise RecordError(asked, "it is a state without a model", hint=hint)
    return model


@contextmanager
def opened(asked: str, path: Path) -> Iterator[tuple[Container, tuple[Header, Entries] | None]]:
    """A file with its header read, and tinyburn's part of it."""
    with reading(asked, path) as (file, size):
        container = unpacked(asked, file, size)
        yield container, header_of(container)


class _Read:
    """Reads tensors by name, and holds each against its checksum."""

    def __init__(self, container: Container, entries: Entries, checks: dict[str, Any]) -> None:
        self._container = container
        self._entries = entries
        self._checks = checks

    def __repr__(self) -> str:
        return f"_Read({len(self._entries)} tensors)"

    def __call__(self, name: str) -> tuple[Values, bool]:
        entry = self._entries.get(name)
        if entry is None:
            raise damaged(self._container.asked, f"the header speaks of {name}, which is not in the file")
        raw = self._container.read(entry, name)
        if self._checks and checksum(entry.dtype, entry.shape, raw) != self._checks[name]:
            raise damaged(self._container.asked, f"{name} does not have the checksum that it was written with")
        return self._container.array(entry, raw), entry.format == "BF16"


def check_values(container: Container, header: Header, entries: Entries) -> None:
    """Reads every tensor, one after the other. Raises RecordError for the first that is damaged."""
    read = _Read(container, entries, header["checks"])
    for name in entries:
        read(name)


def _decoded(container: Container, header: Header, entries: Entries, tree: Any, path: str = "") -> Any:
    reader = StateReader(container.asked, _Read(container, entries, header["checks"]))
    try:
        return reader.value(tree, path)
    except (ValueError, RecursionError) as error:
        if isinstance(error, RecordError):
            raise
        raise damaged(container.asked, f"its header makes no sense: {error}") from error


def _checksum_of(array: Values) -> int:
    return checksum(array.dtype.name, array.shape, little_endian(array))
