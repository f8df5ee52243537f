"""A parameter: a tensor that training changes."""

from __future__ import annotations

from itertools import count
from typing import Any, Generic

from typing_extensions import TypeVar

from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.interface import Backend
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import reject_dtype

B = TypeVar("B", bound=Backend, covariant=True)
IB = TypeVar("IB", bound=Backend)
D = TypeVar("D", default=Any)
TB = TypeVar("TB", bound=Backend)  # of the tensor that a static method is handed
TD = TypeVar("TD")

_numbers = count()


class Param(Generic[B, D]):
    """Holds a tensor, and an id that stays the same while training replaces the tensor.

    Attributes:
        id: a number that no other parameter of this process has; an optimizer keeps its state by it.
    """

    __slots__ = ("_tensor", "id")

    def __init__(self, tensor: Tensor[B, D], number: int | None = None) -> None:
        self._tensor = tensor
        self.id = next(_numbers) if number is None else number

    @staticmethod
    def from_tensor(tensor: Tensor[TB, TD]) -> Param[TB, TD]:
        """A new parameter. On an autodiff backend it is tracked; in the event log its buffer is a parameter's.

        Raises DTypeMismatch for an Int or Bool tensor, and GraphError for the result of tracked operations.
        """
        return Param(_as_parameter(tensor))

    def val(self) -> Tensor[B, D]:
        """The tensor."""
        return self._tensor

    def replaced(self, tensor: Tensor[TB, D]) -> Param[TB, D]:
        """The same parameter with another value."""
        return Param(_as_parameter(tensor), self.id)

    def untracked(self) -> Param[B, D]:
        """The same parameter as a constant for autodiff."""
        return Param(self._tensor.detach(), self.id)

    def inner(self: Param[Differentiable[IB], D]) -> Param[IB, D]:
        """The same parameter on the backend inside autodiff."""
        tensor: Any = self._tensor
        return Param(tensor.inner(), self.id)

    def __deepcopy__(self, memo: dict[int, Any]) -> Param[B, D]:
        """A parameter of its own, with the same values: training one of the two leaves the other as it is."""
        return Param.from_tensor(self._tensor.detach())

    def __repr__(self) -> str:
        return f"Param({self._tensor.shape}, {self._tensor.dtype})"


def _as_parameter(tensor: Any) -> Any:
    if tensor.primitive.dtype.kind != "f":
        raise reject_dtype("Param.from_tensor", tensor, "float")
    if tensor.backend.is_autodiff:
        tensor = tensor.require_grad()
    tensor.backend.note(tensor.primitive, "parameter")
    return tensor
