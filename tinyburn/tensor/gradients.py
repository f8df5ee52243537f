"""What `backward` returns: the gradient of every leaf, on the inner backend."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend.interface import Backend
from tinyburn.base.errors import BackendMismatch, ForeignCall
from tinyburn.base.text import table

from .checks import check_tensor

if TYPE_CHECKING:
    from .tensor import Tensor

IB = TypeVar("IB", bound=Backend)


class Gradients(Generic[IB]):
    """Ask a tensor for its own gradient with ``w.grad(grads)``, or for all of a model's with ``grads.named(model)``.

    Attributes:
        flow: the sizes of all gradients on their way, if ``backward(record_flow=True)`` noted them; else None.
    """

    def __init__(self, leaves: dict[Any, Tensor[IB, Any, Any]], flow: Any = None) -> None:
        self._leaves = leaves  # by the leaf's node in the graph, which this floor knows nothing about
        self.flow = flow

    def get(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """The gradient of one leaf; None if it was not tracked, or the root does not depend on it."""
        return self._leaves.get(_node_of(tensor))

    def remove(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """Like `get`, and forgets it."""
        return self._leaves.pop(_node_of(tensor), None)

    def of_node(self, node: Hashable) -> Tensor[IB, Any, Any] | None:
        """The gradient of a leaf's node, for the pictures."""
        return self._leaves.get(node)

    def named(self, model: Any) -> dict[str, Tensor[IB, Any, Any] | None]:
        """Every parameter of a model by its path, with its gradient or None."""
        if not hasattr(model, "named_params"):
            reason = f"{type(model).__name__} is not a module, which has parameters with names"
            raise ForeignCall("grads.named", reason, hint="write grads.named(model), or x.grad(grads) for one tensor")
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
