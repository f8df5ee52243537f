"""Stochastic gradient descent, with momentum and weight decay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.base.errors import ConfigError
from tinyburn.module import Config, Module, Param, ParamId

from .checks import check_gradients
from .update import AnyTensor, add_scaled, phase

M = TypeVar("M", bound=Module)


@dataclass(frozen=True)
class SgdConfig(Config):
    """Plain SGD by default.

    Attributes:
        momentum: the share of the last step that goes into the next; 0 keeps no state.
        weight_decay: a pull towards 0, in proportion to the parameter.
    """

    momentum: float = 0.0
    weight_decay: float = 0.0

    def problems(self) -> list[str]:
        """Values that no optimizer can have."""
        fields = {"momentum": self.momentum, "weight_decay": self.weight_decay}
        return [
            f"{name} is {value}, and must be a finite number of 0 or more"
            for name, value in fields.items()
            if not 0 <= value < math.inf
        ]

    def init(self) -> Sgd:
        """The optimizer, without any state yet."""
        return Sgd(self)


class Sgd:
    """Keeps one velocity for each parameter if there is momentum, by the parameter's id."""

    def __init__(self, config: SgdConfig) -> None:
        self.config = config
        self._velocities: dict[ParamId, AnyTensor] = {}

    def __repr__(self) -> str:
        return f"Sgd({self.config})"

    def step(self, lr: float, model: M, grads: Gradients[Any]) -> M:
        """The model one step of length ``lr`` down the gradient. A parameter without a gradient stays as it is.

        It takes the gradients of the model out of ``grads``. The new values are written in their place, unless somebody
        else has been handed them, so a step needs no memory of its own. The old model keeps its values.

        Raises GraphError if no parameter has a gradient, and ConfigError for a bad learning rate, for a tracked tensor
        of the model that is no `Param`, and if the momentum is that of another model. Then nothing has been taken.
        """
        if not 0 <= lr < math.inf:
            raise ConfigError("Sgd.step", f"the learning rate is {lr}, and must be a finite number of 0 or more")
        params = check_gradients("Sgd.step", model, grads)
        if self._velocities and not any(param.id in self._velocities for _, param in model.named_params()):
            reason = f"its momentum is that of other parameters than those of this {type(model).__name__}"
            hint = "make an optimizer for each model; copy both in one go, as in copy.deepcopy((model, optimizer))"
            raise ConfigError("Sgd.step", reason, hint=hint)
        with phase("update", params[0].val()):
            return model.with_params({param: self._updated(float(lr), param, grads) for param in params})

    def _updated(self, lr: float, param: Param[Any, Any], grads: Gradients[Any]) -> Param[Any, Any]:
        """The parameter with its next value."""
        value = param.val().inner()
        gradient, is_spare = grads.take(param.val(), "Sgd.step")
        if self.config.weight_decay:
            gradient, is_spare = add_scaled(gradient, value, self.config.weight_decay, gradient, is_spare), True
        if self.config.momentum:
            gradient, is_spare = self._velocity(param.id, gradient, is_spare), False
        return param.stepped(add_scaled(value, gradient, -lr, gradient, is_spare))

    def _velocity(self, identity: ParamId, gradient: AnyTensor, is_spare: bool) -> AnyTensor:
        """With velocity v and momentum m, v becomes m * v + gradient."""
        earlier = self._velocities.get(identity)
        if earlier is not None:
            velocity = add_scaled(gradient, earlier, self.config.momentum, gradient, is_spare)
        else:
            velocity = gradient
        velocity.backend.note(velocity.primitive, "optimizer")
        self._velocities[identity] = velocity
        return velocity
