"""Writes a graph of ONNX: nodes, the constants that they read, and the lengths that follow the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.base.shape import is_count
from tinyburn.onnx.protos import number_of, onnx

from .lengths import Length, Shape, Unknown, is_free

Numbers: TypeAlias = np.ndarray[Any, Any]
INT64 = np.dtype(np.int64)


class Edge:
    """A value of the graph.

    Attributes:
        shape: () where nobody asks for it, as between the nodes of one row.
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, dtype: np.dtype[Any], shape: Shape = ()) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape

    def __repr__(self) -> str:
        return f"Edge({self.name}, {self.shape}, {self.dtype.name})"

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)


class Writer:
    """Collects the nodes of a file, in order.

    Attributes:
        path: of the module that the next nodes belong to.
        batch: the input that has the batch, and its dim; None if the batch is fixed.
        nodes: the messages so far.
        constant_bytes: of the numbers in them.
    """

    def __init__(self, names: Sequence[str], batch: tuple[str, int] | None) -> None:
        self.path = ""
        self.batch = batch
        self.nodes: list[Any] = []
        self.constant_bytes = 0
        self._taken = dict.fromkeys(names, 0)
        self._constants: dict[Any, Edge] = {}
        self._lengths: dict[Any, Edge] = {}

    def __repr__(self) -> str:
        return f"Writer({len(self.nodes)} nodes)"

    def new_name(self, name: str) -> str:
        """The name, or, if another one has it, with a number behind."""
        found = name
        while found in self._taken:
            self._taken[name] += 1
            found = f"{name}_{self._taken[name]}"
        self._taken[found] = 0
        return found

    def node(
        self, operator: str, *inputs: Any, dtype: Any = None, outputs: int = 1, take: int = 0, **attributes: Any
    ) -> Edge:
        """Writes a node.

        Args:
            inputs: edges, None for what is left out, or numbers: an array, a list of lengths, or one number, which
                gets the dtype of the first edge.
            dtype: of the result, if it is not that of the first edge.
            outputs: how many it has.
            take: which of them is returned.
        """
        like = next((x.dtype for x in inputs if isinstance(x, Edge)), INT64)
        names = [self._input(x, like) for x in inputs]
        while names and not names[-1]:
            names.pop()
        name = self.new_name(f"{self.path}/{operator}" if self.path else operator)
        made = [name if at == take else self.new_name(f"{name}_{at}") for at in range(outputs)]
        self.nodes.append(onnx().helper.make_node(operator, names, made, name, **attributes))
        return Edge(name, like if dtype is None else np.dtype(dtype))

    def edge(self, value: Any, dtype: Any) -> Edge:
        """An operand that may be a number."""
        return value if isinstance(value, Edge) else self._number(value, np.dtype(dtype))

    def constant(self, values: Numbers, name: str = "") -> Edge:
        """A node with numbers; the same numbers are written once."""
        array = np.asarray(values, order="C")
        key = (name, array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            made = self.new_name(name or (f"{self.path}/Constant" if self.path else "Constant"))
            tensor = onnx().numpy_helper.from_array(array)
            self.nodes.append(onnx().helper.make_node("Constant", [], [made], made, value=tensor))
            self._constants[key] = Edge(made, array.dtype, array.shape)
            self.constant_bytes += array.nbytes
        return self._constants[key]

    def ints(self, numbers: Sequence[Any]) -> Edge:
        """Whole numbers in a line, some of which may follow the batch."""
        if not any(map(is_free, numbers)):
            return self.constant(np.array(numbers, np.int64))
        key = tuple(numbers)
        if key not in self._lengths:
            parts: list[Any] = []
            for number in numbers:
                if is_free(number):
                    parts.append(self._length(number))
                elif parts and isinstance(parts[-1], list):
                    parts[-1].append(number)
                else:
                    parts.append([number])
            edges = [part if isinstance(part, Edge) else self.ints(part) for part in parts]
            self._lengths[key] = edges[0] if len(edges) == 1 else self.node("Concat", *edges, axis=0)
        return self._lengths[key]

    def cast(self, x: Edge, dtype: Any) -> Edge:
        """The same numbers in another dtype, if it is another."""
        wanted = np.dtype(dtype)
        return x if x.dtype == wanted else self.node("Cast", x, to=number_of(wanted.name), dtype=wanted)

    def _input(self, x: Any, like: np.dtype[Any]) -> str:
        if x is None:
            return ""
        if isinstance(x, Edge):
            return x.name
        if isinstance(x, np.ndarray):
            return self.constant(x).name
        return (self.ints(x) if isinstance(x, (list, tuple)) else self._number(x, like)).name

    def _number(self, number: Any, dtype: np.dtype[Any]) -> Edge:
        if is_free(number):
            return self.cast(self._length(number), dtype)
        with np.errstate(over="ignore"):  # what is too large for the dtype is inf in it, as on a backend
            return self.constant(np.asarray(number).astype(dtype))

    def _length(self, length: Length | Unknown) -> Edge:
        if isinstance(length, Unknown):
            return length.refused()  # type: ignore[no-any-return]  # it raises
        if length not in self._lengths:
            if length == Length(1):
                found = self._batch()
            else:
                times = self._length(Length(1))
                times = times if length.slope == 1 else self.node("Mul", times, [length.slope])
                found = times if not length.fixed else self.node("Add", times, [length.fixed])
            self._lengths[length] = found
        return self._lengths[length]

    def _batch(self) -> Edge:
        if self.batch is None:
            raise OnnxError("onnx.save", "a length follows the batch, which is fixed")
        (name, dim), path = self.batch, self.path
        self.path = ""  # it belongs to the whole graph
        length = self.node("Shape", Edge(name, INT64), start=dim, end=dim + 1, dtype=INT64)
        self.path = path
        return length


def check_whole(shape: Shape) -> None:
    """Raises OnnxError for a shape that follows the batch, where an operator needs plain numbers."""
    if not all(is_count(length) for length in shape):
        lengths = ", ".join(map(str, shape))
        hint = "onnx.save(..., batch=None) keeps the batch of the example"
        raise OnnxError(
            "onnx.save", f"a length follows the batch where ONNX has only fixed ones: ({lengths})", hint=hint
        )
