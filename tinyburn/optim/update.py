"""What the step of every optimizer is made of: one parameter with its gradient, and the state that it has.

A step takes its gradients, so it may write over them; and nobody else sees the state of an optimizer, so it may write
over that too. Here stands who may be written over. The optimizers are only their formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from tinyburn.base.dtype import DTYPES
from tinyburn.module import ParamId
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Primitive: TypeAlias = Any


class State:
    """What an optimizer keeps for one parameter.

    Attributes:
        steps: how many steps it has taken, where the formula asks for that.
        tensors: by name, as in ``first_moment``.
        own: the names of those that nobody else can see, so that the next step may write over them.
    """

    def __init__(self, steps: int = 0, tensors: dict[str, AnyTensor] | None = None) -> None:
        self.steps = steps
        self.tensors = {} if tensors is None else tensors
        self.own: set[str] = set()

    def __repr__(self) -> str:
        return f"State(steps={self.steps}, {', '.join(self.tensors)})"

    def shared(self) -> State:
        """Another state with the same tensors. From now on neither writes over them: both see them."""
        self.own.clear()
        return State(self.steps, dict(self.tensors))


States: TypeAlias = dict[ParamId, State]


class Update:
    """One parameter in one step: what a formula reads, and where it writes. All of it on the backend inside autodiff.

    Attributes:
        value: of the parameter.
        identity: who the parameter is.
        gradient: of the parameter; `overwrite` puts its result in its place.
        is_spare: whether nobody else can see the gradient.
    """

    __slots__ = ("_states", "_tensor", "backend", "gradient", "identity", "is_spare", "value")

    def __init__(
        self, value: Primitive, gradient: AnyTensor, is_spare: bool, identity: ParamId, states: States
    ) -> None:
        self.backend = gradient.device.backend
        self.value = value
        self.gradient = gradient.primitive
        self.is_spare = is_spare
        self._tensor = gradient
        self.identity = identity
        self._states = states

    def __repr__(self) -> str:
        return f"Update({self.identity})"

    def overwrite(self, operation: str, *arguments: Any) -> Primitive:
        """The result of an operation, which takes the gradient's place, and its memory if nobody else can see that."""
        if self.is_spare:
            self.gradient = self.backend.into(self.gradient, operation, *arguments)
        else:
            self.gradient = getattr(self.backend, operation)(*arguments)
            self.is_spare = True
        return self.gradient

    def keep(self, name: str, operation: str, *rest: Any) -> Primitive:
        """``state = operation(state, *rest)`` for one tensor of the state, which starts as zeros."""
        state = self._state()
        earlier = state.tensors.get(name)
        if earlier is None:
            start = self._zeros()
        elif name in state.own:
            start = earlier.primitive
        else:
            return self._put(state, name, getattr(self.backend, operation)(earlier.primitive, *rest))
        return self._put(state, name, self.backend.into(start, operation, start, *rest))

    def keep_gradient(self, name: str) -> Primitive:
        """The gradient itself becomes a tensor of the state, so nothing can be written over it in this step.

        One that somebody else can see is copied: it may be a small view of a large buffer, which the state would keep
        alive from one step to the next.
        """
        if not self.is_spare:
            self.overwrite("mul", self.gradient, 1.0)
        self.is_spare = False
        return self._put(self._state(), name, self.gradient)

    def kept(self, name: str) -> Primitive | None:
        """One tensor of the state as it is; None before the first step."""
        tensor = self._state().tensors.get(name)
        return None if tensor is None else tensor.primitive

    def count(self) -> int:
        """Counts this step: 1 for the first."""
        state = self._state()
        state.steps += 1
        return state.steps

    def _state(self) -> State:
        state = self._states.get(self.identity)
        if state is None:
            state = self._states[self.identity] = State()
        return state

    def _put(self, state: State, name: str, primitive: Primitive) -> Primitive:
        if self.backend.observed:
            self.backend.note(primitive, "optimizer")
        state.tensors[name] = self._tensor._new(primitive)
        state.own.add(name)
        return primitive

    def _zeros(self) -> Primitive:
        value = self.value
        return self.backend.full(value.shape, 0.0, DTYPES[value.dtype], self._tensor.device)


@contextmanager
def phase(name: str, tensor: AnyTensor) -> Iterator[None]:
    """Names what runs meanwhile, for the event log of a tensor's device."""
    enter_phase(name, tensor)
    try:
        yield
    finally:
        enter_phase("forward", tensor)


def enter_phase(name: str, tensor: AnyTensor) -> None:
    """The same until another name comes: for a step that goes to and fro between two of them."""
    tensor.backend.note(tensor.primitive, "phase", name)
