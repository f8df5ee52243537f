"""What `backward` returns: the gradient of every leaf, on the inner backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tinyburn.backend.defaults import Backend
from tinyburn.base.errors import BackendMismatch
from tinyburn.base.text import table
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor

from .graph import Node

if TYPE_CHECKING:
    from .flow import Flow

IB = TypeVar("IB", bound=Backend)


class HasParams(Protocol):
    """A model, as far as gradients are concerned."""

    def named_params(self) -> Iterator[tuple[str, Any]]:
        """Each parameter with its path."""
        ...


class Gradients(Generic[IB]):
    """Ask a tensor for its own gradient with ``w.grad(grads)``, or for all of a model's with ``grads.named(model)``."""

    def __init__(self, leaves: dict[Node, Tensor[IB, Any, Any]], flow: Flow | None = None) -> None:
        self._leaves = leaves
        self.flow = flow

    def get(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """The gradient of one leaf; None if it was not tracked, or the root does not depend on it."""
        return self._leaves.get(_node_of(tensor))

    def remove(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """Like `get`, and forgets it."""
        return self._leaves.pop(_node_of(tensor), None)

    def of_node(self, node: Node) -> Tensor[IB, Any, Any] | None:
        """The gradient of a leaf's node, for the pictures."""
        return self._leaves.get(node)

    def named(self, model: HasParams) -> dict[str, Tensor[IB, Any, Any] | None]:
        """Every parameter of a model by its path, with its gradient or None."""
        return {path: self.get(param.val()) for path, param in model.named_params()}

    def tensors(self) -> list[Tensor[IB, Any, Any]]:
        """Every gradient, in the order in which they were finished."""
        return list(self._leaves.values())

    def __len__(self) -> int:
        return len(self._leaves)

    def __repr__(self) -> str:
        """A table of the leaves in the order in which their gradients were finished."""
        rows = [
            (str(number), str(gradient.shape), str(gradient.dtype), f"{gradient.payload_bytes}")
            for number, gradient in enumerate(self._leaves.values())
        ]
        return "Gradients\n" + table(("leaf", "shape", "dtype", "bytes"), rows)


def _node_of(tensor: Tensor[Any, Any, Any]) -> Any:
    check_tensor("grad", tensor)
    if not tensor.backend.is_autodiff:
        name = tensor.backend.__name__
        reason = f"a tensor of {name} has no place in a graph, so it has no gradient to ask for"
        raise BackendMismatch("grad", reason, hint="ask the one that the loss was computed with")
    return tensor.primitive.node
