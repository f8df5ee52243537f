"""What all optimizers have in common: a step is a check, the formula for each parameter, and a new model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.base.errors import ConfigError, ForeignCall
from tinyburn.module import Config, Module

from .checks import AnyParam, check_gradients, check_rate
from .clipping import AnyClipping
from .record import read_states, written_states
from .update import Primitive, States, Update, phase

M = TypeVar("M", bound=Module)
C = TypeVar("C")


class Optimizer(ABC, Generic[C]):
    """``model = optimizer.step(lr, model, grads)`` returns the trained model and changes nothing else.

    The state of a parameter is known by the parameter's id. So it stays valid for the model that a step returns, and
    for a model that is copied together with its optimizer, as in ``copy.deepcopy((model, optimizer))``.

    A subclass is a formula, `_next`, and the names of what that keeps for each parameter.
    """

    config: C

    def __init__(self, config: C) -> None:
        if not isinstance(config, Config | tuple):
            name = type(self).__name__
            reason = "an optimizer is made by its config, and gets the learning rate and the model at each step"
            raise ForeignCall(
                f"optim.{name}", reason, hint=f"write optim.{name}Config().init(), and step(lr, model, grads)"
            )
        self.config = config
        self._clipping: AnyClipping | None = getattr(config, "grad_clipping", None)
        self._states: States = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config})"

    def step(self, lr: float, model: M, grads: Gradients[Any]) -> M:
        """The model one step of length ``lr`` further. A parameter without a gradient stays as it is.

        It takes the gradients of the model out of ``grads``. The new values are written in their place, unless somebody
        else has been handed them, and new state over the old one. So a step needs no memory beside the state. The old
        model keeps its values.

        Raises GraphError if no parameter has a gradient, and ConfigError for a bad learning rate, for a tracked tensor
        of the model that is no `Param`, and if the state is that of another model. Then nothing has been taken.
        """
        asked = f"{type(self).__name__}.step"
        rate = check_rate(asked, lr)
        found = check_gradients(asked, model, grads)
        self.check_model(asked, model, found)
        with phase("update", found[0][1].val()):
            stepped = self.advance(rate, self._taken(asked, found, grads))
            return model.with_params({param: param.stepped(value) for param, value in stepped})

    def advance(self, lr: float, updates: Iterable[tuple[AnyParam, Update]]) -> Iterator[tuple[AnyParam, Primitive]]:
        """The formula alone: for each parameter with its update the next value, one after the other.

        An update may be of a part of a parameter, as a rank has it that shares the state with others: each number goes
        its own way. `check_model` comes before.
        """
        for param, update in self._clipped(updates):
            yield param, self._next(lr, update)

    @abstractmethod
    def _next(self, lr: float, p: Update) -> Primitive:
        """The next value of a parameter."""

    def _taken(
        self, asked: str, found: list[tuple[str, AnyParam]], grads: Gradients[Any]
    ) -> Iterable[tuple[AnyParam, Update]]:
        """Each parameter with its update, whose gradient is taken only when its turn comes."""
        states = self._states
        for _, param in found:
            tensor = param.val()
            gradient, is_spare = grads.take(tensor, asked)
            yield param, Update(tensor.primitive.primitive, gradient, is_spare, param.id, states)

    def _clipped(self, updates: Iterable[tuple[AnyParam, Update]]) -> Iterable[tuple[AnyParam, Update]]:
        """The same updates with clipped gradients, if the config says so."""
        return updates if self._clipping is None else self._clipping.clipped(updates)

    def check_model(self, asked: str, model: Module, found: list[tuple[str, AnyParam]]) -> None:
        """Raises ConfigError if the state is that of other parameters than the model's."""
        states = self._states
        if not states or (found and found[0][1].id in states):  # nearly always
            return
        if not any(param.id in states for _, param in model.named_params()):
            reason = f"its state is that of other parameters than those of this {type(model).__name__}"
            hint = "make an optimizer for each model; copy both in one go, as in copy.deepcopy((model, optimizer))"
            raise ConfigError(asked, reason, hint=hint)

    def __getstate__(self) -> dict[str, Any]:
        """What every copy and pickle is made from. The two see the same tensors, so neither may write over them."""
        return {**vars(self), "_states": {identity: state.shared() for identity, state in self._states.items()}}

    # State as a record

    def state(self, model: Module) -> dict[str, Any]:
        """What the optimizer keeps, as plain dicts of names, numbers and tensors, by the path of each parameter.

        It has a row for every parameter of the model; ``steps`` is 0 for one that has none to show. Raises ConfigError
        if the state is that of another model.
        """
        asked = f"{type(self).__name__}.state"
        self.check_model(asked, model, list(model.named_params())[:1] if self._states else [])
        return {"optimizer": type(self).__name__, "params": written_states(self._states, model)}

    def load_state(self, state: dict[str, Any], model: Module) -> None:
        """Continues from what `state` has returned, perhaps in another process, for a model like that one.

        What ``record.load`` has read from a file is put on the devices of the parameters.

        Raises ConfigError, which names everything that is wrong: another optimizer, paths that are missing or unknown,
        names that are missing or unknown, another shape, dtype or device. Then nothing has changed.
        """
        self._states = read_states(type(self).__name__, self.names_for, state, model)

    @abstractmethod
    def kept_names(self) -> tuple[str, ...]:
        """The names of the tensors that the state of a parameter has after its first step."""

    def names_for(self, path: str, param: AnyParam) -> tuple[str, ...]:
        """The same for one parameter, where it matters which one it is."""
        return self.kept_names()
