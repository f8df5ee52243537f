"""A loss of the angle between two vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.base.dtype import Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1, D2
from tinyburn.module import Config, Module
from tinyburn.nn.checks import check_features
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor, reject_dtype

from .checks import check_pair, check_reduction, reduced

B = TypeVar("B", bound=Backend)


@dataclass(frozen=True)
class CosineEmbeddingLossConfig(Config):
    """``margin`` is the cosine, from -1 to 1, up to which vectors that should differ cost nothing."""

    margin: float = 0.0
    reduction: str = "mean"

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        reasons = [] if -1 <= self.margin <= 1 else [f"margin is {self.margin}, and lies from -1 to 1"]
        known = ("auto", "mean", "sum")
        return reasons + ([] if self.reduction in known else [f"reduction {self.reduction!r} is not one of {known}"])

    def init(self, device: Device[Any] | None = None) -> CosineEmbeddingLoss:
        """The loss. It needs no device; one may be given, as to every other config."""
        return CosineEmbeddingLoss(self.margin, self.reduction)


class CosineEmbeddingLoss(Module):
    """``1 - cos`` for a pair of vectors that should be alike (label 1), and ``max(cos - margin, 0)`` for one that
    should not (label -1).

    A vector of zeros has the cosine 0 with every other one, and the slope 0.
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, left: Tensor[B, D2], right: Tensor[B, D2], labels: Tensor[B, D1, Int]) -> Tensor[B, D1]:
        """Two Float ``(batch, features)`` and Int ``(batch,)``, to shape (1,).

        Raises ShapeError for shapes that do not fit, for the mean of an empty batch, and for labels other than 1 and
        -1, as far as the backend can tell; DeviceMismatch or DTypeMismatch for another device or dtype.
        """
        check_reduction("CosineEmbeddingLoss", self.reduction)
        return reduced(self.forward_no_reduction(left, right, labels), self.reduction)

    def forward_no_reduction(
        self, left: Tensor[B, D2], right: Tensor[B, D2], labels: Tensor[B, D1, Int]
    ) -> Tensor[B, D1]:
        """The loss of each pair, ``(batch,)``."""
        _check(left, right, labels)
        cosines = _cosines(left, right).flatten()
        return activation.relu(cosines - self.margin).mask_where(labels == 1, 1.0 - cosines)


def _cosines(left: Tensor[B, D2], right: Tensor[B, D2]) -> Tensor[B, D2]:
    """The cosine of each pair of rows, ``(batch, 1)``."""
    lengths = (left * left).sum_dim(1).sqrt() * (right * right).sum_dim(1).sqrt()
    smallest = float(np.finfo(str(left.dtype)).tiny)
    return (left * right).sum_dim(1) / lengths.clamp_min(smallest)


def _check(left: Tensor[B, D2], right: Tensor[B, D2], labels: Any) -> None:
    name = "CosineEmbeddingLoss"
    check_pair(name, left, right)
    check_tensor(name, labels)
    check_operands(name, left, labels, dtype=False, shapes=False)
    if labels.primitive.dtype.kind != "i":
        raise reject_dtype(name, labels, "int")
    check_features(name, left, 0, left.shape[0], "batch", (2,))
    if labels.shape != left.shape[:1]:
        reason = "there is one label, 1 or -1, for each row"
        raise ShapeError(name, reason, given={"left": left.shape, "labels": labels.shape})
    squares = labels.backend.index_bounds((labels * labels).primitive)
    if squares and squares != (1, 1):
        raise ShapeError(name, "a label is neither 1 nor -1", hint="write labels * 2 - 1 for labels of 0 and 1")
