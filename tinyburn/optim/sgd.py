"""Stochastic gradient descent, with momentum and weight decay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.base.errors import ConfigError
from tinyburn.module import Config, Module, Param
from tinyburn.tensor import Tensor

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
        return [f"{name} is {value}, and must be 0 or more" for name, value in fields.items() if not value >= 0]

    def init(self) -> Sgd:
        """The optimizer, without any state yet."""
        return Sgd(self)


class Sgd:
    """Keeps one velocity for each parameter if there is momentum, by the parameter's id."""

    def __init__(self, config: SgdConfig) -> None:
        self.config = config
        self._velocities: dict[int, AnyTensor] = {}

    def __repr__(self) -> str:
        return f"Sgd({self.config})"

    def step(self, lr: float, model: M, grads: Gradients[Any]) -> M:
        """The model one step of length ``lr`` down the gradient. A parameter without a gradient stays as it is."""
        if not lr >= 0:
            raise ConfigError("Sgd.step", f"the learning rate is {lr}, and must be 0 or more")
        if not isinstance(grads, Gradients):
            reason = f"{type(grads).__name__} holds no gradients"
            raise ConfigError("Sgd.step", reason, hint="hand it what loss.backward() returns")
        return model.map(lambda _, param: self._updated(lr, param, grads))

    def _updated(self, lr: float, param: Param[Any, Any], grads: Gradients[Any]) -> Param[Any, Any]:
        tensor = param.val()
        gradient = grads.get(tensor)
        if gradient is None:
            return param
        tensor.backend.note(tensor.primitive, "phase", "update")
        try:
            value = tensor.inner()
            step = self._direction(param.id, value, gradient)
            return param.replaced(Tensor.from_inner(value - step * lr, tensor.device))
        finally:
            tensor.backend.note(tensor.primitive, "phase", "forward")

    def _direction(self, number: int, value: AnyTensor, gradient: AnyTensor) -> AnyTensor:
        """The gradient, with decay and momentum. With velocity v and momentum m, v becomes m * v + gradient."""
        if self.config.weight_decay:
            gradient = gradient + value * self.config.weight_decay
        if not self.config.momentum:
            return gradient
        earlier = self._velocities.get(number)
        velocity = gradient if earlier is None else earlier * self.config.momentum + gradient
        velocity.backend.note(velocity.primitive, "optimizer")
        self._velocities[number] = velocity
        return velocity
