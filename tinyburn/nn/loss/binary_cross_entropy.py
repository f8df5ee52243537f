"""Binary cross entropy: each number is a question of its own, answered with yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Int
from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import D1
from tinyburn.module import Config, Module
from tinyburn.nn.checks import check_meets, not_a_share
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, reject_dtype

from .checks import Reduction, check_reduction, check_same_shape, reduced
from .cross_entropy import wrong_weights

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)

AnyTensor = Tensor[Any, Any]


@dataclass(frozen=True)
class BinaryCrossEntropyLossConfig(Config):
    """The plain loss of probabilities by default.

    Attributes:
        weights: above 0. For rank 1 there are two, of the answers no and yes; for other ranks one for each entry of the
            last dim.
        smoothing: the share of each label that is spread evenly over the classes, from 0 to 1.
        logits: whether predictions are any numbers, of which `activation.sigmoid` would make the probabilities. Choose
            it where you can: it is exact also where a probability is too near to 0 or 1 for its dtype.
    """

    weights: tuple[float, ...] | list[float] | None = None
    smoothing: float | None = None
    logits: bool = False

    def problems(self) -> list[str]:
        """Values that no loss can have."""
        return wrong_weights(self.weights) + not_a_share(smoothing=self.smoothing or 0.0)

    def init(self, device: Device[DB]) -> BinaryCrossEntropyLoss[DB]:
        """The loss, with the weights on the device."""
        weights = None if self.weights is None else Tensor.from_data([float(one) for one in self.weights], device)
        return BinaryCrossEntropyLoss(weights, self.smoothing, self.logits)


class BinaryCrossEntropyLoss(Module, Generic[B]):
    """Minus the logarithm of the probability that was given to the right answer, ``-t log(p) - (1 - t) log(1 - p)``.

    Logarithms of probabilities are kept at -100 or above, as in Burn and PyTorch. Smoothing gives a label t the value
    ``t (1 - a) + a / classes``, with the last dim's size as classes, or 2 for rank 1: so Burn counts them. PyTorch has
    two losses for this one, BCELoss and BCEWithLogitsLoss, whose weights are of each element.
    """

    def __init__(
        self, weights: Tensor[B, D1] | None = None, smoothing: float | None = None, logits: bool = False
    ) -> None:
        self.weights = weights
        self.smoothing = smoothing
        self.logits = logits

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> BinaryCrossEntropyLoss[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> BinaryCrossEntropyLoss[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: BinaryCrossEntropyLoss[Differentiable[IB]]) -> BinaryCrossEntropyLoss[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self, prediction: Tensor[B, D], labels: Tensor[B, D, Int] | Tensor[B, D], reduction: Reduction = "auto"
    ) -> Tensor[B, D1]:
        """Float predictions, and labels of the same shape: 0 and 1 as Int, or any share between as Float.

        Raises ShapeError if the shapes differ, for another number of weights, for the mean of an empty batch, and for
        Int labels other than 0 and 1, as far as the backend can tell; DeviceMismatch or DTypeMismatch for another
        device or dtype.
        """
        check_reduction("BinaryCrossEntropyLoss", reduction)
        return reduced(self.forward_no_reduction(prediction, labels), reduction)

    def forward_no_reduction(self, prediction: Tensor[B, D], labels: Tensor[B, D, Int] | Tensor[B, D]) -> Tensor[B, D]:
        """The weighted loss of each element."""
        self._check(prediction, labels)
        given: AnyTensor = labels.cast(str(prediction.dtype))  # type: ignore[call-overload]
        shares = given
        if self.smoothing:
            classes = labels.shape[-1] if labels.rank > 1 else 2
            shares = given * (1 - self.smoothing) + self.smoothing / classes
        losses = self._of_logits(prediction, shares) if self.logits else self._of_probabilities(prediction, shares)
        return losses if self.weights is None else losses * self._weights_for(given)

    @staticmethod
    def _of_logits(x: AnyTensor, t: AnyTensor) -> AnyTensor:
        """With p = sigmoid(x), log(1 - p) is -softplus(x), and log(p) is x more."""
        return activation.softplus(x) - t * x

    @staticmethod
    def _of_probabilities(p: AnyTensor, t: AnyTensor) -> AnyTensor:
        no = (1.0 - t) * (-p).log1p().clamp_min(-100.0)
        return -(t * p.log().clamp_min(-100.0) + no)

    def _weights_for(self, labels: AnyTensor) -> AnyTensor:
        """The weight of each element; between those of no and yes for a label between."""
        weights: Any = self.weights
        if labels.rank > 1:
            return weights.unsqueeze(labels.rank)  # type: ignore[no-any-return]
        return labels * (weights[1:] - weights[:1]) + weights[:1]  # type: ignore[no-any-return]

    def _check(self, prediction: AnyTensor, labels: Any) -> None:
        name = "BinaryCrossEntropyLoss"
        check_same_shape(name, prediction, labels)
        kind = labels.primitive.dtype.kind
        check_operands(name, prediction, labels, dtype=kind == "f", shapes=False)
        if prediction.primitive.dtype.kind != "f":
            raise reject_dtype(name, prediction, "float")
        bounds = labels.backend.index_bounds(labels.primitive) if kind in "iu" else None
        if bounds and not 0 <= bounds[0] <= bounds[1] <= 1:
            reason = f"the labels run from {bounds[0]} to {bounds[1]}, and each is 0 or 1"
            raise ShapeError(name, reason, given={"labels": labels.shape}, hint="use CrossEntropyLoss for more classes")
        if self.weights is not None:
            check_meets(name, prediction, self.weights)
            wanted = labels.shape[-1] if labels.rank > 1 else 2
            if self.weights.shape != (wanted,):
                reason = f"there are {self.weights.shape[0]} weights for {wanted} classes"
                raise ShapeError(name, reason, given={"prediction": prediction.shape})
