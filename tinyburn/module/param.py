"""A parameter: a tensor that training changes, who it is, and whether it is frozen."""

from __future__ import annotations

import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.device import Device
from tinyburn.backend.interface import Backend
from tinyburn.base import foreign
from tinyburn.base.errors import DTypeMismatch
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor, reject_dtype

B = TypeVar("B", bound=Backend, covariant=True)
IB = TypeVar("IB", bound=Backend)
D = TypeVar("D", default=Any)
TB = TypeVar("TB", bound=Backend)  # of the tensor that a static method is handed
TD = TypeVar("TD")

_numbers = count()


class ParamId:
    """Who a parameter is, while training replaces its value. An optimizer keeps its state by it.

    It is an object and not a mere number so that what is copied or pickled in one go stays together: the parameters
    of a copied model, and the state that a copied optimizer has for them. Each copy gets a number of its own.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)

    def __reduce__(self) -> Any:
        return ParamId, ()

    def __repr__(self) -> str:
        return f"ParamId({self.number})"


class Param(Generic[B, D]):
    """Holds a tensor, and an id that stays the same while training replaces the tensor.

    A copy, however it is made, is another parameter: with an id of its own, and on autodiff with a leaf of its own.
    Whether a parameter is frozen goes along with every copy.

    Attributes:
        id: no other parameter of this process has it; an optimizer keeps its state by it.
        is_frozen: whether it is a constant for autodiff, so that training leaves it as it is.
    """

    __slots__ = ("_tensor", "id", "is_frozen")

    def __init__(self, tensor: Tensor[B, D], identity: ParamId | None = None, is_frozen: bool = False) -> None:
        check_tensor("Param", tensor)
        self._tensor = tensor
        self.id = ParamId() if identity is None else identity
        self.is_frozen = is_frozen

    @staticmethod
    def from_tensor(tensor: Tensor[TB, TD]) -> Param[TB, TD]:
        """A new parameter. On an autodiff backend it is tracked; in the event log its buffer is a parameter's.

        Raises DTypeMismatch for an Int or Bool tensor, and GraphError for the result of tracked operations.
        """
        return _parameter(tensor, ParamId(), is_frozen=False)

    def val(self) -> Tensor[B, D]:
        """The tensor."""
        return self._tensor

    def replaced(self, tensor: Tensor[TB, D]) -> Param[TB, D]:
        """The same parameter with another value; frozen if it was."""
        return _parameter(tensor, self.id, self.is_frozen)

    def stepped(self, primitive: Any) -> Param[B, D]:
        """The same parameter after an optimizer's step, around what that has computed on the backend inside autodiff.

        A step makes all of its parameters so: nothing is checked twice, and no tensor is made on the way.
        """
        tensor, identity = self._tensor, self.id
        backend: Any = tensor.device.backend
        made: Param[B, D] = object.__new__(Param)
        made._tensor = tensor._new(backend.parameter(primitive, identity))
        made.id = identity
        made.is_frozen = False
        return made

    def freeze(self) -> Param[B, D]:
        """The same parameter as a constant for autodiff."""
        return self if self.is_frozen else _parameter(self._tensor.detach(), self.id, is_frozen=True)

    def unfreeze(self) -> Param[B, D]:
        """The same parameter, for training to change again."""
        return _parameter(self._tensor, self.id, is_frozen=False) if self.is_frozen else self

    def fork(self, device: Device[Any]) -> Param[Any, D]:
        """A parameter of its own with the same values, on a device."""
        values: Any = copy.deepcopy(self._tensor.detach())
        return _parameter(values.to_device(device), ParamId(), self.is_frozen)

    def inner(self: Param[Differentiable[IB], D]) -> Param[IB, D]:
        """A parameter of its own with the same values, on the backend inside autodiff."""
        tensor: Any = self._tensor
        return Param(tensor.inner(), ParamId(), self.is_frozen)

    def __copy__(self) -> Param[B, D]:
        return copy.deepcopy(self)

    def __reduce__(self) -> Any:
        """What a deep copy and a pickle are made from."""
        return _parameter, (self._tensor.detach(), self.id, self.is_frozen)

    if not TYPE_CHECKING:  # NumPy would make an array of one object, the parameter itself

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise _no_array()

        def __dlpack__(self, **_: Any) -> Any:
            raise _no_array()

        def __dlpack_device__(self) -> Any:
            raise _no_array()

    def __repr__(self) -> str:
        return f"Param({self._tensor.shape}, {self._tensor.dtype}{', frozen' if self.is_frozen else ''})"


foreign.leave_out(Param, "param")


def _no_array() -> DTypeMismatch:
    """The error where another library takes a parameter for its values."""
    return DTypeMismatch(
        "conversion to an array", "a parameter holds a tensor, and is none", hint="write param.val() for the tensor"
    )


def _parameter(tensor: Tensor[B, D], identity: ParamId, is_frozen: bool) -> Param[B, D]:
    """A parameter whose tensor is a leaf of the graph, that no other parameter has; or a constant if it is frozen."""
    check_tensor("Param", tensor)
    primitive: Any = tensor.primitive
    result: Any = tensor
    if primitive.dtype.kind != "f":
        raise reject_dtype("Param.from_tensor", tensor, "float")
    if tensor.backend.is_autodiff:
        belongs_to_another = primitive.is_tracked and primitive.node.is_parameter
        leaf = (result.detach() if belongs_to_another else result).require_grad()
        result = leaf.detach() if is_frozen else leaf
    result.backend.note(result.primitive, "parameter", identity)
    return Param(result, identity, is_frozen)
