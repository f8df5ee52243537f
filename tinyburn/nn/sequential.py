"""Layers one after another, and the step from feature maps to features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from tinyburn.backend import Backend
from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.shape import D2
from tinyburn.module import Module
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor

B = TypeVar("B", bound=Backend)


class Sequential(Module):
    """Calls its layers in their order, each with the result of the one before.

    The children are named by their index, so the first layer's weight is ``0.weight``, as in PyTorch. The rank of the
    result is not known to a type checker; write a class with a ``forward`` of your own where that matters.

    Raises ConfigError for a layer that is no module.
    """

    def __init__(self, *layers: Module) -> None:
        for at, layer in enumerate(layers):
            if not isinstance(layer, Module):
                reason = f"layer {at} is {layer!r}, and no module"
                raise ConfigError("Sequential", reason, hint="write nn.Relu() for activation.relu, and so on")
        vars(self).update({str(at): layer for at, layer in enumerate(layers)})

    def __len__(self) -> int:
        return len(vars(self))

    def __iter__(self) -> Iterator[Module]:
        return iter(vars(self).values())

    def __getitem__(self, at: int) -> Module:
        return list(self)[at]

    def forward(self, x: Tensor[B, Any]) -> Tensor[B, Any]:
        """What the last layer returns; without any layer, the input."""
        for layer in self:
            x = layer(x)
        return x


class Flatten(Module):
    """All dims but the first as one: what stands between convolutions and a linear layer."""

    def forward(self, x: Tensor[B, Any]) -> Tensor[B, D2]:
        """From ``(batch, …)`` to ``(batch, features)``; rank 2 or more. Raises ShapeError for a single sample."""
        check_tensor("Flatten", x)
        if x.rank < 2:
            reason = f"the input has rank {x.rank}; a batch has rank 2 or more"
            hint = "a single sample becomes a batch of one with unsqueeze()"
            raise ShapeError("Flatten", reason, given={"input": x.shape}, hint=hint)
        return x.reshape((x.shape[0], math.prod(x.shape[1:])))
