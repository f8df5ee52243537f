"""Gradients of several batches as one, and how large gradients are."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from tinyburn.autodiff import Gradients
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]


class Accumulator:
    """The gradient of the mean loss over several batches, of which each has a weight: its samples.

    With n samples in a batch and g the gradient of its mean, that is the sum of ``n * g`` over the sum of n. So a step
    of four batches of 32 is a step of one batch of 128, up to rounding; also where the last batch is smaller. As long
    as there is one batch only, its gradients are handed on as they are.
    """

    def __init__(self) -> None:
        self._first: Gradients[Any] | None = None
        self._sums: dict[Any, AnyTensor] = {}
        self._first_weight = self.weight = 0

    def __repr__(self) -> str:
        return f"Accumulator({self.weight})"

    def add(self, grads: Gradients[Any], weight: int) -> None:
        """The gradients of one more batch. From the second batch on they are taken."""
        self.weight += weight
        if self._first is None:
            self._first, self._first_weight = grads, weight
            return
        if not self._sums:
            self._add(self._first, self._first_weight)
        self._add(grads, weight)

    def _add(self, grads: Gradients[Any], weight: int) -> None:
        for node, (gradient, _) in grads.take_all("the accumulation").items():
            weighted = gradient * float(weight)
            before = self._sums.get(node)
            self._sums[node] = weighted if before is None else before + weighted

    def mean(self) -> Gradients[Any] | None:
        """All of them as one; None if there was no batch."""
        if not self._sums:
            return self._first
        leaves = {node: total * (1 / max(self.weight, 1)) for node, total in self._sums.items()}
        for gradient in leaves.values():
            gradient.backend.note(gradient.primitive, "gradient")
        return Gradients(leaves, None, frozenset(leaves))


def gradient_norm(grads: Gradients[Any]) -> float:
    """The root of the sum of the squares of all gradients, in float64."""
    squares = (float(np.sum(gradient.to_numpy().astype(np.float64) ** 2)) for gradient in grads.tensors())
    with np.errstate(all="ignore"):
        return math.sqrt(total) if math.isfinite(total := sum(squares)) else total


def are_finite(grads: Gradients[Any]) -> bool:
    """Whether no gradient has inf or NaN."""
    return all(bool(np.isfinite(gradient.to_numpy()).all()) for gradient in grads.tensors())
