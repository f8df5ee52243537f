"""ModelRecord: the values of a model by their paths, with what is known about the model they were trained in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from tinyburn.base.dtype import to_dtype
from tinyburn.base.errors import RecordError
from tinyburn.tensor import Tensor, TensorData

from .container import Values

Layout: TypeAlias = Literal["tinyburn", "torch"]
"""Whose names and order of dims a file has: tinyburn's, or PyTorch's."""

LAYOUTS = ("tinyburn", "torch")

AnyTensor: TypeAlias = Tensor[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """What ``model.into_record()`` makes, and `load` reads.

    Attributes:
        model: the name of the model's class.
        values: every parameter and constant by its path; a shared one once, at its first path. After reading they are
            on the host, as `TensorData`.
        structure: for each module its path, the name of its class, and its settings.
        config: the fields of the config that was handed to ``save``.
        device: where the model was.
        frozen: the paths of the frozen parameters.
        shared: for each further place of a shared value the path that it is stored at.
        layout: whose names and order of dims the values have; None if the file does not say so.
        narrow: the names of those that the file holds in bfloat16.
    """

    model: str | None
    values: Mapping[str, AnyTensor | TensorData]
    structure: list[dict[str, Any]] = field(default_factory=list)
    config: dict[str, Any] | None = None
    device: str | None = None
    frozen: list[str] = field(default_factory=list)
    shared: dict[str, str] = field(default_factory=dict)
    layout: str | None = "tinyburn"
    narrow: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"ModelRecord({self.model}, {len(self.values)} tensors, layout={self.layout!r})"

    def about(self) -> dict[str, Any]:
        """All but the values, as the header of a file has it."""
        return {
            **{"class": self.model, "structure": self.structure, "config": self.config, "device": self.device},
            **{"dtype": sorted({str(value.dtype) for value in self.values.values()})},
            **{"frozen": self.frozen, "shared": self.shared, "layout": self.layout, "names": list(self.values)},
        }

    def fitted(self, asked: str, places: Iterable[Place], cast: bool) -> list[TensorData]:
        """The values for some places, in their order. Raises RecordError with everything that does not fit."""
        places = list(places)
        reasons, used = [], set()
        found: list[TensorData] = []
        for place in places:
            at = self._stored_at(place)
            if at is None:
                reasons.append(self._missing(place, places))  # of parts of one tensor the same is said, once
                continue
            used |= {at, *place.others}
            value, reason = _fitted(self.values[at], place, at in self.narrow, cast)
            reasons += reason
            reasons += [
                f"{place.path} and {other} are one in this model, and two different ones in the file"
                for other in place.others
                if other in self.values and not _same(self.values[other], self.values[at])
            ]
            found.append(value)
        reasons += self._unused(used, places)
        if reasons:
            raise self._refused(asked, [*dict.fromkeys(reasons)], cast)
        return found

    def _stored_at(self, place: Place) -> str | None:
        candidates = [place.path, *place.others]
        candidates += [self.shared[path] for path in candidates if path in self.shared]
        return next((path for path in candidates if path in self.values), None)

    def _missing(self, place: Place, places: list[Place]) -> str:
        wanted = {one.path for one in places}
        free = [name for name in self.values if name not in wanted]
        return f"{place.path} {list(place.stored_shape)} is missing{_nearest(place.path, free)}"

    def _unused(self, used: set[str], places: list[Place]) -> list[str]:
        left = [name for name in self.values if name not in used and name not in self.shared.values()]
        if self.layout == "torch":  # a count of batches, which no formula here needs
            left = [name for name in left if not name.endswith("num_batches_tracked")]
        free = [place.path for place in places if place.path not in self.values]
        return [f"the file's {name} is not used by the model{_nearest(name, free)}" for name in left]

    def _refused(self, asked: str, reasons: list[str], cast: bool) -> RecordError:
        hint = "load it into a model of the config that it was saved from"
        if not cast and all("cast=True" in reason for reason in reasons):
            hint = "write cast=True to convert them"
        elif any("missing" in reason for reason in reasons):
            hint += '; other names are mapped by names={"ours": "theirs"}'
        return RecordError(asked, reasons, given={"file": f"a {self.model}" if self.model else "no class"}, hint=hint)


@dataclass(frozen=True)
class Place:
    """Where a model needs values.

    Attributes:
        path: the name in the record.
        others: the further names of the same place, if it is shared.
        transposed: whether the two dims of the record are the other way round.
        rows: which rows of the record's tensor these values are, where it has those of several places; else all.
        height: how many rows the record's tensor has.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    others: tuple[str, ...] = ()
    transposed: bool = False
    rows: slice | None = None
    height: int = 0

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the record's tensor."""
        shape = self.shape[::-1] if self.transposed else self.shape
        return shape if self.rows is None else (self.height, *shape[1:])

    def taken(self, array: Values) -> Values:
        """The record's values as the model has them."""
        array = array if self.rows is None else array[self.rows]
        return array.T if self.transposed else array


def _nearest(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; the nearest name is {close[0]}" if close else ""


def _same(one: AnyTensor | TensorData, other: AnyTensor | TensorData) -> bool:
    return bool(host(one) == host(other))


def host(value: AnyTensor | TensorData) -> TensorData:
    """The values on the host."""
    return value if isinstance(value, TensorData) else value.into_data()


def _fitted(value: AnyTensor | TensorData, place: Place, is_narrow: bool, cast: bool) -> tuple[TensorData, list[str]]:
    """The values as a place needs them, and why they cannot be had."""
    data, reasons = host(value), []
    if data.shape != place.stored_shape:
        reasons.append(f"{place.path} has the shape {list(data.shape)} in the file, and {_wanted(place)}")
    found, wanted = "bfloat16" if is_narrow else str(data.dtype), to_dtype(place.dtype)
    if found != wanted:
        if data.dtype.kind is not wanted.kind:
            reasons.append(f"{place.path} has {found} in the file, and {wanted} in the model, which is another kind")
        elif not cast:
            reasons.append(f"{place.path} has {found} in the file, and {wanted} in the model; cast=True converts it")
    if reasons:
        return data, reasons
    with np.errstate(all="ignore"):  # too large for the format is inf there
        return TensorData.owning(np.asarray(place.taken(data.values), np.dtype(wanted), order="C")), []


def _wanted(place: Place) -> str:
    """The shape in the model, and where a file has it in another way, the one that it should have there."""
    here, there = list(place.shape), list(place.stored_shape)
    if here == there:
        return f"{here} in the model"
    return f"{here} in the model, {'which is' if place.rows is None else 'as a part of'} {there} there"
