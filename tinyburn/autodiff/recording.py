"""Autodiff[B]: backend B, with a graph of what the backward pass needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple

from typing_extensions import TypeVar

from tinyburn.backend.decorator import Decorator, Differentiable
from tinyburn.backend.device import DecoratedDevice, Device
from tinyburn.backend.interface import Array, Backend, Swap
from tinyburn.backend.operations import Operation, label_of
from tinyburn.base.errors import BackendMismatch, GraphError
from tinyburn.base.scope import current_path
from tinyburn.base.shape import Shape

from . import rules
from .backward import run_backward
from .checkpointing import NoCheckpointing
from .nodes import GraphArray, LeafNode, Node, Step, attach_node, expect_calls, note_value
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

    @classmethod
    def exchange(cls, name: str, a: Any, shape: Shape, swap: Swap, is_spare: bool) -> GraphArray:
        """A constant: no gradient goes through other processes."""
        return GraphArray(cls.inner.exchange(name, a.primitive, shape, swap, is_spare))

    @classmethod
    def require_grad(cls, a: Any) -> GraphArray:
        """A leaf with the same values. Raises GraphError for the result of a tracked operation."""
        if not a.is_tracked:
            return cls._leaf(a.primitive, LeafNode(a, current_path()))
        if not a.node.is_leaf:
            reason = (
                f"the tensor is the result of {label_of(a.node.op)}, so its gradient goes on to what it was made from"
            )
            raise GraphError("require_grad", reason, hint="cut it off first, with .detach().require_grad()")
        return GraphArray(a.primitive, a.node)

    @classmethod
    def parameter(cls, primitive: Array, identity: object) -> GraphArray:
        """The leaf of a parameter around an inner primitive: `from_inner`, `require_grad` and the note in one."""
        leaf = cls._leaf(primitive, LeafNode(primitive, current_path(), True, identity))
        if cls.inner.observed:
            cls.inner.note(primitive, "parameter", identity)
        return leaf

    @classmethod
    def _leaf(cls, primitive: Array, node: Node) -> GraphArray:
        if cls.inner.observed:
            note_value(cls.inner, primitive, node)
        return GraphArray(primitive, node)

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


class Plan(NamedTuple):
    """What an operation leaves behind when some of its operands are tracked: the rules of these, as a node has them,
    and how to pick what they save out of the arguments, followed by the result."""

    rules: tuple[Step, ...]
    pick: Callable[[Sequence[Any]], rules.Saved]


def plan_of(found: Sequence[tuple[int, rules.Rule]], tracked: Collection[int]) -> Plan | None:
    """The plan for operands at these positions; None if no gradient goes to any of them."""
    chosen: list[Step] = []
    places: list[int] = []
    for at, rule in found:
        if at in tracked:
            chosen.append((at, rule, len(places), not chosen))
            places += rule.places
    return Plan(tuple(reversed(chosen)), _picker(places)) if chosen else None


def _picker(places: list[int]) -> Callable[[Sequence[Any]], rules.Saved]:
    """A fast ``lambda values: tuple(values[place] for place in places)``."""
    if not places:
        return lambda values: ()
    if len(places) == 1:
        (only,) = places
        return lambda values: (values[only],)
    return itemgetter(*places)


def _recorded(operation: Operation, found: list[tuple[int, rules.Rule]], backend: type[Autodiff[Any, Any]]) -> Any:
    """One operation of the backend inside; with a tracked operand, its result gets a node.

    An operation of one tensor, or of two, and a linear layer have a shorter way to the same where nobody observes:
    these are most of all that a program calls.
    """
    if not backend.keeps_all:
        return _recorded_by_strategy(operation, found, backend)
    if operation.tensors == (0,) and not backend.inner.observed:
        return _recorded_unary(operation.name, found, backend.inner)
    if operation.tensors == (0, 1) and not backend.inner.observed:
        return _recorded_binary(operation.name, found, backend.inner)
    if operation.parameters == ("a", "weight", "bias") and not backend.inner.observed:
        return _recorded_linear(operation.name, found, backend.inner)
    return _recorded_in_general(operation, found, backend.inner)


def _recorded_unary(name: str, found: list[tuple[int, rules.Rule]], inner: type[Backend]) -> Any:
    compute, plan = getattr(inner, name), plan_of(found, (0,))

    def recorded(a: GraphArray, *rest: Any) -> GraphArray:
        primitive = a.primitive
        out = compute(primitive, *rest)
        result = GraphArray(out)
        if plan is not None and a.is_tracked and result.dtype.kind == "f":
            saved = plan.pick((primitive, *rest, out))
            result.node = Node(name, plan.rules, saved, result.shape, result.dtype, current_path(), a.node, *rest)
            result.is_tracked = True
        return result

    return recorded


def _recorded_binary(name: str, found: list[tuple[int, rules.Rule]], inner: type[Backend]) -> Any:
    compute = getattr(inner, name)
    of_first, of_second, of_both = plan_of(found, (0,)), plan_of(found, (1,)), plan_of(found, (0, 1))

    def recorded(a: Any, b: Any, *rest: Any) -> GraphArray:
        first, second = type(a) is GraphArray, type(b) is GraphArray  # one of them may be a number
        left, right = a.primitive if first else a, b.primitive if second else b
        out = compute(left, right, *rest)
        result = GraphArray(out)
        if first and a.is_tracked:
            plan = of_both if second and b.is_tracked else of_first
        elif second and b.is_tracked:
            plan = of_second
        else:
            return result
        if plan is not None and result.dtype.kind == "f":
            one = a.node or a.as_constant() if first else a
            other = b.node or b.as_constant() if second else b
            saved, shape, dtype = plan.pick((left, right, *rest, out)), result.shape, result.dtype
            result.node = Node(name, plan.rules, saved, shape, dtype, current_path(), one, other, *rest)
            result.is_tracked = True
        return result

    return recorded


def _recorded_linear(name: str, found: list[tuple[int, rules.Rule]], inner: type[Backend]) -> Any:
    """Three tensors, for none of which a number may stand."""
    compute = getattr(inner, name)
    choices = list(product((False, True), repeat=3))
    plans = {choice: plan_of(found, [at for at in range(3) if choice[at]]) for choice in choices}

    def recorded(a: GraphArray, weight: GraphArray, bias: GraphArray) -> GraphArray:
        values = a.primitive, weight.primitive, bias.primitive
        out = compute(*values)
        result = GraphArray(out)
        plan = plans[a.is_tracked, weight.is_tracked, bias.is_tracked]
        if plan is not None and result.dtype.kind == "f":
            nodes = a.node or a.as_constant(), weight.node or weight.as_constant(), bias.node or bias.as_constant()
            saved, shape, dtype = plan.pick((*values, out)), result.shape, result.dtype
            result.node = Node(name, plan.rules, saved, shape, dtype, current_path(), *nodes)
            result.is_tracked = True
        return result

    return recorded


def _recorded_in_general(operation: Operation, found: list[tuple[int, rules.Rule]], inner: type[Backend]) -> Any:
    name, compute = operation.name, getattr(inner, operation.name)
    plans = cache(lambda *tracked: plan_of(found, tracked))

    def recorded(*arguments: Any) -> GraphArray:
        values, tracked = [], []
        for at, x in enumerate(arguments):
            if type(x) is GraphArray:
                values.append(x.primitive)
                if x.is_tracked:
                    tracked.append(at)
            else:
                values.append(x)
        out = compute(*values)
        result = GraphArray(out)
        if tracked and out.dtype.kind == "f":
            plan = plans(*tracked)
            if plan is not None:
                values.append(out)
                attach_node(result, name, arguments, plan.rules, plan.pick(values), inner)
        return result

    return recorded


def _recorded_by_strategy(
    operation: Operation, found: list[tuple[int, rules.Rule]], backend: type[Autodiff[Any, Any]]
) -> Any:
    """The same where a result may be computed again: what a rule saves of it is then a recipe, and no value."""
    name, inner = operation.name, backend.inner
    compute, recomputes = getattr(inner, name), backend.strategy.recomputes(name)
    plans = cache(lambda *tracked: plan_of(found, tracked))

    def recorded(*arguments: Any) -> GraphArray:
        result = GraphArray(compute(*[x.primitive if type(x) is GraphArray else x for x in arguments]))
        values = [x.recipe or x.primitive if type(x) is GraphArray else x for x in arguments]
        values.append(Recipe(compute, values.copy(), inner.observed) if recomputes else result.primitive)
        plan = plans(*[at for at, x in enumerate(arguments) if type(x) is GraphArray and x.is_tracked])
        if plan is not None and result.dtype.kind == "f":
            result.recipe = values[-1] if recomputes else None
            saved = plan.pick(values)
            expect_calls(saved)
            attach_node(result, name, arguments, plan.rules, saved, inner)
        return result

    return recorded
