"""Losses: how far predictions are from targets, as one number of shape (1,)."""

from __future__ import annotations

from typing import Literal, TypeVar

from tinyburn.backend import Backend
from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.shape import D1
from tinyburn.module import Module
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")


class MseLoss(Module):
    """The mean of the squared differences. The target is a constant unless the caller tracks it."""

    def forward(
        self, prediction: Tensor[B, D], target: Tensor[B, D], reduction: Literal["mean", "sum"] = "mean"
    ) -> Tensor[B, D1]:
        """Two tensors of one shape: broadcasting a target over a batch is nearly always a mistake.

        Raises ShapeError if the shapes differ, and for the mean of an empty batch.
        """
        check_same_shape("MseLoss", prediction, target)
        if reduction not in ("mean", "sum"):
            raise ConfigError("MseLoss", f"reduction {reduction!r} is neither 'mean' nor 'sum'")
        wanted = prediction._operand("MseLoss", target)
        squares = prediction._new(
            prediction.device.backend.squared_difference(prediction._of_kind("MseLoss", "float"), wanted)
        )
        return squares.mean() if reduction == "mean" else squares.sum()


def check_same_shape(name: str, prediction: Tensor[B, D], target: Tensor[B, D]) -> None:
    """Raises ShapeError unless a prediction and its target have one shape."""
    check_tensor(name, prediction)
    check_tensor(name, target)
    if prediction.shape != target.shape:
        given = {"prediction": prediction.shape, "target": target.shape}
        hint = "give the target the prediction's shape, with reshape(...) or unsqueeze_dim(...)"
        raise ShapeError(name, "prediction and target have different shapes", given=given, hint=hint)
