"""The backend tests of the package onnx: models with inputs and the outputs that the standard asks for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinyburn import Device, DType, Tensor

onnx = pytest.importorskip("onnx", reason="these tests need the extra onnx")

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
DTYPES = tuple(str(member) for member in DType)


@dataclass(frozen=True)
class Case:
    """One test.

    Attributes:
        source: the bytes of the model, or its path.
        data: pairs of inputs and outputs: NumPy arrays, lists of such, or None for an empty optional.
    """

    kind: str
    name: str
    source: Any
    data: list[tuple[list[Any], list[Any]]]
    rtol: float

    def __repr__(self) -> str:
        return self.name


@cache
def cases() -> list[Case]:
    """All of these kinds, which the package makes or has beside it."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [_case(one) for kind in KINDS for one in load_model_tests(kind=kind)]


def _case(one: Any) -> Case:
    if one.model is not None:
        data = [([_numbers(x) for x in given], [_numbers(x) for x in wanted]) for given, wanted in one.data_sets]
        return Case(one.kind, one.name, one.model.SerializeToString(), data, one.rtol)
    folder = Path(one.model_dir)
    graph = onnx.load(str(folder / "model.onnx")).graph
    data = [
        ([*_read(each, "input", graph.input)], [*_read(each, "output", graph.output)])
        for each in sorted(folder.glob("test_data_set_*"))
    ]
    return Case(one.kind, one.name, str(folder / "model.onnx"), data, one.rtol)


def _read(folder: Path, word: str, ports: Any) -> Iterator[Any]:
    protos = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    for at in range(len(list(folder.glob(f"{word}_*.pb")))):
        proto = protos.get(ports[at].type.WhichOneof("value"), onnx.TensorProto)()
        proto.ParseFromString((folder / f"{word}_{at}.pb").read_bytes())
        yield _numbers(proto)


def _numbers(given: Any) -> Any:
    from onnx import numpy_helper

    readers = {"TensorProto": "to_array", "SequenceProto": "to_list", "OptionalProto": "to_optional"}
    name = type(given).__name__
    return getattr(numpy_helper, readers[name])(given) if name in readers else given


def tensor_of(given: Any, device: Device[Any]) -> Any:
    """What a module takes for a NumPy array or a list of such."""
    if isinstance(given, list):
        return [tensor_of(each, device) for each in given]
    if given is None:
        return None
    array = np.asarray(given)
    dtype: Any = str(array.dtype)
    assert dtype in DTYPES
    return Tensor.from_data(array.reshape(array.shape or (1,)), device, dtype)


def assert_same(found: Any, wanted: Any, rtol: float) -> None:
    """Shape, dtype and numbers; of a sequence those of each element."""
    if isinstance(wanted, list):
        assert isinstance(found, list)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, rtol)
    elif wanted is None:
        assert found is None
    else:
        wanted = np.asarray(wanted)
        assert isinstance(found, Tensor)
        assert tuple(found.shape) == (wanted.shape or (1,))
        assert str(found.dtype) == str(wanted.dtype)
        np.testing.assert_allclose(found.to_numpy().reshape(wanted.shape), wanted, rtol=rtol, atol=1e-7)


def light_models() -> list[Path]:
    """The networks that the package has beside its tests, with numbers from a formula in place of trained weights."""
    folder = Path(os.path.dirname(onnx.__file__)) / "backend" / "test" / "data" / "light"
    return sorted(folder.glob("*.onnx"))
