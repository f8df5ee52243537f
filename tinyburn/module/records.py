"""A model as a record, and the values of a record at their places in a model; also in PyTorch's layout.

It is loaded only by the program that saves or loads something.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, cast

import numpy as np

from tinyburn.base.errors import RecordError
from tinyburn.record.model_record import LAYOUTS, ModelRecord, Place, host
from tinyburn.tensor import Tensor, TensorData

from .config import Config, plain_fields
from .param import Param

AnyParam: TypeAlias = Param[Any, Any]
AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Names: TypeAlias = Mapping[str, str]


class _Parts(Protocol):
    """What is asked of a module here."""

    torch_names: ClassVar[Mapping[str, str]]
    torch_transposed: ClassVar[tuple[str, ...]]
    torch_joined: ClassVar[Mapping[str, tuple[str, ...]]]

    def torch_name(self, name: str) -> str:
        """See `Module.torch_name`."""
        ...

    def named_children(self) -> Iterable[tuple[str, Any]]:
        """See `Module.named_children`."""
        ...

    def named_values(self) -> Iterable[tuple[str, AnyParam | AnyTensor]]:
        """See `Module.named_values`."""
        ...


def written(model: _Parts, layout: str | None, names: Names | None, config: Config | None) -> ModelRecord:
    """The record of a model. Raises RecordError for an unknown layout, and for two values under one name."""
    asked = "into_record"
    layout = layout or "tinyburn"
    places = places_of(asked, model, layout, names)
    by_name: dict[str, list[tuple[AnyTensor, Place]]] = {}
    for part, place in places:
        same = by_name.setdefault(place.path, [])
        if same and place.rows is None:
            raise RecordError(asked, f"two values have the name {place.path}", hint="map one of them to another name")
        same.append((_tensor(part), place))
    return ModelRecord(
        type(model).__name__,
        {name: _stored(same) for name, same in by_name.items()},
        structure=_structure(model, ""),
        config=None if config is None else {"config": type(config).__name__, **plain_fields(config)},
        device=", ".join(sorted({str(_tensor(part).device) for part, _ in places})),
        frozen=[*dict.fromkeys(place.path for part, place in places if isinstance(part, Param) and part.is_frozen)],
        shared={other: place.path for _, place in places for other in place.others},
        layout=layout,
    )


def _stored(same: list[tuple[AnyTensor, Place]]) -> AnyTensor | TensorData:
    """The values under one name as a record has them: transposed there, or several, one below the other."""
    tensor, place = same[0]
    if not place.transposed and place.rows is None:
        return tensor
    arrays = [host(tensor).values.T if place.transposed else host(tensor).values for tensor, place in same]
    return TensorData.owning(np.ascontiguousarray(np.concatenate(arrays)))


def fitted(model: _Parts, record: ModelRecord, layout: str | None, names: Names | None, cast: bool) -> dict[int, Any]:
    """By the `id()` of each parameter and constant of the model a tensor with the record's values, on its device.

    Raises RecordError with everything that does not fit.
    """
    asked = f"{type(model).__name__}.load"
    if not isinstance(record, ModelRecord):
        reason = f"it was given {type(record).__name__}, and not a ModelRecord"
        raise RecordError(asked, reason, hint="write model.load(path) for a file, and model.into_record() to make one")
    record = dataclasses.replace(record, layout=_layout_of(asked, record, layout))
    places = places_of(asked, model, record.layout, names)
    found = record.fitted(asked, [place for _, place in places], cast)
    return {id(part): _placed(_tensor(part), data) for (part, _), data in zip(places, found, strict=True)}


def _layout_of(asked: str, record: ModelRecord, layout: str | None) -> str | None:
    """What the file says, or else the caller. It is never guessed: a square weight would fit either way."""
    if record.layout is None and layout is None:
        reason = "the file does not say whether it has PyTorch's names and transposed weights, or tinyburn's"
        raise RecordError(asked, reason, hint='write layout="torch" or layout="tinyburn"')
    if record.layout is not None and layout is not None and record.layout != layout:
        reason = f"the file is in the layout {record.layout!r}, and {layout!r} was asked for"
        raise RecordError(asked, reason, hint="leave layout out: the file knows it")
    return record.layout or layout


def _placed(old: AnyTensor, data: TensorData) -> AnyTensor:
    made: AnyTensor = Tensor.from_data(data, old.device, dtype=data.dtype)
    return made.require_grad() if old.is_require_grad else made


def _tensor(part: AnyParam | AnyTensor) -> AnyTensor:
    return part.val() if isinstance(part, Param) else part


# Places


@dataclass(frozen=True)
class _Joined:
    """The tensor that a layout has for several values, one below the other, and where one of them is in it.

    Attributes:
        around: the path of the module that says so, with a dot at its end; empty for the model itself.
    """

    name: str
    around: str
    rows: slice
    height: int


@dataclass(frozen=True)
class _Value:
    """A parameter or constant at one of its places: the path here, and the name in a layout, by itself and joined."""

    path: str
    name: str
    part: AnyParam | AnyTensor
    transposed: bool = False
    joined: _Joined | None = None

    @property
    def rows(self) -> int:
        """The size of the first dim in the layout."""
        return _tensor(self.part).shape[-1 if self.transposed else 0]


def places_of(
    asked: str, model: _Parts, layout: str | None, names: Names | None
) -> list[tuple[AnyParam | AnyTensor, Place]]:
    """Each value of a model once, with its place in a record of some layout."""
    if layout not in LAYOUTS:
        raise RecordError(asked, f"layout is {layout!r}, and must be one of {', '.join(LAYOUTS)}")
    values = (
        _in_torch(model) if layout == "torch" else [_Value(path, path, part) for path, part in model.named_values()]
    )
    _check_names(asked, names or {}, values)
    first: dict[int, tuple[_Value, list[tuple[str, _Joined | None]]]] = {}
    for value in values:
        first.setdefault(id(value.part), (value, []))[1].append(_mapped(value, names or {}))
    places = [(value.part, _place(value, found)) for value, found in first.values()]
    _check_joined(asked, [place for _, place in places])
    return places


def _place(value: _Value, found: list[tuple[str, _Joined | None]]) -> Place:
    tensor, (name, joined) = _tensor(value.part), found[0]
    others = tuple(other for other, _ in found[1:])
    made = Place(name, tensor.shape, str(tensor.dtype), others, value.transposed)
    return made if joined is None else dataclasses.replace(made, rows=joined.rows, height=joined.height)


def _mapped(value: _Value, names: Names) -> tuple[str, _Joined | None]:
    """The name that the map has for the path itself, or for the closest module around it; ``""`` is the whole model.

    A name for the value, or for a module inside the one that joins it with others, takes it out of their tensor.
    """
    if value.path in names:
        return names[value.path], None
    head = value.path
    while head:
        head = head.rpartition(".")[0]
        if head in names:
            joined = None if value.joined is None or _is_inside(head, value.joined.around) else value.joined
            name = value.name if joined is None else joined.name
            tail = name.removeprefix(f"{head}.") if head else name
            return f"{names[head]}.{tail}".lstrip("."), joined
    return (value.name, None) if value.joined is None else (value.joined.name, value.joined)


def _is_inside(head: str, around: str) -> bool:
    return f"{head}." != around and head.startswith(around) and head != ""


def _check_joined(asked: str, places: list[Place]) -> None:
    """Raises RecordError if a map of names has taken some values out of a tensor, and not all of them."""
    rows: dict[str, tuple[int, int]] = {}
    for place in places:
        if place.rows is not None:
            there, _ = rows.get(place.path, (0, 0))
            rows[place.path] = there + place.rows.stop - place.rows.start, place.height
    torn = [name for name, (there, height) in rows.items() if there != height]
    if torn:
        reasons = [f"names has names for some of the values that {name} holds, and none for the rest" for name in torn]
        raise RecordError(asked, reasons, hint="map all of them, or the module around them")


def _check_names(asked: str, names: Names, values: list[_Value]) -> None:
    """Raises RecordError for a name in the map that is no path of the model: it would be overlooked."""
    paths = [f"{value.path}." for value in values]
    unused = [name for name in names if name and not any(path.startswith(f"{name}.") for path in paths)]
    if unused:
        reasons = [f"names maps {name}, which is no path of the model" for name in unused]
        raise RecordError(asked, reasons, hint='write names={"ours": "theirs"}, with paths of modules or of values')


def _in_torch(model: _Parts) -> list[_Value]:
    """Each value at each of its places, with its name in PyTorch, and whether it is transposed there."""
    modules = _modules_around(model, "")
    found = []
    for path, part in model.named_values():
        closest = max((prefix for prefix in modules if path.startswith(prefix)), key=len)
        name = path.removeprefix(closest)
        transposed = name in modules[closest].torch_transposed
        found.append(_Value(path, _renamed(modules, closest, name), part, transposed))
    joined = _joined(modules, {value.path: value for value in found})
    return [dataclasses.replace(value, joined=joined.get(value.path)) for value in found]


def _renamed(modules: dict[str, _Parts], around: str, name: str) -> str:
    """A name in a module as PyTorch's name in the whole model: a module renames what is in it, the innermost first."""
    prefixes = sorted((prefix for prefix in modules if around.startswith(prefix)), key=len, reverse=True)
    for prefix, outer in zip(prefixes, [*prefixes[1:], ""], strict=True):
        name = prefix.removeprefix(outer) + modules[prefix].torch_name(name)
    return name


def _joined(modules: dict[str, _Parts], values: dict[str, _Value]) -> dict[str, _Joined]:
    """For the path of each value that PyTorch keeps together with others, where that is."""
    made = {}
    for prefix, module in modules.items():
        for name, ours in module.torch_joined.items():
            parts = [values[prefix + part] for part in ours if prefix + part in values]
            top, height = 0, sum(part.rows for part in parts)
            for part in parts:
                made[part.path] = _Joined(_renamed(modules, prefix, name), prefix, slice(top, top + part.rows), height)
                top += part.rows
    return made


def _modules_around(module: _Parts, prefix: str) -> dict[str, _Parts]:
    """Each module by the path of what is in it, as in ``layers.0.``."""
    found = {prefix: module}
    for name, child in module.named_children():
        if not isinstance(child, Param):
            found |= _modules_around(child, f"{prefix}{name}.")
    return found


# What the header says about a model


def _structure(module: _Parts, path: str) -> list[dict[str, Any]]:
    """Each module with its class and its settings, in the order of assignment."""
    settings = {
        name: plain_fields(value) if isinstance(value, Config) else value
        for name, value in vars(module).items()
        if isinstance(value, bool | int | float | str | Config)
    }
    rows = [{"path": path, "class": type(module).__name__, "settings": {k: _finite(v) for k, v in settings.items()}}]
    for name, child in module.named_children():
        if not isinstance(child, Param):
            rows += _structure(cast(_Parts, child), f"{path}.{name}" if path else name)
    return rows


def _finite(value: Any) -> Any:
    """A setting as JSON has it, which knows no inf and no NaN."""
    return repr(value) if isinstance(value, float) and value - value != 0 else value
