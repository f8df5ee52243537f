"""Cross entropy of classes: how surprised a prediction is by the right class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Bool, Int
from tinyburn.base.errors import ConfigError, ShapeError
from tinyburn.base.shape import D1, D2
from tinyburn.module import Config, Module
from tinyburn.nn.checks import check_meets, not_a_share
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor, reject_dtype

from .checks import Reduction, check_reduction

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)

AnyTensor = Tensor[Any, Any]


@dataclass(frozen=True)
class CrossEntropyLossConfig(Config):
    """The plain loss by default.

    Attributes:
        pad_tokens: labels that do not count, such as that of padding. They may lie outside of the classes.
        weights: a weight for each class, above 0. The mean is then that of the weighted losses over the weights.
        smoothing: the share of each label that is spread evenly over all classes, from 0 to 1.
        logits: whether predictions are any numbers, of which `activation.softmax` would make the probabilities; if
            not, they are the probabilities.
    """

    pad_tokens: tuple[int, ...] | list[int] | None = None
    weights: tuple[float, ...] | list[float] | None = None
    smoothing: float | None = None
    logits: bool = True

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        return wrong_weights(self.weights) + not_a_share(smoothing=self.smoothing or 0.0)

    def init(self, device: Device[DB]) -> CrossEntropyLoss[DB]:
        """The loss, with the weights on the device."""
        weights = None if self.weights is None else Tensor.from_data([float(one) for one in self.weights], device)
        pad_tokens = None if self.pad_tokens is None else tuple(self.pad_tokens)
        return CrossEntropyLoss(weights, pad_tokens, self.smoothing, self.logits)


def wrong_weights(weights: tuple[float, ...] | list[float] | None) -> list[str]:
    """A reason if some weights are not all above 0."""
    if weights is None or (len(weights) > 0 and all(0 < one < float("inf") for one in weights)):
        return []
    return [f"weights is {weights}, and must be finite numbers above 0, one for each class"]


class CrossEntropyLoss(Module, Generic[B]):
    """Minus the logarithm of the probability that was given to the right class.

    Labels are class indices, Int ``(batch,)``, or a probability for each class, Float ``(batch, classes)``. A loss over
    sequences flattens them before: ``logits.reshape((-1, classes))`` and ``labels.flatten()``.

    It is computed by log_softmax, so no exponential overflows and no probability becomes 0. Where no label counts at
    all, the mean is NaN, as 0 / 0 is. PyTorch calls pad_tokens ignore_index, and has only one.
    """

    def __init__(
        self,
        weights: Tensor[B, D1] | None = None,
        pad_tokens: tuple[int, ...] | None = None,
        smoothing: float | None = None,
        logits: bool = True,
    ) -> None:
        self.weights = weights
        self.pad_tokens = pad_tokens
        self.smoothing = smoothing
        self.logits = logits

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> CrossEntropyLoss[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> CrossEntropyLoss[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: CrossEntropyLoss[Differentiable[IB]]) -> CrossEntropyLoss[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self, prediction: Tensor[B, D2], labels: Tensor[B, D1, Int] | Tensor[B, D2], reduction: Reduction = "auto"
    ) -> Tensor[B, D1]:
        """Float ``(batch, classes)`` and labels in one of the two forms, to shape (1,).

        Raises ShapeError for shapes that do not fit, for the mean of an empty batch, and for a label that is no class,
        as far as the backend can tell; DeviceMismatch or DTypeMismatch for another device or dtype; ConfigError for
        pad_tokens with labels that are probabilities.
        """
        check_reduction("CrossEntropyLoss", reduction)
        logs, counts = self._weighed(prediction, labels)
        if reduction == "sum":
            return -logs.sum()
        return -(logs.mean() if counts is None else logs.sum() / counts.sum())

    def forward_no_reduction(
        self, prediction: Tensor[B, D2], labels: Tensor[B, D1, Int] | Tensor[B, D2]
    ) -> Tensor[B, D1]:
        """The weighted loss of each sample, ``(batch,)``; 0 where a label does not count."""
        losses: Tensor[B, D1] = -self._weighed(prediction, labels)[0].flatten()
        return losses

    def _weighed(self, prediction: Any, labels: Any) -> tuple[AnyTensor, AnyTensor | None]:
        """The weighted logarithm of each sample's right class, and how much each sample counts in the mean; None if all
        count the same. Both are ``(batch, 1)``."""
        self._check(prediction, labels)
        if labels.primitive.dtype.kind == "f":
            return self._of_shares(prediction, labels), None
        padding = self._padding(labels)
        classes = labels if padding is None else labels.mask_fill(padding, 0)
        self._check_classes(classes, prediction.shape[1])
        logs = self._of_classes(prediction, classes.unsqueeze_dim(1))
        counts = None if self.weights is None else self.weights.select(0, classes).unsqueeze_dim(1)
        if padding is None:
            return logs, counts
        mask = padding.unsqueeze_dim(1)
        counts = logs.detach().ones_like() if counts is None else counts
        return logs.mask_fill(mask, 0.0), counts.mask_fill(mask, 0.0)

    def _of_classes(self, prediction: AnyTensor, classes: Tensor[Any, D2, Int]) -> AnyTensor:
        """That of the label; if labels are smoothed, a share of it, and the rest evenly of all classes."""
        logs = self._weighted(self._logs(prediction))
        right: AnyTensor = logs._ask("gather", 1, classes)
        if not self.smoothing:
            return right
        return right * (1 - self.smoothing) + logs.mean_dim(1) * self.smoothing

    def _of_shares(self, prediction: AnyTensor, shares: AnyTensor) -> AnyTensor:
        """The mean by the labels' probabilities. A share of 0 takes nothing, even of a logarithm that is infinite."""
        if self.smoothing:
            shares = shares * (1 - self.smoothing) + self.smoothing / shares.shape[1]
        logs = self._weighted(self._logs(prediction))
        return shares._ask("multiply_no_nan", logs).sum_dim(1)

    def _logs(self, prediction: AnyTensor) -> AnyTensor:
        """The logarithm of each class's probability, which is at least that of the smallest normal number."""
        if self.logits:
            return activation.log_softmax(prediction, 1)
        return prediction.clamp_min(float(np.finfo(str(prediction.dtype)).tiny)).log()

    def _weighted(self, logs: AnyTensor) -> AnyTensor:
        return logs if self.weights is None else logs * self.weights.unsqueeze(2)

    def _padding(self, labels: Tensor[Any, D1, Int]) -> Tensor[Any, D1, Bool] | None:
        """Where a label does not count."""
        found: Any = None
        for token in self.pad_tokens or ():
            here = labels == token
            found = here if found is None else found | here
        return found  # type: ignore[no-any-return]

    # Checks

    def _check(self, prediction: AnyTensor, labels: Any) -> None:
        check_tensor("CrossEntropyLoss", prediction)
        check_tensor("CrossEntropyLoss", labels)
        check_operands("CrossEntropyLoss", prediction, labels, dtype=False, shapes=False)
        if prediction.primitive.dtype.kind != "f":
            raise reject_dtype("CrossEntropyLoss", prediction, "float")
        if labels.primitive.dtype.kind == "b":
            raise reject_dtype("CrossEntropyLoss", labels, "int")
        soft = labels.primitive.dtype.kind == "f"
        if soft:
            check_operands("CrossEntropyLoss", prediction, labels, shapes=False)
        if prediction.rank != 2 or labels.shape != (prediction.shape if soft else prediction.shape[:1]):
            raise self._misfit(prediction, labels, soft)
        if self.weights is not None:
            check_meets("CrossEntropyLoss", prediction, self.weights)
            if self.weights.shape[0] != prediction.shape[1]:
                reason = f"there are {self.weights.shape[0]} weights for {prediction.shape[1]} classes"
                raise ShapeError("CrossEntropyLoss", reason, given={"prediction": prediction.shape})
        if soft and self.pad_tokens is not None:
            reason = "pad_tokens are class indices, and the labels are probabilities"
            raise ConfigError("CrossEntropyLoss", reason, hint="give rows that do not count the probabilities 0")

    def _misfit(self, prediction: AnyTensor, labels: AnyTensor, soft: bool) -> ShapeError:
        given = {"prediction": prediction.shape, "labels": f"{labels.shape} {labels.dtype}"}
        if prediction.rank != 2:
            reason = f"the prediction has rank {prediction.rank}, and is (batch, classes)"
            hint = "flatten sequences: logits.reshape((-1, classes)) and labels.flatten()"
        elif soft:
            reason = "labels that are Float are a probability for each class, and have the prediction's shape"
            hint = "convert class indices with .int()"
        else:
            reason = "labels that are Int are class indices, one for each row of the prediction"
            hint = f"they have shape ({prediction.shape[0]},); flatten() them, or convert probabilities with .float()"
        return ShapeError("CrossEntropyLoss", reason, given=given, hint=hint)

    def _check_classes(self, classes: Tensor[Any, D1, Int], count: int) -> None:
        bounds = classes.backend.index_bounds(classes.primitive)
        if bounds and not 0 <= bounds[0] <= bounds[1] < count:
            reason = f"the labels run from {bounds[0]} to {bounds[1]}, and there are {count} classes"
            hint = "name a label that shall not count in pad_tokens of the config"
            raise ShapeError("CrossEntropyLoss", reason, given={"labels": classes.shape}, hint=hint)
