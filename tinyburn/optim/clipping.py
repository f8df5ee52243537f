"""Gradient clipping: by value, by the norm of each gradient, and by the norm of all of them together.

Pascanu et al. 2013, "On the difficulty of training recurrent neural networks": a gradient whose norm is above a
threshold is scaled down to it, so that one steep place does not throw the model far away.

Norms are computed by the backend and stay there, so nothing waits for a GPU, and a plan without values has the same
operations. The sum of the squares is one of the gradient's own dtype (of float32 for float16): where it overflows, from
about 1e19 on in float32, the norm is inf and the clipped gradient 0, as in PyTorch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.backend import Backend
from tinyburn.base.dtype import DTYPES, DType
from tinyburn.base.errors import ConfigError
from tinyburn.module import Config, ParamId

from .checks import AnyParam, above_zero
from .update import Primitive, Update

IB = TypeVar("IB", bound=Backend)
Pairs: TypeAlias = Iterable[tuple[AnyParam, Update]]

_EPSILON = 1e-6
"""Added to a norm before the division, as Burn and PyTorch do. So a clipped norm is a millionth below the threshold."""


@dataclass(frozen=True)
class Value(Config):
    """Each element is moved into ``[-threshold, threshold]``. That may turn the gradient's direction."""

    threshold: float

    def problems(self) -> list[str]:
        """A threshold that nothing can have."""
        return above_zero(self, "threshold")

    def clipped(self, updates: Pairs) -> Pairs:
        """The same updates, one by one, with clipped gradients."""
        for param, update in updates:
            gradient = update.backend.clamp(update.gradient, -self.threshold, self.threshold)
            update.gradient, update.is_spare = gradient, True
            yield param, update


@dataclass(frozen=True)
class Norm(Config):
    """A gradient whose norm is above the threshold is scaled down to it; each parameter for itself."""

    threshold: float

    def problems(self) -> list[str]:
        """A threshold that nothing can have."""
        return above_zero(self, "threshold")

    def clipped(self, updates: Pairs) -> Pairs:
        """The same updates, one by one, with clipped gradients."""
        for param, update in updates:
            _scale_down([update], self.threshold)
            yield param, update


@dataclass(frozen=True)
class GlobalNorm(Config):
    """If the norm of all gradients together is above the threshold, all are scaled down alike: the step gets shorter
    and keeps its direction. PyTorch's ``clip_grad_norm_``."""

    threshold: float

    def problems(self) -> list[str]:
        """A threshold that nothing can have."""
        return above_zero(self, "threshold")

    def clipped(self, updates: Pairs) -> Pairs:
        """The same updates with clipped gradients."""
        pairs = list(updates)
        _scale_down([update for _, update in pairs], self.threshold)
        return pairs


AnyClipping: TypeAlias = Value | Norm | GlobalNorm


class GradientClippingConfig:
    """The ways to clip under one name, as in ``GradientClippingConfig.Norm(1.0)``."""

    Value = Value
    Norm = Norm
    GlobalNorm = GlobalNorm


def clip_by_global_norm(grads: Gradients[IB], threshold: float) -> Gradients[IB]:
    """All gradients, scaled down alike if their norm together is above the threshold. For a loop that wants them so.

    It takes the gradients out of ``grads`` and writes over those that nobody else can see, as a step does. Gradients of
    tracked inputs count too. Raises ConfigError for a threshold that is no finite number above 0; then nothing has
    been taken.
    """
    return _clipped_gradients("clip_by_global_norm", grads, GlobalNorm(threshold))


def clip_gradients(grads: Gradients[IB], config: AnyClipping) -> Gradients[IB]:
    """The same in any of the ways of `GradientClippingConfig`."""
    return _clipped_gradients("clip_gradients", grads, config)


def _clipped_gradients(asked: str, grads: Gradients[IB], config: AnyClipping) -> Gradients[IB]:
    if not isinstance(grads, Gradients):
        reason = f"{type(grads).__name__} holds no gradients"
        raise ConfigError(asked, reason, hint="hand it what loss.backward() returns")
    taken = grads.take_all(asked)
    updates = {node: Update(None, tensor, is_spare, ParamId(), {}) for node, (tensor, is_spare) in taken.items()}
    nobody: Any = None  # whose gradient it is does not matter
    deque(config.clipped((nobody, update) for update in updates.values()), maxlen=0)
    leaves = {node: taken[node][0]._new(update.gradient) for node, update in updates.items()}
    for gradient in leaves.values():
        gradient.backend.note(gradient.primitive, "gradient")
    return Gradients(leaves, grads.flow, frozenset(leaves))


def _scale_down(updates: list[Update], threshold: float) -> None:
    """Scales all gradients by what brings their norm down to the threshold."""
    if not updates:
        return
    backend = updates[0].backend
    total = sum_of_squares(backend, updates[0].gradient)
    for update in updates[1:]:
        total = backend.add(total, _as(backend, sum_of_squares(backend, update.gradient), total.dtype))
    factor = factor_for(backend, total, threshold)
    for update in updates:
        gradient = update.gradient
        own = backend.reshape(_as(backend, factor, gradient.dtype), (1,) * len(gradient.shape))
        update.overwrite("multiply_no_nan", gradient, own)


def factor_for(backend: Any, total: Primitive, threshold: float) -> Primitive:
    """What brings a norm down to the threshold, if it is above: from the sum of all squares."""
    return backend.minimum(backend.div(threshold, backend.add(backend.sqrt(total), _EPSILON)), 1.0)


def sum_of_squares(backend: Any, gradient: Primitive) -> Primitive:
    """Of one gradient, ``(1,)``; of float16 in float32."""
    wide = backend.cast(gradient, DType.FLOAT32) if gradient.dtype.itemsize == 2 else gradient
    return backend.sum(backend.mul(wide, wide))


def _as(backend: Any, a: Primitive, dtype: Any) -> Primitive:
    return a if a.dtype == dtype else backend.cast(a, DTYPES[dtype])
