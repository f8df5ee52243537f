"""The embedding: a table of vectors, one for each token, class or other whole number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Int
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D2, D3
from tinyburn.module import Config, Module, Param
from tinyburn.module.initializer import AnyInitializer, Normal
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor, reject_dtype

from .checks import too_small

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class EmbeddingConfig(Config):
    """A table of ``n_embedding`` vectors, each of ``d_model`` numbers, which start by ``initializer``."""

    n_embedding: int
    d_model: int
    initializer: AnyInitializer = field(default_factory=lambda: Normal(0.0, 1.0))

    def problems(self) -> list[str]:
        """Sizes that no table can have."""
        return too_small(n_embedding=self.n_embedding, d_model=self.d_model)

    def init(self, device: Device[DB]) -> Embedding[DB]:
        """The layer, with its table on the device."""
        return Embedding(self.initializer.init((self.n_embedding, self.d_model), device, fan_in=self.n_embedding))


class Embedding(Module, Generic[B]):
    """Looks up a vector for each index. Its weight is the table, ``(n_embedding, d_model)``.

    An index that comes several times adds its gradients; a vector that nobody looked up has the gradient 0. There is no
    index for padding, as PyTorch has one: leave its positions out of the loss instead. PyTorch's takes any rank.
    """

    def __init__(self, weight: Param[B, D2]) -> None:
        if not isinstance(weight, Param):
            reason = "a layer is made by its config, which makes the parameters on a device"
            raise ForeignCall(
                "nn.Embedding", reason, hint="write nn.EmbeddingConfig(n_embedding, d_model).init(device)"
            )
        self.n_embedding, self.d_model = weight.val().shape
        self.weight = weight

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> Embedding[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> Embedding[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: Embedding[Differentiable[IB]]) -> Embedding[IB]:
            """See `Module.valid`."""
            ...

    def forward(self, indices: Tensor[B, D2, Int]) -> Tensor[B, D3]:
        """From Int ``(batch, length)`` to Float ``(batch, length, d_model)``.

        Raises DTypeMismatch for indices that are not Int, and ShapeError for another rank, or for an index that the
        table does not have, as far as the backend can tell.
        """
        check_tensor("Embedding", indices)
        weight: Tensor[Any, D2] = self.weight.val()
        check_operands("Embedding", weight, indices, dtype=False, shapes=False)
        if indices.primitive.dtype.kind not in "iu":
            raise reject_dtype("Embedding", indices, "int")
        if indices.rank != 2:
            reason = f"the indices have rank {indices.rank}, and are a batch of rows, (batch, length)"
            hint = "a single row becomes a batch of one with unsqueeze()"
            raise ShapeError("Embedding", reason, given={"indices": indices.shape}, hint=hint)
        return weight.select(0, indices.flatten()).reshape((*indices.shape, self.d_model))
