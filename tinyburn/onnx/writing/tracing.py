"""Exported[B]: a forward pass runs once without numbers, and what it asks of the backend is kept, to be written down.

A primitive is a `Call`: an operation, what it was asked with, and the shape that comes out. Shapes and dtypes follow
from the operation's declaration, so nothing is computed that depends on an input or a parameter, however large a model
is. Everything else, such as a mask or a table of positions, is computed by the backend inside, and stays a constant.

The results hold their operands, so the outputs alone hold the whole graph: a device keeps no list.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Generic, TypeVar

import numpy as np

from tinyburn.backend.decorator import Decorator
from tinyburn.backend.interface import Array, Backend
from tinyburn.backend.operations import Operation
from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape

from .rows.table import EXPORTS

IB = TypeVar("IB", bound=Backend)

_numbers = count()


class Call:
    """What was asked of the backend, and the primitive that stands for its result.

    Attributes:
        operation: its name in the interface; ``input``, ``parameter``, ``constant`` for what the program
            has made from numbers of its own, ``random`` for a draw.
        value: the numbers, of a primitive of the backend inside; None if they depend on an input or a parameter.
        path: of the module that asked.
        label: the name of a parameter, of an input or of a module's tensor.
        number: calls are numbered in the order of the program.
    """

    __slots__ = ("arguments", "dtype", "label", "number", "operation", "path", "shape", "value")

    def __init__(
        self,
        operation: str,
        arguments: tuple[Any, ...],
        shape: Shape,
        dtype: np.dtype[Any],
        value: Array | None = None,
        label: str = "",
    ) -> None:
        self.operation, self.arguments, self.shape, self.dtype = operation, arguments, tuple(shape), dtype
        self.value, self.label = value, label
        self.path = current_path()
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"Call({self.operation}, {self.shape}, {self.dtype.name})"

    @property
    def depends(self) -> bool:
        """Whether its numbers depend on an input or a parameter."""
        return self.value is None


class Exported(Decorator, Generic[IB]):
    """The operations that have a row in `EXPORTS` are kept as they are; the others as those that they are made of.

    A program cannot read the numbers of any tensor: what it decides by them is not in a graph.
    """

    @classmethod
    def _tables(cls) -> tuple[Any, ...]:
        return (*super()._tables(), *EXPORTS)

    @classmethod
    def _attributes(cls, *options: type[Any]) -> dict[str, Any]:
        return {"has_values": False}

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        if operation.is_default and operation.name not in EXPORTS:
            return None
        return _kept(operation, getattr(cls.inner, operation.name))

    @classmethod
    def _wrap_made(cls, maker: str, primitive: Array, device: Any) -> Call:
        return Call("constant", (), primitive.shape, primitive.dtype, primitive)

    @classmethod
    def random(cls, shape: Shape, distribution: AnyDistribution, dtype: DType, device: Any) -> Call:
        """A call without a row: each run of a file would draw the same numbers."""
        return Call("random", (), shape, np.dtype(dtype))

    @classmethod
    def shares_buffer(cls, a: Call, b: Call) -> bool:
        """See `Backend.shares_buffer`."""
        return a is b

    @classmethod
    def separate(cls, a: Call) -> Call:
        """See `Backend.separate`."""
        return a

    @classmethod
    def index_bounds(cls, a: Call) -> tuple[int, int] | None:
        """Those of constants."""
        return None if a.value is None else cls.inner.index_bounds(a.value)

    @classmethod
    def note(cls, a: Call, event: str, detail: Any = "") -> None:
        """Nobody listens."""


def _kept(operation: Operation, compute: Any) -> Any:
    """An operation that is computed if its operands are constants, and otherwise kept alone."""
    name, shape_of, dtype_of = operation.name, operation.shape, operation.dtype

    def kept(*arguments: Any) -> Call:
        if any(type(x) is Call and x.value is None for x in arguments):
            return Call(name, arguments, shape_of(*arguments), dtype_of(arguments))
        value = compute(*[x.value if type(x) is Call else x for x in arguments])
        return Call(name, arguments, value.shape, value.dtype, value)

    return kept
