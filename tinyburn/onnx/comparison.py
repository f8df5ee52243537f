"""Where two stacks part: the first node of a model whose results differ by more than rounding.

Golden numbers decide whether two stacks agree, not loss curves: a wrong pad or a wrong epsilon still learns. Each
engine runs the model on the same inputs, and the results of each node are held against each other in the order of the
graph. What differs after the first difference is often its consequence, so the first one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tinyburn.autodiff import Autodiff
from tinyburn.backend import Device, NdArray
from tinyburn.base.errors import OnnxError
from tinyburn.base.text import table
from tinyburn.tensor import Tensor
from tinyburn.viz import Picture, graph
from tinyburn.viz.fold import LIMIT

from .engines import Engine, OnReference, OnRuntime, OnTinyburn, tensor_of
from .module import Source, load
from .reading import path_of, read_model

Numbers: TypeAlias = np.ndarray[Any, Any]

TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
"""By dtype: how far apart results may be, as a part of the largest number in them. A sum of n numbers in another order
may differ in its last digits, and more the more numbers there are; a wrong formula differs in the first."""
BY_NAME: dict[str, Callable[[], Engine]] = {"onnxruntime": OnRuntime, "reference": OnReference}


class Difference(NamedTuple):
    """What two engines gave for one value.

    Attributes:
        path: the name of the node.
        largest: the largest difference, as a part of the largest number; infinite for another shape or dtype.
        words: what differs, if it is not the numbers alone.
    """

    path: str
    operator: str
    value: str
    largest: float
    tolerance: float
    words: str

    @property
    def parts(self) -> bool:
        """Whether it is more than rounding."""
        return not self.largest <= self.tolerance


class Comparison:
    """The values of a model in two engines, in the order of its nodes.

    Attributes:
        names: of the two engines.
        differences: one for each value that both gave.
        first: the first that is more than rounding; None if there is none.
    """

    def __init__(
        self, names: tuple[str, str], differences: Sequence[Difference], model: Any, inputs: Sequence[Numbers]
    ) -> None:
        self.names = names
        self._model, self._inputs = model, inputs
        self.differences = tuple(differences)
        self.first = next((each for each in differences if each.parts), None)

    @property
    def agrees(self) -> bool:
        """Whether no value differs by more than rounding."""
        return self.first is None

    def picture(self, boxes: int = LIMIT) -> Picture:
        """The graph of what went into the first value that differs, whose box has the strong frame; if none differs,
        into the last value.

        Args:
            boxes: as of `viz.graph`.

        Raises what `viz.graph` raises, for a value that nothing trained goes into.
        """
        wanted = self.first or self.differences[-1]
        device = Autodiff[NdArray].device()
        module = load(self._model.SerializeToString(), device)
        found: dict[str, Any] = {}
        given = [_leaf(tensor_of(each, device)) for each in self._inputs]
        module.watched(given, lambda step, name, flow: found.setdefault(name, flow))
        names = dict(zip([port.name for port in module.inputs], given, strict=True))
        return graph(found[wanted.value].tensor, boxes=boxes, **{**names, "model": module})

    def __repr__(self) -> str:
        one, other = self.names
        if self.first is None:
            head = f"{one} and {other} agree on {len(self.differences)} values"
        else:
            first = self.first
            head = f"{one} and {other} part at {first.path} ({first.operator}): {_words(first)}"
        return f"{head}\n\n{table(('node', 'operator', 'value', 'difference', 'allowed', 'verdict'), self._rows())}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (each.path, each.operator, each.value, f"{each.largest:.1e}", f"{each.tolerance:.0e}", _verdict(each))
            for each in self.differences
        ]


def _words(each: Difference) -> str:
    return each.words or f"they differ by {each.largest:.1e} of the largest number"


def _verdict(each: Difference) -> str:
    return (each.words or "parts") if each.parts else ""


def compare(
    source: Source,
    inputs: Sequence[Tensor[Any, Any, Any] | Numbers],
    one: Device[Any] | str | None = None,
    other: Device[Any] | str = "onnxruntime",
    *,
    tolerance: float | None = None,
) -> Comparison:
    """Runs a model in two engines, and compares what each node gives.

    Args:
        source: as of `load`.
        inputs: a tensor or NumPy array for each input of the graph.
        one, other: a device, for tinyburn on it (by default NumPy); ``"onnxruntime"``; or ``"reference"``, for the
            evaluator of the package onnx.
        tolerance: how far apart results may be, as a part of the largest number in them; by default `TOLERANCE`, by
            dtype.

    Raises:
        OnnxError: an engine cannot run the model.
        BackendUnavailable: a package is not installed.
    """
    proto = read_model(source)
    engines = [_engine(NdArray.device() if each is None else each) for each in (one, other)]
    numbers = [each.to_numpy() if isinstance(each, Tensor) else np.asarray(each) for each in inputs]
    first, second = (engine.run(proto, numbers) for engine in engines)
    names = engines[0].name, engines[1].name
    return Comparison(names, _differences(proto, first, second, tolerance), proto, numbers)


def _leaf(tensor: Any) -> Any:
    """A float tensor becomes a leaf of the graph, so that it is drawn even if the model has no parameters."""
    return tensor.require_grad() if str(tensor.dtype).startswith("float") else tensor


def _engine(asked: Device[Any] | str) -> Engine:
    if isinstance(asked, Device):
        return OnTinyburn(asked)
    if asked not in BY_NAME:
        hint = f"give a device, or one of {', '.join(map(repr, BY_NAME))}"
        raise OnnxError("onnx.compare", f"there is no engine {asked!r}", hint=hint)
    return BY_NAME[asked]()


def _differences(
    proto: Any, one: Mapping[str, Numbers], other: Mapping[str, Numbers], tolerance: float | None
) -> list[Difference]:
    found = []
    for number, node in enumerate(proto.graph.node):
        for name in node.output:
            if name in one and name in other:
                allowed = TOLERANCE.get(str(one[name].dtype), 0.0) if tolerance is None else tolerance
                largest, words = _distance(one[name], other[name])
                found.append(Difference(path_of(node, number), node.op_type, name, largest, allowed, words))
    return found


def _distance(one: Numbers, other: Numbers) -> tuple[float, str]:
    if one.shape != other.shape:
        return np.inf, f"shapes {one.shape} and {other.shape}"
    if one.dtype != other.dtype:
        return np.inf, f"dtypes {one.dtype} and {other.dtype}"
    if not one.size or np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
        return 0.0, ""
    wide_one, wide_other = one.astype(np.float64), other.astype(np.float64)
    if not np.array_equal(np.isfinite(wide_one), np.isfinite(wide_other)):
        return np.inf, "infinities or NaN in one of them"
    is_finite = np.isfinite(wide_one)
    apart = np.abs(wide_one - wide_other)[is_finite].max(initial=0.0)
    return float(apart / max(np.abs(wide_other)[is_finite].max(initial=0.0), np.finfo(np.float32).tiny)), ""
