"""Batch normalisation, the one layer whose forward pass leaves something behind."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.autodiff.checkpointing import is_running_again
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D1
from tinyburn.module import Config, Initializer, Module, Param
from tinyburn.tensor import Tensor

from .checks import check_features, check_meets, not_a_share, not_positive, too_small
from .normalize import NAMES_IN_TORCH, by_channel, narrowed, standardized_by, statistics, widened

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)

AnyTensor = Tensor[Any, Any]

_updating = Lock()
"""One for all layers, since a layer is copied and pickled, and a lock cannot be. It is held for a few small sums."""


@dataclass(frozen=True)
class BatchNormConfig(Config):
    """``num_features`` channels; ``momentum`` is the share of the newest batch in the running statistics."""

    num_features: int
    epsilon: float = 1e-5
    momentum: float = 0.1

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        reasons = too_small(num_features=self.num_features)
        return reasons + not_positive(epsilon=self.epsilon) + not_a_share(momentum=self.momentum)

    def init(self, device: Device[DB]) -> BatchNorm[DB]:
        """The layer, with gamma and the running variance at 1, and beta and the running mean at 0."""
        shape = (self.num_features,)
        gamma, beta = Initializer.Ones.init(shape, device), Initializer.Zeros.init(shape, device)
        statistics = Tensor.zeros(shape, device), Tensor.ones(shape, device)
        return BatchNorm(gamma, beta, *statistics, self.epsilon, self.momentum)


class BatchNorm(Module, Generic[B]):
    """Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each channel.

    Ioffe and Szegedy 2015, "Batch Normalization". Whose mean and variance depends on the backend:

    - With autodiff the layer trains: they are those of the batch. The layer also mixes them into its running
      statistics, ``running = (1 - momentum) * running + momentum * batch``.
    - Without autodiff, so in ``model.valid()``, they are the running ones, and stay as they are. The same holds where
      gamma and beta are frozen: what training leaves alone does not learn statistics either.

    The running statistics are constants of the module, the attributes ``running_mean`` and ``running_var``. So they
    move, are copied and are saved with it, and an optimizer's step carries them over into the model that it returns.
    A forward pass replaces the two attributes of *this* layer by new tensors; no other layer of tinyburn does the like.
    An earlier model or a copy keeps what it has. The new tensors have no graph, and share no memory with the batch. A
    segment of `autodiff.checkpoint`, which runs twice, counts a batch once. In several threads each batch counts, in
    the order in which they come; so to make runs repeatable, give each thread a `fork`.

    The variance is the biased one, over the n numbers of a channel, as in Burn. PyTorch's normalises with that one
    too, but its running variance is the unbiased one, n / (n - 1) times as large; it calls gamma weight and beta bias.
    """

    running_mean: Tensor[B, D1]
    running_var: Tensor[B, D1]
    torch_names = NAMES_IN_TORCH

    def __init__(
        self,
        gamma: Param[B, D1],
        beta: Param[B, D1],
        running_mean: Tensor[B, D1],
        running_var: Tensor[B, D1],
        epsilon: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        if not isinstance(gamma, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall("nn.BatchNorm", reason, hint="write nn.BatchNormConfig(num_features).init(device)")
        (self.num_features,) = gamma.val().shape
        self.epsilon = epsilon
        self.momentum = momentum
        self.gamma = gamma
        self.beta = beta
        self.running_mean = running_mean
        self.running_var = running_var

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> BatchNorm[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> BatchNorm[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: BatchNorm[Differentiable[IB]]) -> BatchNorm[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """``(batch, num_features, …)``, kept; rank 2 or more.

        Raises ShapeError for another number of features, and for an empty batch while it trains; DeviceMismatch or
        DTypeMismatch for another device or dtype.
        """
        check_features("BatchNorm", x, 1, self.num_features, "num_features", range(2, 7))
        gamma: AnyTensor = by_channel(self.gamma.val(), x.rank)
        beta: AnyTensor = by_channel(self.beta.val(), x.rank)
        check_meets("BatchNorm", x, gamma)
        if not x.backend.is_autodiff or (self.gamma.is_frozen and self.beta.is_frozen):
            mean, variance = by_channel(self.running_mean, x.rank), by_channel(self.running_var, x.rank)
            scale = gamma * (variance + self.epsilon).sqrt().recip()
            return x * scale + (beta - mean * scale)
        if 0 in x.shape:
            reason = "the batch is empty, so it has no mean to normalise with"
            raise ShapeError("BatchNorm", reason, given={"input": x.shape}, hint="skip an empty batch")
        others = (0, *range(2, x.rank))
        wide = widened(x)
        mean, variance = statistics(wide, others)
        if not is_running_again():
            self._mix_in(mean, variance)
        return narrowed(standardized_by(wide, mean, variance, others, self.epsilon), x.dtype) * gamma + beta

    def _mix_in(self, mean: AnyTensor, variance: AnyTensor) -> None:
        """The statistics of one more batch, as constants, into the running ones."""
        with _updating:
            self.running_mean = self._mixed(self.running_mean, mean)
            self.running_var = self._mixed(self.running_var, variance)

    def _mixed(self, running: AnyTensor, batch: AnyTensor) -> AnyTensor:
        newest = copy.deepcopy(batch.detach())  # in no graph, at no depth of autodiff
        newest = narrowed(newest.reshape(running.shape), running.dtype)
        return running * (1 - self.momentum) + newest * self.momentum
