"""Stochastic gradient descent, with momentum and weight decay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.base.errors import ConfigError
from tinyburn.module import Config, Module, Param, ParamId
from tinyburn.tensor import Tensor

from .checks import check_gradients

M = TypeVar("M", bound=Module)
AnyTensor: TypeAlias = Tensor[Any, Any]


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

        Raises GraphError if no parameter has a gradient, and ConfigError for a bad learning rate, for a tracked tensor
        of the model that is no `Param`, and if the momentum is that of another model.
        """
        if not 0 <= lr < math.inf:
            raise ConfigError("Sgd.step", f"the learning rate is {lr}, and must be a finite number of 0 or more")
        check_gradients("Sgd.step", model, grads)
        if self._velocities and not any(param.id in self._velocities for _, param in model.named_params()):
            reason = f"its momentum is that of other parameters than those of this {type(model).__name__}"
            hint = "make an optimizer for each model; copy both in one go, as in copy.deepcopy((model, optimizer))"
            raise ConfigError("Sgd.step", reason, hint=hint)
        return model.map(lambda _, param: self._updated(lr, param, grads))

    def _updated(self, lr: float, param: Param[Any, Any], grads: Gradients[Any]) -> Param[Any, Any]:
        tensor = param.val()
        gradient = grads.get(tensor) if grads.reaches(tensor) else None
        if gradient is None:
            return param
        tensor.backend.note(tensor.primitive, "phase", "update")
        try:
            value = tensor.inner()
            step = self._direction(param.id, value, gradient)
            return param.replaced(Tensor.from_inner(value - step * lr, tensor.device))
        finally:
            tensor.backend.note(tensor.primitive, "phase", "forward")

    def _direction(self, identity: ParamId, value: AnyTensor, gradient: AnyTensor) -> AnyTensor:
        """The gradient, with decay and momentum. With velocity v and momentum m, v becomes m * v + gradient."""
        if self.config.weight_decay:
            gradient = gradient + value * self.config.weight_decay
        if not self.config.momentum:
            return gradient
        earlier = self._velocities.get(identity)
        velocity = gradient if earlier is None else earlier * self.config.momentum + gradient
        velocity.backend.note(velocity.primitive, "optimizer")
        self._velocities[identity] = velocity
        return velocity
