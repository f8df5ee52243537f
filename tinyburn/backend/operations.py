"""What is known of an operation. Every fact that anybody asks for stands once: beside its declaration.

`required` declares an operation that each backend computes by itself, `composed` one that is made of others. Either
takes the facts and enters the operation in `OPERATIONS`. The decorators, `Meta`, the checkpointing, the pictures, the
docs and the tests read them there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from inspect import getdoc
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from tinyburn.base.shape import Shape, broadcast_shape

Method = TypeVar("Method", bound=Any)

Result: TypeAlias = Literal["like", "bool", "index", "dtype"]
"""The dtype of a result: that of the first tensor, truth values, or what the parameter ``dtype`` asks for. An index
is a number to find something by, so it has no derivative."""
View: TypeAlias = Literal["never", "always", "maybe"]
"""Whether a result shares the buffer of the first tensor. Maybe: if it lies in memory as it is wanted already."""

TENSORS = ("a", "b", "c", "mask", "indices", "out", "part", "weight", "bias")
"""Parameters of these names are tensors, and any other is only passed on. A number may stand for ``a`` or ``b``."""
NUMBERS = (float, int, bool)
"""What such a number can be."""


@dataclass(eq=False)
class Operation:
    """One operation of the interface.

    Attributes:
        parameters: their names, in order.
        meaning: in one line.
        shape: of the result, from the arguments.
        result: which dtype the result has.
        view: whether the result shares the buffer of the first tensor.
        cheap: whether it takes no longer than to pass over its operands once, so that it is cheap to compute again.
        is_default: whether it is composed of others; a backend may still have a better way of its own.
        fused: whether each of our backends has that better way, which allocates the result alone. So an event log has
            it as one operation, and the composition says what it means.
        in_place: whether `Backend.into` can compute it in a buffer that one of its operands lies in.
        label: what a reader calls it, in pictures and errors: ``pow`` for ``powf_scalar``, ``mean`` for ``mean_dims``.
        name: that of the attribute or method that declares it.
        tensors: the positions of the parameters that are tensors.
        repeats: whether the last parameter, then declared as ``*part``, stands for any number of tensors.
    """

    parameters: tuple[str, ...]
    meaning: str
    shape: Callable[..., Shape] = field(repr=False)
    result: Result = "like"
    view: View = "never"
    cheap: bool = True
    is_default: bool = False
    fused: bool = False
    in_place: bool = False
    label: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        self.repeats = self.parameters[-1].startswith("*")
        self.parameters = tuple(parameter.removeprefix("*") for parameter in self.parameters)
        self.tensors = tuple(at for at, parameter in enumerate(self.parameters) if parameter in TENSORS)
        self.__doc__ = self.meaning

    def __set_name__(self, _: object, name: str) -> None:
        self.name = name
        self.label = self.label or name.removesuffix("_dims")
        OPERATIONS[name] = self

    def taking(self, count: int) -> Operation:
        """The operation for a call with so many arguments: each tensor of a repeated parameter gets a number.

        So whoever wraps an operation, or looks for its rules, always has one with a fixed list of parameters.
        """
        if not self.repeats:
            return self
        *others, last = self.parameters
        made = replace(self, parameters=(*others, *[f"{last}{at}" for at in range(count - len(others))]))
        made.tensors = (*self.tensors[:-1], *range(len(others), count))
        return made

    def __call__(self, *_: Any) -> Any:
        raise NotImplementedError(f"a backend has to compute {self.name}: {self.meaning}")

    @property
    def elementwise(self) -> bool:
        """Whether each element of the result comes from the elements at the same indices."""
        return self.shape is broadcast

    def dtype(self, arguments: Sequence[Any]) -> np.dtype[Any]:
        """The dtype of the result for these arguments."""
        if self.result == "like":
            tensors = [arguments[at] for at in self.tensors if type(arguments[at]) not in NUMBERS]
            dtype: np.dtype[Any] = tensors[0].dtype
            return dtype
        return np.dtype("bool" if self.result == "bool" else arguments[self.parameters.index("dtype")])

    def fits(self, target: Any, arguments: Sequence[Any]) -> bool:
        """Whether it can run in place, and the result for these arguments has the shape and the dtype of a target."""
        return bool(self.in_place and self.shape(*arguments) == target.shape and self.dtype(arguments) == target.dtype)


OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name, in the order of the interface."""


def label_of(name: str) -> str:
    """What a reader calls the operation of a name; one that is not of the interface has its name."""
    operation = OPERATIONS.get(name)
    return name if operation is None else operation.label


def broadcast(*operands: Any) -> Shape:
    """The shape of an elementwise result, to which the tensors among the operands stretch. A number fits any."""
    shapes = [operand.shape for operand in operands if type(operand) not in NUMBERS]
    shape: Shape = shapes[0]
    for other in shapes[1:]:
        shape = shape if other == shape else broadcast_shape(shape, other)
    return shape


def like_first(a: Any, *_: Any) -> Shape:
    """The shape of the first operand."""
    shape: Shape = a.shape
    return shape


def required(parameters: str, meaning: str, shape: Callable[..., Shape] = broadcast, **facts: Any) -> Any:
    """Declares an operation that only a backend itself can compute; ``facts`` are attributes of `Operation`."""
    return Operation(tuple(parameters.split(", ")), meaning, shape, **facts)


def composed(shape: Callable[..., Shape], **facts: Any) -> Callable[[Method], Method]:
    """Declares an operation that is made of others, in the way that a class method says."""

    def declare(method: Method) -> Method:
        parameters = method.__code__.co_varnames[1 : method.__code__.co_argcount]
        meaning = (getdoc(method) or "").partition("\n")[0].rstrip(".")
        Operation(parameters, meaning, shape, is_default=True, **facts).__set_name__(None, method.__name__)
        return method

    return declare


def shortcut(method: Method) -> Method:
    """Marks a backend's quicker way to an operation that still counts as composed: it takes the steps of the
    composition, and makes the same buffers. An event log shows these, and asks the backend for each of them.
    """
    method.is_shortcut = True
    return method


def called(name: str, function: Any) -> Any:
    """The function under a name that a traceback, a profiler and an editor show: ``NdArray.add``."""
    function.__name__ = name.rpartition(".")[2]
    function.__qualname__ = name
    if hasattr(function, "__code__"):
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function
