"""What `backward` returns: the gradient of every leaf, on the inner backend."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend.interface import Backend
from tinyburn.base.errors import BackendMismatch, ForeignCall, GraphError
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
        """The gradient of one leaf; None if it was not tracked, or the root does not depend on it.

        Raises GraphError for a result, unless `backward` was told to keep its gradient.
        """
        node = _node_of(tensor)
        if node not in self._leaves and tensor.primitive.is_tracked and not tensor.is_require_grad:
            reason = f"this tensor is the result of {node.op}, and its gradient went on to what it was made from"
            raise GraphError("grad", reason, hint="keep it, with loss.backward(retain_grads=[tensor])")
        return self._leaves.get(node)

    def reaches(self, tensor: Tensor[Any, Any, Any]) -> bool:
        """Whether a gradient of this tensor is here. It may be of any backend."""
        return tensor.backend.is_autodiff and _node_of(tensor) in self._leaves

    def remove(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """Like `get`, and forgets it."""
        return self._leaves.pop(_node_of(tensor), None)

    def of_node(self, node: Hashable) -> Tensor[IB, Any, Any] | None:
        """The gradient of a leaf's node, for the pictures."""
        return self._leaves.get(node)

    def nodes(self) -> list[Any]:
        """The nodes of the leaves, in the order in which their gradients were finished."""
        return list(self._leaves)

    def named(self, model: Any) -> dict[str, Tensor[IB, Any, Any] | None]:
        """Every parameter of a model by its path, with its gradient or None."""
        if not hasattr(model, "named_params"):
            reason = f"{type(model).__name__} is not a module, which has parameters with names"
            raise ForeignCall("grads.named", reason, hint="write grads.named(model), or x.grad(grads) for one tensor")
        params = [(path, param.val()) for path, param in model.named_params()]
        return {path: self.get(tensor) if self.reaches(tensor) else None for path, tensor in params}

    def tensors(self) -> list[Tensor[IB, Any, Any]]:
        """Every gradient, in the order in which they were finished."""
        return list(self._leaves.values())

    def __len__(self) -> int:
        return len(self._leaves)

    def __copy__(self) -> Gradients[IB]:
        return Gradients(self._leaves.copy(), self.flow)

    def __deepcopy__(self, _: dict[int, Any]) -> Gradients[IB]:
        """Gradients of the same leaves: they can be taken out of one without a loss for the other."""
        return Gradients({node: copy.deepcopy(gradient) for node, gradient in self._leaves.items()}, self.flow)

    def __reduce__(self) -> Any:
        reason = "gradients are known by the leaves of a graph, and a graph is of one process"
        raise GraphError("pickle", reason, hint="send grads.named(model): each gradient by the path of its parameter")

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
