"""Autodiff[B]: backend B, with a graph of what the backward pass needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from tinyburn.backend.decorator import Decorator, Differentiable
from tinyburn.backend.device import DecoratedDevice, Device
from tinyburn.backend.interface import Array, Backend
from tinyburn.backend.operations import Operation
from tinyburn.base.errors import BackendMismatch, GraphError
from tinyburn.base.scope import current_path

from . import rules
from .backward import run_backward
from .checkpointing import NoCheckpointing
from .nodes import Edge, GraphArray, LeafNode, attach_node, expect_calls
from .recipes import Recipe

IB = TypeVar("IB", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
S = TypeVar("S", default=NoCheckpointing)


class Autodiff(Differentiable[IB], Generic[IB, S]):
    """Computes as B does. An operation with a tracked operand also leaves a node: its rules and what they name.

    Derivatives run on B, so ``Autodiff[Autodiff[B]]`` differentiates them again.
    """

    strategy: ClassVar[type[Any]] = NoCheckpointing
    keeps_all: ClassVar[bool] = True

    if TYPE_CHECKING:  # the same as of every decorator; for a checker, the device knows what is inside

        @classmethod
        def over(cls, device: Device[DB]) -> DecoratedDevice[Autodiff[DB, Any]]:
            """See `Decorator.over`."""
            ...

    @classmethod
    def _class_for(cls, inner: type[Backend], *options: type[Any]) -> type[Decorator]:
        """``Autodiff[B]`` or ``Autodiff[B, strategy]``; the default strategy may be written out or not."""
        return super()._class_for(inner, *(option for option in options if option is not NoCheckpointing))

    @classmethod
    def _make_class(cls, inner: type[Backend], *options: type[Any]) -> type[Decorator]:
        if len(options) > 1 or not all(hasattr(option, "recomputes") for option in options):
            reason = f"{', '.join(map(repr, options))} is not one checkpointing strategy"
            hint = "use NoCheckpointing, BalancedCheckpointing, or a class with a method recomputes(operation)"
            raise BackendMismatch("Autodiff[...]", reason, hint=hint)
        return super()._make_class(inner, *options)

    @classmethod
    def _attributes(cls, *options: type[Any]) -> dict[str, Any]:
        return {"strategy": options[0], "keeps_all": False} if options else {}

    @classmethod
    def _tables(cls) -> tuple[Any, ...]:
        return (*super()._tables(), *rules.RULES.values())

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        found = rules.rules_of(operation.name, len(operation.parameters))
        if operation.is_default and not found:
            return None
        return _recorded(operation, found, cls)

    @classmethod
    def _wrap_made(cls, maker: str, primitive: Array, device: Any) -> GraphArray:
        return GraphArray(primitive)

    @staticmethod
    def from_inner(primitive: Array) -> GraphArray:
        """An inner primitive as a constant."""
        return GraphArray(primitive)

    @staticmethod
    def detach(a: Any) -> GraphArray:
        """The same values as a constant."""
        return GraphArray(a.primitive)

    @classmethod
    def separate(cls, a: Any) -> GraphArray:
        """The same values, cut off at every depth; a leaf becomes another leaf."""
        twin = GraphArray(cls.inner.separate(a.primitive))
        return cls.require_grad(twin) if cls.is_leaf(a) else twin

    @staticmethod
    def require_grad(a: Any) -> GraphArray:
        """A leaf with the same values. Raises GraphError for the result of a tracked operation."""
        if not a.is_tracked:
            return GraphArray(a.primitive, LeafNode(a, current_path()))
        if not a.node.is_leaf:
            reason = f"the tensor is the result of {a.node.op}, so its gradient goes on to what it was made from"
            raise GraphError("require_grad", reason, hint="cut it off first, with .detach().require_grad()")
        return GraphArray(a.primitive, a.node)

    @staticmethod
    def is_leaf(a: Any) -> bool:
        """Whether a primitive is a leaf of the graph."""
        return bool(a.is_tracked and a.node.is_leaf)

    @classmethod
    def note(cls, a: Any, event: str, detail: Any = "") -> None:
        """Passes it on, and remembers which leaves are parameters: pictures and errors tell them from other leaves."""
        if event == "parameter" and a.is_tracked:
            a.node.is_parameter = True
            a.node.identity = detail
        super().note(a, event, detail)

    backward = staticmethod(run_backward)


def _recorded(operation: Operation, found: list[tuple[int, rules.Rule]], backend: type[Autodiff[Any, Any]]) -> Any:
    """One operation of the backend inside; with a tracked operand, its result gets a node."""
    name, inner, keeps_all = operation.name, backend.inner, backend.keeps_all
    compute, recomputes = getattr(inner, name), backend.strategy.recomputes(name)

    def recorded(*arguments: Any) -> GraphArray:
        values = [x.primitive if type(x) is GraphArray else x for x in arguments]
        result = GraphArray(compute(*values))
        if keeps_all:
            values.append(result.primitive)
        else:
            values = [x.recipe or x.primitive if type(x) is GraphArray else x for x in arguments]
            values.append(Recipe(compute, values.copy(), inner.observed) if recomputes else result.primitive)
        edges: list[Edge] = []
        for at, rule in found:
            operand = arguments[at]
            if type(operand) is GraphArray and operand.is_tracked:
                edges.append((operand.node, rule, rule.save(values)))  # type: ignore[arg-type]  # tracked: a node
        if edges and result.dtype.kind == "f":
            if not keeps_all:
                result.recipe = values[-1] if recomputes else None
                expect_calls(edges)
            attach_node(result, name, arguments, edges, inner)
        return result

    return recorded
