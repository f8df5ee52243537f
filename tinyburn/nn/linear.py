"""The linear layer, Y = X W + b."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D1, D2
from tinyburn.module import Config, Module, Param
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor

from .checks import too_small

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)
M = TypeVar("M", bound=Literal[2, 3, 4, 5, 6])  # the rank of a batch


@dataclass(frozen=True)
class LinearConfig(Config):
    """A layer from ``d_input`` to ``d_output`` features.

    The weight, (d_input, d_output), starts by ``initializer``; the bias, (d_output,), starts in the same range.
    """

    d_input: int
    d_output: int
    bias: bool = True
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def problems(self) -> list[str]:
        """Sizes that no layer can have."""
        return too_small(d_input=self.d_input, d_output=self.d_output)

    def init(self, device: Device[DB]) -> Linear[DB]:
        """The layer, with its parameters on the device."""
        weight = self.initializer.init((self.d_input, self.d_output), device, self.d_input, self.d_output)
        bias = self.initializer.init((self.d_output,), device, self.d_input, self.d_output) if self.bias else None
        return Linear(weight, bias)


class Linear(Module, Generic[B]):
    """Y = X W + b over the last dim of X; every other dim is free, and may differ from call to call."""

    torch_transposed = ("weight",)

    def __init__(self, weight: Param[B, D2], bias: Param[B, D1] | None) -> None:
        if not isinstance(weight, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall("nn.Linear", reason, hint="write nn.LinearConfig(d_input, d_output).init(device)")
        self.d_input, self.d_output = weight.val().shape
        self.weight = weight
        self.bias = bias

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Linear[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Linear[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: Linear[Differentiable[IB]]) -> Linear[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, x: Tensor[B, M]) -> Tensor[B, M]:
        """From ``(…, d_input)`` to ``(…, d_output)``, rank 2 or more.

        Raises ShapeError for another d_input, and DeviceMismatch or DTypeMismatch for another device or dtype.
        """
        weight = self.weight.val()
        if not (isinstance(x, Tensor) and x.rank >= 2 and x.primitive.shape[-1] == self.d_input):
            raise self._misfit(x)
        if self.bias is None:
            batch: Tensor[B, Any] = x
            return batch @ weight.unsqueeze(x.rank)
        bias = self.bias.val()
        for tensor in (weight, bias):
            if tensor.device is not x.device or tensor.primitive.dtype is not x.primitive.dtype:
                check_operands("Linear", x, tensor, shapes=False)
        return x._new(x.device.backend.linear(x.primitive, weight.primitive, bias.primitive))

    def _misfit(self, x: Tensor[Any, Any]) -> ShapeError:
        """What is wrong with an input that does not fit."""
        check_tensor("Linear", x)
        free, hint = ", ".join(["any"] * max(x.rank - 1, 1)), "the other dims are free"
        reasons = []
        if x.rank < 2:
            reasons.append(f"the input has rank {x.rank}; a batch has rank 2 or more")
            hint = "a single sample becomes a batch of one with unsqueeze()"
        if x.shape[-1] != self.d_input:
            reasons.append(f"the last dim is {x.shape[-1]}, and the weight fixes it at d_input = {self.d_input}")
        given = {"input": x.shape, "expected": f"({free}, {self.d_input})", "weight": self.weight.val().shape}
        return ShapeError("Linear", reasons, given=given, hint=hint)
