"""Activation functions that learn: PRelu and SwiGlu."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import ForeignCall
from tinyburn.base.shape import D1
from tinyburn.module import Config, Module, Param
from tinyburn.module.initializer import AnyInitializer, Constant, KaimingUniform
from tinyburn.tensor import Tensor

from .checks import not_finite, too_small
from .linear import Linear, LinearConfig

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D")
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)
M = TypeVar("M", bound=Literal[2, 3, 4, 5, 6])


@dataclass(frozen=True)
class PReluConfig(Config):
    """``num_parameters`` slopes below 0, which start at ``alpha``: one for all, or one for each entry of dim 1."""

    num_parameters: int = 1
    alpha: float = 0.25

    def problems(self) -> list[str]:
        """Values that no layer can have."""
        return too_small(num_parameters=self.num_parameters) + not_finite(alpha=self.alpha)

    def init(self, device: Device[DB]) -> PRelu[DB]:
        """The layer, with its slopes on the device."""
        return PRelu(Constant(self.alpha).init((self.num_parameters,), device))


class PRelu(Module, Generic[B]):
    """See `tinyburn.activation.prelu`. Its slopes, ``alpha``, are learnt; PyTorch calls them weight."""

    def __init__(self, alpha: Param[B, D1]) -> None:
        if not isinstance(alpha, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall("nn.PRelu", reason, hint="write nn.PReluConfig().init(device)")
        self.alpha = alpha

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> PRelu[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> PRelu[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: PRelu[Differentiable[IB]]) -> PRelu[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, D]) -> Tensor[B, D]:
        """Any shape, kept. Raises ShapeError if dim 1 does not have as many entries as there are slopes."""
        return activation.prelu(x, self.alpha.val())


@dataclass(frozen=True)
class SwiGluConfig(Config):
    """From ``d_input`` to ``d_output`` features, by two linear layers without bias."""

    d_input: int
    d_output: int
    bias: bool = False
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def problems(self) -> list[str]:
        """Sizes that no layer can have."""
        return too_small(d_input=self.d_input, d_output=self.d_output)

    def init(self, device: Device[DB]) -> SwiGlu[DB]:
        """The layer, with its parameters on the device."""
        linear = LinearConfig(self.d_input, self.d_output, self.bias, self.initializer)
        return SwiGlu(linear.init(device), linear.init(device))


class SwiGlu(Module, Generic[B]):
    """``silu(linear_inner(x)) * linear_outer(x)`` (Shazeer 2020, "GLU Variants Improve Transformer")."""

    def __init__(self, linear_inner: Linear[B], linear_outer: Linear[B]) -> None:
        self.linear_inner = linear_inner
        self.linear_outer = linear_outer

    if TYPE_CHECKING:  # as of `PRelu`

        def to_device(self, device: Device[DB]) -> SwiGlu[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> SwiGlu[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: SwiGlu[Differentiable[IB]]) -> SwiGlu[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, M]) -> Tensor[B, M]:
        """From ``(…, d_input)`` to ``(…, d_output)``, rank 2 or more. Raises as `Linear` does."""
        return activation.silu(self.linear_inner(x)) * self.linear_outer(x)
