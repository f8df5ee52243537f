"""Nested states as a tree that JSON knows, with the tensors beside it, and back.

A tensor's name in the file is its path in the state, as in ``optimizer/params/layers.0.weight/momentum``. What JSON
has no form for is an object with the key ``$``, which says what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tinyburn.base.errors import RecordError
from tinyburn.tensor import Tensor, TensorData

from .container import FORMATS, Values, damaged
from .model_record import ModelRecord, host

Read: TypeAlias = Callable[[str], tuple[Values, bool]]
"""Gives the values of a name, and whether the file has them in bfloat16."""

_NUMPY = set(FORMATS.values())


class StateWriter:
    """Makes the tree of a state, and collects its tensors."""

    def __init__(self, asked: str) -> None:
        self._asked = asked
        self.arrays: dict[str, Values] = {}

    def __repr__(self) -> str:
        return f"StateWriter({len(self.arrays)} tensors)"

    def tree(self, value: Any, path: str = "") -> Any:
        """``value`` as JSON has it. Raises RecordError, with its path, for what cannot be stored."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float | np.generic):
            return self._number(value, path)
        if isinstance(value, dict):
            return self._dict(value, path)
        if isinstance(value, list | tuple):
            items = [self.tree(item, _below(path, str(at))) for at, item in enumerate(value)]
            return items if isinstance(value, list) else {"$": "tuple", "items": items}
        if isinstance(value, bytes):
            return {"$": "bytes", "hex": value.hex()}
        if isinstance(value, ModelRecord):
            for name, tensor in value.values.items():
                self._store(_below(path, name), host(tensor).values)
            return {"$": "model", **value.about()}
        if isinstance(value, Tensor | TensorData):
            self._store(path, host(value).values)
            return {"$": "tensor"}
        if isinstance(value, np.ndarray):
            self._store(path, np.array(value, order="C"))
            return {"$": "array"}
        raise self._refused(path, f"is {type(value).__name__}, which has no form in a file")

    def _number(self, value: Any, path: str) -> Any:
        number = value.item() if isinstance(value, np.generic) else value
        if type(number) is int or type(number) is bool:
            return number
        if not isinstance(number, int | float):
            raise self._refused(path, f"is {type(value).__name__}, which has no form in a file")
        return number if math.isfinite(number) else {"$": "float", "text": repr(float(number))}

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise self._refused(path, f"has the key {wrong[0]!r}, and keys must be texts")
        tree = {key: self.tree(item, _below(path, key)) for key, item in value.items()}
        return {"$": "dict", "items": tree} if "$" in value else tree

    def _store(self, path: str, array: Values) -> None:
        if path in self.arrays:
            raise self._refused(path, "stands for two tensors, since a key has a / in it")
        if array.dtype.name not in _NUMPY:
            raise self._refused(path, f"has the dtype {array.dtype.name}, which has no form in a file")
        self.arrays[path] = array

    def _refused(self, path: str, reason: str) -> RecordError:
        hint = (
            "a state is nested dicts of names, numbers, texts, lists and tensors; a model goes in as its into_record()"
        )
        return RecordError(self._asked, f"{path or 'the state'} {reason}", hint=hint)


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


class StateReader:
    """Makes a state of its tree, and reads the tensors that are in it."""

    def __init__(self, asked: str, read: Read) -> None:
        self._asked = asked
        self._read = read

    def __repr__(self) -> str:
        return "StateReader()"

    def value(self, tree: Any, path: str = "") -> Any:
        """What a tree was made of; a tensor comes back as `TensorData`, on the host."""
        if isinstance(tree, list):
            return [self.value(item, _below(path, str(at))) for at, item in enumerate(tree)]
        if not isinstance(tree, dict):
            return tree
        kind = tree.get("$")
        if kind is None:
            return {key: self.value(item, _below(path, key)) for key, item in tree.items()}
        make = self._KINDS.get(kind) if isinstance(kind, str) else None
        if make is None:
            raise damaged(self._asked, f"{path or 'the state'} is of the unknown kind {kind!r}")
        return make(self, tree, path)

    def _tuple(self, tree: dict[str, Any], path: str) -> Any:
        return tuple(self.value(_field(self._asked, tree, "items", list), path))

    def _plain_dict(self, tree: dict[str, Any], path: str) -> Any:
        items = _field(self._asked, tree, "items", dict)
        return {key: self.value(item, _below(path, key)) for key, item in items.items()}

    def _bytes(self, tree: dict[str, Any], path: str) -> Any:
        return bytes.fromhex(_field(self._asked, tree, "hex", str))

    def _float(self, tree: dict[str, Any], path: str) -> Any:
        return float(_field(self._asked, tree, "text", str))

    def _tensor(self, _: dict[str, Any], path: str) -> Any:
        return TensorData.owning(self._read(path)[0])

    def _array(self, _: dict[str, Any], path: str) -> Any:
        return self._read(path)[0]

    def _model(self, tree: dict[str, Any], path: str) -> Any:
        names = _field(self._asked, tree, "names", list)
        if not all(isinstance(name, str) for name in names):
            raise damaged(self._asked, "the names of the model's tensors are no texts")
        about = _About(self._asked, tree)
        return loaded_model({name: _below(path, name) for name in names}, self._read, about)

    _KINDS: ClassVar[dict[str, Any]] = {
        **{"tuple": _tuple, "dict": _plain_dict, "bytes": _bytes, "float": _float},
        **{"tensor": _tensor, "array": _array, "model": _model},
    }


class _About:
    """What the header says about a model, each field in its type or left out."""

    def __init__(self, asked: str, tree: Mapping[str, Any]) -> None:
        self._asked = asked
        self._tree = tree

    def __repr__(self) -> str:
        return "_About()"

    def field(self, name: str, kind: type, default: Any) -> Any:
        """One field. Raises RecordError for another type."""
        return default if self._tree.get(name) is None else _field(self._asked, self._tree, name, kind)


def loaded_model(names: Mapping[str, str], read: Read, about: _About | None = None) -> ModelRecord:
    """The record of a model of which the tensors with these names are in a file, each under another name."""
    values, narrow = {}, set()
    for name, stored in names.items():
        array, is_narrow = read(stored)
        values[name] = TensorData.owning(np.atleast_1d(array))
        if is_narrow:
            narrow.add(name)
    if about is None:
        return ModelRecord(None, values, layout=None, narrow=frozenset(narrow))
    return ModelRecord(
        about.field("class", str, None),
        values,
        structure=about.field("structure", list, []),
        config=about.field("config", dict, None),
        device=about.field("device", str, None),
        frozen=about.field("frozen", list, []),
        shared=about.field("shared", dict, {}),
        layout=about.field("layout", str, None),
        narrow=frozenset(narrow),
    )


def _field(asked: str, tree: Mapping[str, Any], name: str, kind: type) -> Any:
    value = tree.get(name)
    if not isinstance(value, kind):
        raise damaged(asked, f"the header's {name} is {type(value).__name__}, and should be {kind.__name__}")
    return value
