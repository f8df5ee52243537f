"""What all losses check, and how they come to one number."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from tinyburn.backend import Backend
from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.shape import D1
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor, reject_dtype

B = TypeVar("B", bound=Backend)
D = TypeVar("D")

AnyTensor = Tensor[Any, Any, Any]

Reduction: TypeAlias = Literal["auto", "mean", "sum"]
"""How a loss comes to one number; ``"auto"`` is the mean."""


def reduced(losses: Tensor[B, Any], reduction: str) -> Tensor[B, D1]:
    """Each element's loss as one number."""
    return losses.sum() if reduction == "sum" else losses.mean()


def check_reduction(name: str, reduction: object, known: tuple[str, ...] = ("auto", "mean", "sum")) -> None:
    """Raises ConfigError for a reduction that a loss does not have."""
    if reduction not in known:
        allowed = " nor ".join(map(repr, known))
        hint = "write loss.forward_no_reduction(...) for the loss of each element" if reduction == "none" else None
        raise ConfigError(name, f"reduction {reduction!r} is neither {allowed}", hint=hint)


def check_pair(name: str, prediction: AnyTensor, target: AnyTensor) -> None:
    """Raises unless two Float tensors have one shape, dtype and device."""
    check_same_shape(name, prediction, target)
    if target.device is not prediction.device or target.primitive.dtype is not prediction.primitive.dtype:
        check_operands(name, prediction, target)
    if prediction.primitive.dtype.kind != "f":
        raise reject_dtype(name, prediction, "float")


def check_same_shape(name: str, prediction: AnyTensor, target: AnyTensor) -> None:
    """Raises ShapeError unless a prediction and its target have one shape."""
    check_tensor(name, prediction)
    check_tensor(name, target)
    if prediction.shape != target.shape:
        given = {"prediction": prediction.shape, "target": target.shape}
        hint = "give the target the prediction's shape, with reshape(...) or unsqueeze_dim(...)"
        raise ShapeError(name, "prediction and target have different shapes", given=given, hint=hint)
