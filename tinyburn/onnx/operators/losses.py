"""Losses of a classification, with a class for each sample, or for each place of each sample."""

from __future__ import annotations

from tinyburn import activation
from tinyburn.base.errors import OnnxError
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value
from tinyburn.tensor import Tensor


@operator("SoftmaxCrossEntropyLoss", 12, 13)
def softmax_cross_entropy(
    scores: Value,
    labels: Value,
    weights: Value | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Value, Value]:
    """The negative log-likelihood of the softmax of scores; the second output is its logarithm."""
    logarithm = Value(activation.log_softmax(scores.tensor, 1))
    return negative_log_likelihood(
        logarithm, labels, weights, ignore_index=ignore_index, reduction=reduction
    ), logarithm


@operator("NegativeLogLikelihoodLoss", 12, 13, 22)
def negative_log_likelihood(
    x: Value,
    target: Value,
    weight: Value | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Value:
    """What stands at the class of each target, negative and with the weight of the class.

    A mean divides by the sum of the weights; what is ignored has none.
    """
    shares = _weights(x, target, weight, ignore_index)
    classes = target.tensor if ignore_index is None else _unless_ignored(target.tensor, target, ignore_index)
    chosen = x.tensor.gather(1, classes.unsqueeze_dim(1)).squeeze(1)
    losses = chosen * -shares
    if reduction == "none":
        return Value(losses)
    if reduction not in ("mean", "sum"):
        raise OnnxError("reduction of a loss", f"{reduction!r} is none of none, sum and mean")
    total = losses.sum()
    return Value(total if reduction == "sum" else total / shares.sum(), True)


def _weights(x: Value, target: Value, weight: Value | None, ignore_index: int | None) -> AnyTensor:
    """That of each target's class."""
    labels = target.tensor
    classes = labels if ignore_index is None else _unless_ignored(labels, target, ignore_index)
    ones = Tensor.ones((1,) * labels.rank, labels.device, x.tensor.dtype).expand(labels.shape)
    found = ones if weight is None else weight.tensor.take(0, classes)
    return found if ignore_index is None else _unless_ignored(found, target, ignore_index)


def _unless_ignored(values: AnyTensor, target: Value, ignore_index: int) -> AnyTensor:
    """0 where a target is ignored."""
    return values.mask_fill(target.tensor.equal(ignore_index), 0)
