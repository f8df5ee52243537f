"""What `backward` returns: the gradient of every leaf, on the inner backend."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend.interface import Backend
from tinyburn.backend.operations import label_of
from tinyburn.base.errors import BackendMismatch, ForeignCall, GraphError, ShapeError
from tinyburn.base.text import table

from .checks import check_operands, check_tensor

if TYPE_CHECKING:
    from .tensor import Tensor

IB = TypeVar("IB", bound=Backend)


class Gradients(Generic[IB]):
    """Ask a tensor for its own gradient with ``w.grad(grads)``, or for all of a model's with ``grads.named(model)``.

    An optimizer's step takes out those of its model: they are used up, and their memory may hold the new parameters.

    Attributes:
        flow: the sizes of all gradients on their way, if ``backward(record_flow=True)`` noted them; else None.
    """

    def __init__(
        self, leaves: dict[Any, Tensor[IB, Any, Any]], flow: Any = None, exclusive: AbstractSet[Any] = frozenset()
    ) -> None:
        self._leaves = leaves  # by the leaf's node in the graph, which this floor knows nothing about
        self._exclusive = exclusive
        """The leaves whose gradients nothing else can see: not another leaf, and nobody whom they were handed to."""
        self._taken: dict[Any, str] = {}
        """Who has taken a leaf's gradient."""
        self.flow = flow

    def get(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """The gradient of one leaf; None if it was not tracked, or the root does not depend on it.

        Raises GraphError for a result, unless `backward` was told to keep its gradient, and for a gradient that a step
        has taken.
        """
        return self.of_node(self._checked_node(tensor))

    def reaches(self, tensor: Tensor[Any, Any, Any]) -> bool:
        """Whether a gradient of this tensor is here. It may be of any backend."""
        return tensor.device.backend.is_autodiff and tensor.primitive.node in self._leaves

    def remove(self, tensor: Tensor[Any, Any, Any]) -> Tensor[IB, Any, Any] | None:
        """Like `get`, and forgets it."""
        node = self._checked_node(tensor)
        found = self.of_node(node)
        self._leaves.pop(node, None)
        return found

    def take(self, tensor: Tensor[Any, Any, Any], taker: str) -> tuple[Tensor[IB, Any, Any], bool]:
        """Takes out a gradient that is here, for an optimizer; and whether its memory may be written: see
        `Backend.into`.

        ``taker`` is named to whoever asks for it later.
        """
        node = tensor.primitive.node
        self._taken[node] = taker
        return self._leaves.pop(node), node in self._exclusive

    def take_all(self, taker: str) -> dict[Any, tuple[Tensor[IB, Any, Any], bool]]:
        """The same for every gradient that is here, by the node of its leaf."""
        taken = {node: (gradient, node in self._exclusive) for node, gradient in self._leaves.items()}
        self._taken |= dict.fromkeys(taken, taker)
        self._leaves.clear()
        return taken

    @property
    def takers(self) -> list[str]:
        """Who has taken gradients, each once."""
        return list(dict.fromkeys(self._taken.values()))

    def _checked_node(self, tensor: Tensor[Any, Any, Any]) -> Any:
        """The node of a tensor. Raises GraphError for that of a result whose gradient is not here."""
        node = _node_of(tensor)
        if node not in self._leaves and tensor.primitive.is_tracked and not tensor.is_require_grad:
            reason = (
                f"this tensor is the result of {label_of(node.op)}, and its gradient went on to what it was made from"
            )
            raise GraphError("grad", reason, hint="keep it, with loss.backward(retain_grads=[tensor])")
        return node

    def of_node(self, node: Hashable) -> Tensor[IB, Any, Any] | None:
        """The gradient of a leaf's node. Raises GraphError if a step has taken it."""
        if node in self._taken:
            reason = f"{self._taken[node]} has taken this gradient, and used it up"
            raise GraphError("grad", reason, hint="look at it before the step, or run backward() on a new loss")
        found = self._leaves.get(node)
        if found is not None and node in self._exclusive:
            self._exclusive = self._exclusive - {node}  # from now on somebody else can see it
        return found

    def nodes(self) -> list[Any]:
        """The nodes of the leaves, in the order in which their gradients were finished."""
        return list(self._leaves)

    def named(self, model: Any) -> dict[str, Tensor[IB, Any, Any] | None]:
        """Every parameter of a model by its path, with its gradient or None."""
        params = [(path, param.val()) for path, param in _named_params("grads.named", model)]
        return {path: self.get(tensor) if tensor.device.backend.is_autodiff else None for path, tensor in params}

    @staticmethod
    def from_named(model: Any, named: Mapping[str, Tensor[Any, Any, Any] | None]) -> Gradients[Any]:
        """The other way round: gradients of a model, such as other processes have sent or you have changed.

        A path with None, or without an entry, has no gradient. Raises ForeignCall if ``model`` has no parameters with
        names, GraphError for a path of none that is tracked, BackendMismatch and DeviceMismatch for a tensor that is
        not where its parameter's gradient would be, DTypeMismatch and ShapeError for another dtype or shape.
        """
        params = {path: param.val() for path, param in _named_params("Gradients.from_named", model)}
        leaves = {}
        for path, gradient in named.items():
            if gradient is not None:
                leaf = _leaf_of(path, params.get(path))
                leaves[leaf.primitive.node] = _fitting(f"the gradient of {path}", leaf.inner(), gradient)
        return Gradients(leaves)

    def map(self, change: Callable[[Tensor[IB, Any, Any]], Tensor[IB, Any, Any]]) -> Gradients[IB]:
        """Gradients of the same leaves, with ``change(gradient)`` in place of each; these here are used up.

        A gradient is let go before the next one is changed, so two whole sets of them are never alive together. Raises
        as `from_named` does for a result that is no gradient of its leaf.
        """
        leaves = {}
        for node in self.nodes():
            gradient = self._leaves.pop(node)
            self._taken[node] = "map"
            leaves[node] = _fitting("Gradients.map", gradient, change(gradient))
            del gradient
        return Gradients(leaves, self.flow)

    def tensors(self) -> list[Tensor[IB, Any, Any]]:
        """Every gradient, in the order in which they were finished."""
        self._exclusive = frozenset()
        return list(self._leaves.values())

    def __len__(self) -> int:
        return len(self._leaves)

    def __copy__(self) -> Gradients[IB]:
        self._exclusive = frozenset()
        return Gradients(self._leaves.copy(), self.flow)

    def __deepcopy__(self, _: dict[int, Any]) -> Gradients[IB]:
        """Gradients of the same leaves: they can be taken out of one without a loss for the other."""
        self._exclusive = frozenset()  # a copied tensor has the same memory
        return Gradients({node: copy.deepcopy(gradient) for node, gradient in self._leaves.items()}, self.flow)

    def __reduce__(self) -> Any:
        reason = "gradients are known by the leaves of a graph, and a graph is of one process"
        raise GraphError("pickle", reason, hint="send grads.named(model): each gradient by the path of its parameter")

    def __repr__(self) -> str:
        """A table of the leaves in the order in which their gradients were finished, and who has taken some."""
        rows = [
            (str(number), str(gradient.shape), str(gradient.dtype), f"{gradient.payload_bytes}")
            for number, gradient in enumerate(self._leaves.values())
        ]
        title = f"Gradients, {len(self._taken)} taken by {', '.join(self.takers)}" if self._taken else "Gradients"
        return f"{title}\n" + table(("leaf", "shape", "dtype", "bytes"), rows)


def _named_params(asked: str, model: Any) -> Iterable[tuple[str, Any]]:
    """The parameters of a model. Raises ForeignCall for what is no module."""
    if not hasattr(model, "named_params"):
        reason = f"{type(model).__name__} is not a module, which has parameters with names"
        raise ForeignCall(asked, reason, hint="write grads.named(model), or x.grad(grads) for one tensor")
    params: Iterable[tuple[str, Any]] = model.named_params()
    return params


def _leaf_of(path: str, tensor: Any) -> Any:
    """The tensor of a parameter, if it is one that is trained."""
    if tensor is not None and tensor.backend.is_autodiff and tensor.is_require_grad:
        return tensor
    reason = f"the model has no parameter {path}" if tensor is None else f"{path} is not tracked, so it is not trained"
    hint = "give gradients by the paths of model.named_params(), and leave out what is frozen"
    raise GraphError("Gradients.from_named", reason, hint=hint)


def _fitting(asked: str, like: Tensor[Any, Any, Any], gradient: Any) -> Any:
    """A tensor that is to be a gradient, of the kind of another. From here on the event log has it as one."""
    check_tensor(asked, gradient)
    check_operands(asked, like, gradient, shapes=False)
    if gradient.shape != like.shape:
        raise ShapeError(asked, f"it has shape {gradient.shape}, and the gradient here has {like.shape}")
    gradient.backend.note(gradient.primitive, "gradient")
    return gradient


def _node_of(tensor: Tensor[Any, Any, Any]) -> Any:
    check_tensor("grad", tensor)
    if not tensor.backend.is_autodiff:
        name = tensor.backend.__name__
        reason = f"a tensor of {name} has no place in a graph, so it has no gradient to ask for"
        raise BackendMismatch("grad", reason, hint="ask the one that the loss was computed with")
    return tensor.primitive.node
