"""A parameter: a tensor that training changes."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from tinyburn.backend.interface import Backend
from tinyburn.base import foreign
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor, reject_dtype

B = TypeVar("B", bound=Backend)
D = TypeVar("D", default=Any)

_numbers = count()


class Param(Generic[B, D]):
    """Holds a tensor, and an id that stays the same while training replaces the tensor.

    Attributes:
        id: a number that no other parameter of this process has; an optimizer keeps its state by it.
    """

    __slots__ = ("_tensor", "id")

    def __init__(self, tensor: Tensor[B, D], number: int | None = None) -> None:
        check_tensor("Param", tensor)
        self._tensor = tensor
        self.id = next(_numbers) if number is None else number

    @staticmethod
    def from_tensor(tensor: Tensor[B, D]) -> Param[B, D]:
        """A new parameter. On an autodiff backend it is tracked; in the event log its buffer is a parameter's.

        Raises DTypeMismatch for an Int or Bool tensor, and GraphError for the result of tracked operations.
        """
        return Param(_as_parameter(tensor))

    def val(self) -> Tensor[B, D]:
        """The tensor."""
        return self._tensor

    def replaced(self, tensor: Tensor[Any, D]) -> Param[Any, D]:
        """The same parameter with another value."""
        return Param(_as_parameter(tensor), self.id)

    def untracked(self) -> Param[B, D]:
        """The same parameter as a constant for autodiff."""
        return Param(self._tensor.detach(), self.id)

    def inner(self) -> Param[Any, D]:
        """The same parameter on the backend inside autodiff."""
        tensor: Any = self._tensor
        return Param(tensor.inner(), self.id)

    def __deepcopy__(self, memo: dict[int, Any]) -> Param[B, D]:
        """A parameter of its own, with the same values: training one of the two leaves the other as it is."""
        return Param.from_tensor(self._tensor.detach())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only for a name that is not there: PyTorch's are in a table, with ours."""
            raise foreign.missing("param", "a parameter", name)

    def __repr__(self) -> str:
        return f"Param({self._tensor.shape}, {self._tensor.dtype})"


def _as_parameter(tensor: Any) -> Any:
    check_tensor("Param", tensor)
    if tensor.primitive.dtype.kind != "f":
        raise reject_dtype("Param.from_tensor", tensor, "float")
    if tensor.backend.is_autodiff:
        tensor = tensor.require_grad()
    tensor.backend.note(tensor.primitive, "parameter")
    return tensor
