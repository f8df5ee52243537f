"""Config: every choice as a named field of a frozen dataclass that can be printed, saved and read back."""

from __future__ import annotations

import dataclasses
import os
import types
from collections.abc import Iterator
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tinyburn.base.errors import ConfigError

C = TypeVar("C", bound="Config")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Config:
    """Subclass it as a frozen dataclass, with a method ``init(device)`` that makes what it describes.

    A config whose fields have the wrong types, or that names `problems`, cannot be made: it raises ConfigError.
    """

    def __post_init__(self) -> None:
        reasons = self._wrong_types() or self.problems()
        if reasons:
            raise ConfigError(type(self).__name__, reasons)

    def problems(self) -> list[str]:
        """What is wrong with the values, a reason each; for a subclass to fill."""
        return []

    def _wrong_types(self) -> list[str]:
        hints = _hints(type(self))
        given = {name: getattr(self, name) for name in hints if name in self.__dataclass_fields__}
        return [
            f"{name} is {value!r}, and should be {_type_name(hints[name])}"
            for name, value in given.items()
            if not _fits(value, hints[name])
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fields as JSON. The file is replaced at once or not at all."""
        import json  # most programs save no config

        text = json.dumps({"config": type(self).__name__, **plain_fields(self)}, indent=2)
        draft = f"{os.fspath(path)}.part"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        os.replace(draft, path)

    @classmethod
    def load(cls: type[C], path: str | os.PathLike[str]) -> C:
        """Reads what `save` wrote.

        Raises ConfigError, which lists everything that is wrong with the file: not JSON, another config's, fields
        missing, unknown or of the wrong type. A file that cannot be opened raises OSError.
        """
        from tinyburn.base.json_text import parsed  # as in `save`

        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            document = parsed(text)
        except ValueError as error:
            raise ConfigError(f"{cls.__name__}.load({os.fspath(path)!r})", f"it is not JSON: {error}") from error
        return _from_document(cls, document, f"{cls.__name__}.load({os.fspath(path)!r})")


def plain_fields(config: Config) -> dict[str, Any]:
    """Fields as JSON knows them; a dataclass inside says which one it is."""
    return {field.name: _value(getattr(config, field.name)) for field in dataclasses.fields(config)}


def _value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _value(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"config": type(value).__name__, **fields}
    return [_value(item) for item in value] if isinstance(value, tuple) else value


def _from_document(cls: type[T], document: Any, asked: str) -> T:
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # a dataclass
    if not isinstance(document, dict) or document.get("config") != cls.__name__:
        found = document.get("config") if isinstance(document, dict) else type(document).__name__
        raise ConfigError(asked, f"the file holds {found!r}, not {cls.__name__!r}")
    given = {name: value for name, value in document.items() if name != "config"}
    reasons = [f"the field {name!r} is unknown" for name in given if name not in fields]
    hints = _hints(cls)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in given:
            values[name] = _read(hints.get(name, Any), given[name], asked)
            if not _fits(values[name], hints.get(name, Any)):
                reasons.append(f"{name} is {given[name]!r}, and should be {_type_name(hints[name])}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            reasons.append(f"the field {name!r} is missing")
    if reasons:
        raise ConfigError(asked, reasons, hint=f"{cls.__name__} has the fields {', '.join(fields)}")
    return cls(**values)


def _hints(cls: type[Any]) -> dict[str, Any]:
    """The types of the fields; none where a name in them is out of reach, as for a class inside a function."""
    try:
        return get_type_hints(cls)
    except NameError:
        return {}


def _read(hint: Any, value: Any, asked: str) -> Any:
    """A nested object by the dataclass that it names, and a tuple, if the type of the field allows them."""
    if isinstance(value, dict) and "config" in value:
        for option in _options(hint):
            for made in _classes(option):
                if dataclasses.is_dataclass(made) and made.__name__ == value["config"]:
                    return _from_document(made, value, asked)
    if isinstance(value, list):
        for option in _options(hint):
            if _plain_type(option) is tuple:
                return tuple([_read(_item_hint(option, at), item, asked) for at, item in enumerate(value)])
    return value


def _classes(option: Any) -> Iterator[type[Any]]:
    """A class and all that derive from it: a field of a base's type can hold any of them."""
    if isinstance(option, type):
        yield option
        derived: list[type[Any]] = option.__subclasses__()
        for each in derived:
            yield from _classes(each)


def _item_hint(option: Any, at: int) -> Any:
    """The type of one item of a tuple: that at its place, or the one of all in ``tuple[int, ...]``."""
    hints = [hint for hint in get_args(option) if hint is not Ellipsis]
    return hints[min(at, len(hints) - 1)] if hints else Any


def _plain_type(hint: Any) -> Any:
    """``tuple`` for ``tuple[int, ...]``."""
    return get_origin(hint) or hint


def _options(hint: Any) -> tuple[Any, ...]:
    """The types that a field may have."""
    options: tuple[Any, ...] = hint.__args__ if isinstance(hint, types.UnionType) else (hint,)
    return options


def _fits(value: Any, hint: Any) -> bool:
    for option in map(_plain_type, _options(hint)):
        if option is Any or not isinstance(option, type):
            return True
        if option is float and type(value) is int:
            return True
        if isinstance(value, option) and (option is bool or not isinstance(value, bool)):
            return True
    return False


def _type_name(hint: Any) -> str:
    return " or ".join(getattr(option, "__name__", str(option)) for option in _options(hint))
