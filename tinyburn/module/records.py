"""A model as a record, and the values of a record at their places in a model; also in PyTorch's layout.

It is loaded only by the program that saves or loads something.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, cast

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
    values: dict[str, AnyTensor | TensorData] = {}
    for part, place in places:
        if place.path in values:
            raise RecordError(asked, f"two values have the name {place.path}", hint="map one of them to another name")
        tensor = _tensor(part)
        values[place.path] = TensorData.owning(host(tensor).values.T.copy()) if place.transposed else tensor
    return ModelRecord(
        type(model).__name__,
        values,
        structure=_structure(model, ""),
        config=None if config is None else {"config": type(config).__name__, **plain_fields(config)},
        device=", ".join(sorted({str(_tensor(part).device) for part, _ in places})),
        frozen=[place.path for part, place in places if isinstance(part, Param) and part.is_frozen],
        shared={other: place.path for _, place in places for other in place.others},
        layout=layout,
    )


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
class _Value:
    """A parameter or constant at one of its places: the path here, and the name in a layout."""

    path: str
    name: str
    part: AnyParam | AnyTensor
    transposed: bool = False


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
    first: dict[int, tuple[_Value, list[str]]] = {}
    for value in values:
        first.setdefault(id(value.part), (value, []))[1].append(_mapped(value, names or {}))
    return [(value.part, _place(value, found)) for value, found in first.values()]


def _place(value: _Value, names: list[str]) -> Place:
    tensor = _tensor(value.part)
    return Place(names[0], tensor.shape, str(tensor.dtype), tuple(names[1:]), value.transposed)


def _mapped(value: _Value, names: Names) -> str:
    """The name that the map has for the path itself, or for the closest module around it; ``""`` is the whole model."""
    if value.path in names:
        return names[value.path]
    head = value.path
    while head:
        head = head.rpartition(".")[0]
        if head in names:
            tail = value.name.removeprefix(f"{head}.") if head else value.name
            return f"{names[head]}.{tail}".lstrip(".")
    return value.name


def _check_names(asked: str, names: Names, values: list[_Value]) -> None:
    """Raises RecordError for a name in the map that is no path of the model: it would be overlooked."""
    paths = [f"{value.path}." for value in values]
    unused = [name for name in names if name and not any(path.startswith(f"{name}.") for path in paths)]
    if unused:
        reasons = [f"names maps {name}, which is no path of the model" for name in unused]
        raise RecordError(asked, reasons, hint='write names={"ours": "theirs"}, with paths of modules or of values')


def _in_torch(model: _Parts) -> list[_Value]:
    """Each value at each of its places, with its name in PyTorch, and whether it is transposed there.

    A module renames what is in it, so a path is renamed from its end to its beginning.
    """
    modules = _modules_around(model, "")
    found = []
    for path, part in model.named_values():
        around = sorted((prefix for prefix in modules if path.startswith(prefix)), key=len, reverse=True)
        name = path[len(around[0]) :]
        transposed = name in modules[around[0]].torch_transposed
        for prefix, outer in zip(around, [*around[1:], ""], strict=True):
            name = prefix[len(outer) :] + modules[prefix].torch_name(name)
        found.append(_Value(path, name, part, transposed))
    return found


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
