"""Multi-head attention: each position asks, and takes a mean of what all offer, weighted by how they match."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tinyburn import activation
from tinyburn.backend import Backend, Device
from tinyburn.backend.decorator import Differentiable
from tinyburn.base.dtype import Bool
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import D2, D3, D4
from tinyburn.module import Config, Module
from tinyburn.module.initializer import AnyInitializer, KaimingUniform
from tinyburn.tensor import Tensor

from .checks import check_features, check_meets, not_a_share, too_small
from .dropout import Dropout
from .linear import Linear, LinearConfig
from .masks import check_mask

B = TypeVar("B", bound=Backend, covariant=True)
DB = TypeVar("DB", bound=Backend)
IB = TypeVar("IB", bound=Backend)


@dataclass(frozen=True)
class MultiHeadAttentionConfig(Config):
    """``n_heads`` heads, which share the ``d_model`` features: each has ``d_model / n_heads`` of them.

    ``dropout`` is the share of the weights that is dropped, after the softmax.
    """

    d_model: int
    n_heads: int
    dropout: float = 0.1
    initializer: AnyInitializer = field(default_factory=KaimingUniform)

    def problems(self) -> list[str]:
        """Sizes that no layer can have, heads that cannot share the features, and what is no share."""
        reasons = too_small(d_model=self.d_model, n_heads=self.n_heads)
        return reasons or uneven_heads(self.d_model, self.n_heads) + not_a_share(dropout=self.dropout)

    def init(self, device: Device[DB]) -> MultiHeadAttention[DB]:
        """The layer, with its parameters on the device."""
        linear = LinearConfig(self.d_model, self.d_model, initializer=self.initializer)
        query, key, value, output = [linear.init(device) for _ in range(4)]
        return MultiHeadAttention(query, key, value, output, self.n_heads, self.dropout)


def uneven_heads(d_model: int, n_heads: int) -> list[str]:
    """A reason if heads cannot share the features evenly, for `Config.problems`."""
    if d_model % n_heads == 0:
        return []
    return [f"d_model = {d_model} features cannot be shared evenly by n_heads = {n_heads}"]


@dataclass(frozen=True)
class MhaCache(Generic[B]):
    """The keys and values of the positions so far, each ``(batch, n_heads, length, d_model / n_heads)``.

    It never changes: a call that is given one returns the next one.
    """

    key: Tensor[B, D4]
    value: Tensor[B, D4]


@dataclass(frozen=True)
class MhaOutput(Generic[B]):
    """What attention returns.

    Attributes:
        context: ``(batch, queries, d_model)``.
        weights: how much each query took from each key, ``(batch, n_heads, queries, keys)``, before the dropout.
        cache: all keys and values that it has used, for the next call.
    """

    context: Tensor[B, D3]
    weights: Tensor[B, D4]
    cache: MhaCache[B]


class MultiHeadAttention(Module, Generic[B]):
    """``softmax(Q K.mT / sqrt(d_k)) V`` for each head, with d_k features each; a linear layer joins the heads.

    Vaswani et al. 2017, "Attention Is All You Need". PyTorch stores the weights of query, key and value as one matrix,
    ``in_proj_weight``, the other way round: its first ``d_model`` rows are ``query.weight.T``.
    """

    torch_names: ClassVar[Mapping[str, str]] = {"output": "out_proj"}
    torch_joined: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "in_proj_weight": ("query.weight", "key.weight", "value.weight"),
        "in_proj_bias": ("query.bias", "key.bias", "value.bias"),
    }

    def __init__(
        self, query: Linear[B], key: Linear[B], value: Linear[B], output: Linear[B], n_heads: int, dropout: float
    ) -> None:
        if not isinstance(query, Linear):
            reason = "a layer is made by its config, which makes the parameters on a device"
            hint = "write nn.MultiHeadAttentionConfig(d_model, n_heads).init(device)"
            raise ForeignCall("nn.MultiHeadAttention", reason, hint=hint)
        self.d_model, self.n_heads = query.d_input, n_heads
        self.query, self.key, self.value, self.output = query, key, value, output
        self.dropout = Dropout(dropout)

    if TYPE_CHECKING:  # the same as of every module; for a checker, what they return is on another backend

        def to_device(self, device: Device[DB]) -> MultiHeadAttention[DB]:
            """See `Module.to_device`."""
            ...

        def fork(self, device: Device[DB]) -> MultiHeadAttention[DB]:
            """See `Module.fork`."""
            ...

        def valid(self: MultiHeadAttention[Differentiable[IB]]) -> MultiHeadAttention[IB]:
            """See `Module.valid`."""
            ...

    def forward(
        self,
        query: Tensor[B, D3],
        key: Tensor[B, D3] | None,
        value: Tensor[B, D3] | None,
        mask_pad: Tensor[B, D2, Bool] | None = None,
        mask_attn: Tensor[B, D3, Bool] | None = None,
        cache: MhaCache[B] | None = None,
    ) -> MhaOutput[B]:
        """Each is ``(batch, length, d_model)``, with one length of key and value; all three are one in self-attention.

        Args:
            mask_pad: ``(batch, keys)``, True for keys that no query of the sample may use.
            mask_attn: ``(batch, queries, keys)``, or with a batch of 1 for all; True where a query may not use a key.
            cache: keys and values of earlier positions. Those of this call come after them; key and value may be None
                if there are no others. The masks are about all keys.

        A query that may use no key gets zeros from all heads. Raises ShapeError if shapes do not fit, and
        DeviceMismatch or DTypeMismatch for another device or dtype.
        """
        self._check(query, key, value, cache)
        heads = self._keys_and_values(key, value, cache)
        batch, queries, _ = query.shape
        shape = (batch, queries, heads.key.shape[2])
        scores = (self._heads(self.query(query)) * self._scale) @ heads.key.mT
        for name, mask in (("mask_pad", mask_pad), ("mask_attn", mask_attn)):
            if mask is not None:
                scores = scores.mask_fill(check_mask("MultiHeadAttention", name, mask, query, shape), -math.inf)
        weights = activation.softmax(scores, 3)
        del scores  # the gradients do not need them
        mixed = self.dropout(weights) @ heads.value
        context = self.output(mixed.swap_dims(1, 2).reshape((batch, queries, self.d_model)))
        return MhaOutput(context, weights, heads)

    @property
    def _scale(self) -> float:
        return 1 / math.sqrt(self.d_model // self.n_heads)

    def _heads(self, x: Tensor[Any, D3]) -> Tensor[Any, D4]:
        """From ``(batch, length, d_model)`` to ``(batch, n_heads, length, d_k)``."""
        batch, length, features = x.shape
        return x.reshape((batch, length, self.n_heads, features // self.n_heads)).swap_dims(1, 2)

    def _keys_and_values(
        self, key: Tensor[B, D3] | None, value: Tensor[B, D3] | None, cache: MhaCache[B] | None
    ) -> MhaCache[B]:
        """Those of this call, after those of the cache."""
        if key is None or value is None:
            assert cache is not None  # it was checked
            return cache
        new = MhaCache(self._heads(self.key(key)), self._heads(self.value(value)))
        if cache is None:
            return new
        return MhaCache(Tensor.cat([cache.key, new.key], 2), Tensor.cat([cache.value, new.value], 2))

    def _check(
        self,
        query: Tensor[B, D3],
        key: Tensor[B, D3] | None,
        value: Tensor[B, D3] | None,
        cache: MhaCache[B] | None,
    ) -> None:
        name = "MultiHeadAttention"
        given = {"query": query, "key": key, "value": value}
        present = {role: x for role, x in given.items() if x is not None or role == "query"}
        for x in present.values():
            check_features(name, x, -1, self.d_model, "d_model", ranks=(3,))
            check_meets(name, query, x)  # type: ignore[arg-type]  # no longer None
        check_meets(name, query, self.query.weight.val())
        shapes: dict[str, Any] = {role: x.shape for role, x in present.items()}  # type: ignore[union-attr]
        reasons = []
        if len(present) == 2 or (len(present) == 1 and cache is None):
            reasons.append("key and value come together, and only a cache can stand in for both")
        if len({shape[0] for shape in shapes.values()}) > 1:
            reasons.append("the batches differ")
        if len(present) == 3 and shapes["key"][1] != shapes["value"][1]:
            reasons.append("each key has a value, so their lengths are one")
        if cache is not None:
            shapes["cache"] = cache.key.shape
            if cache.key.shape[:2] != (query.shape[0], self.n_heads):
                reasons.append(
                    f"the cache is of another batch, or of other heads than the {self.n_heads} of this layer"
                )
        if reasons:
            raise ShapeError(name, reasons, given=shapes, hint="each is (batch, length, d_model)")
