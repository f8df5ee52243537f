"""Attention, with its masks and its cache; rotary positions; linear attention; and the gate that goes with them."""

from __future__ import annotations

from typing import TypeAlias

from tinyburn import activation
from tinyburn.base.errors import OnnxError
from tinyburn.nn.normalize import narrowed, widened
from tinyburn.onnx.protos import dtype_of
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, lifted
from tinyburn.tensor import Tensor

Offset: TypeAlias = "int | AnyTensor"


@operator("Attention", 23, 24, 25)
def attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    valid_keys: Value | None = None,
    *,
    scale: float | None = None,
    is_causal: int = 0,
    softcap: float = 0.0,
    left_window_size: int = -1,
    right_window_size: int = -1,
    q_num_heads: int | None = None,
    kv_num_heads: int | None = None,
    softmax_precision: int | None = None,
    qk_matmul_output_mode: int = 0,
) -> tuple[Value, ...]:
    """``softmax(q @ k.T * scale + mask) @ v`` for each head: the result, the keys and values, and the scores.

    A query head may share its keys and values with others. The scores are those before the softcap, before the mask,
    before the softmax or after it, by ``qk_matmul_output_mode``.
    """
    q, k, v = _heads(query, q_num_heads), _heads(key, kv_num_heads), _heads(value, kv_num_heads)
    k = k if past_key is None else Tensor.cat([past_key.tensor, k], 2)
    v = v if past_value is None else Tensor.cat([past_value.tensor, v], 2)
    root = (q.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
    raw = (q * root) @ (_shared(k, q) * root).transpose()
    capped = (raw / softcap).tanh() * softcap if softcap else raw
    offset = _offset(q, past_key, valid_keys)
    right = 0 if is_causal else right_window_size
    hidden = [*_outside(raw, offset, left_window_size, right), *_invalid(raw, valid_keys)]
    masked = _masked(capped if mask is None else _with_mask(capped, mask), hidden)
    shares = _softmax(masked, softmax_precision)
    result = shares @ _shared(v, q)
    scores = (raw, capped, masked, shares)[qk_matmul_output_mode]
    return _packed(result, query.rank), Value(k), Value(v), Value(scores)


def _heads(x: Value, count: int | None) -> AnyTensor:
    """``(batch, heads, length, features)``, where the heads may be side by side in the last dim."""
    if x.rank == 4:
        return x.tensor
    if x.rank != 3 or not count or x.shape[2] % count:
        raise OnnxError("heads", f"the shape {x.shape} is not cut into {count} heads")
    return x.tensor.reshape((*x.shape[:2], count, x.shape[2] // count)).swap_dims(1, 2)


def _packed(x: AnyTensor, rank: int) -> Value:
    """The heads side by side again, if they came so."""
    if rank == 4:
        return Value(x)
    batch, heads, length, features = x.shape
    return Value(x.swap_dims(1, 2).reshape((batch, length, heads * features)))


def _shared(x: AnyTensor, query: AnyTensor) -> AnyTensor:
    """Keys or values for each head of the query."""
    batch, heads, length, features = x.shape
    times = query.shape[1] // heads
    if times == 1:
        return x
    spread = x.unsqueeze_dim(2).expand((batch, heads, times, length, features))
    return spread.reshape((batch, heads * times, length, features))


def _offset(query: AnyTensor, past_key: Value | None, valid_keys: Value | None) -> Offset:
    """How many keys come before those of the first query; a number for each sample if keys are padded."""
    if past_key is not None:
        return past_key.shape[2]
    if valid_keys is None:
        return 0
    return _counts(valid_keys) - query.shape[2]


def _counts(valid_keys: Value) -> AnyTensor:
    """How many keys each sample has, as it meets all scores."""
    return valid_keys.tensor.cast(valid_keys.tensor.device.int_dtype).reshape((-1, 1, 1, 1))


def _positions(scores: AnyTensor, dim: int) -> AnyTensor:
    shape = [1, 1, 1, 1]
    shape[dim] = scores.shape[dim]
    return Tensor.arange(0, scores.shape[dim], scores.device).reshape(shape)


def _outside(scores: AnyTensor, offset: Offset, left: int, right: int) -> list[AnyTensor]:
    """Which keys are too far before a query, or too far behind it; -1 is no bound."""
    if left < 0 and right < 0:
        return []
    here, keys = _positions(scores, 2) + offset, _positions(scores, 3)
    return ([keys.lower(here - left)] if left >= 0 else []) + ([keys.greater(here + right)] if right >= 0 else [])


def _invalid(scores: AnyTensor, valid_keys: Value | None) -> list[AnyTensor]:
    """Which keys are padding."""
    return [] if valid_keys is None else [_positions(scores, 3).greater_equal(_counts(valid_keys))]


def _with_mask(scores: AnyTensor, mask: Value) -> AnyTensor:
    """A mask of floats is added, and one of truth values says which keys stay; keys that it leaves out go."""
    given = mask.tensor.unsqueeze(4)
    missing = scores.shape[3] - given.shape[3] if given.shape[3] > 1 else 0
    if mask.is_float:
        return scores + (given.pad([(0, missing)], -float("inf")) if missing else given)
    return _masked(scores, [(given.pad([(0, missing)], False) if missing else given).bool_not()])


def _masked(scores: AnyTensor, hidden: list[AnyTensor]) -> AnyTensor:
    for one in hidden:
        scores = scores.mask_fill(one.expand(scores.shape), -float("inf"))
    return scores


def _softmax(scores: AnyTensor, precision: int | None) -> AnyTensor:
    """In a dtype of its own, if one is asked for. A row in which all is hidden gives zeros."""
    wide = scores if precision is None else scores.cast(dtype_of(precision))
    return activation.softmax(wide, -1).cast(scores.dtype)


# Positions


@operator("RotaryEmbedding", 23)
def rotary_embedding(
    x: Value,
    cosines: Value,
    sines: Value,
    positions: Value | None = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Value:
    """Turns pairs of features by an angle for each position: see `nn.RotaryEncoding`.

    A pair is two neighbours, or else one feature of each half; features beyond ``rotary_embedding_dim`` stay.
    """
    heads = _heads(x, num_heads)
    size = rotary_embedding_dim or heads.shape[-1]
    turned, stays = heads[..., :size], heads[..., size:]
    cos, sin = (_at(table, positions) for table in (cosines, sines))
    if interleaved:
        first, second = turned[..., ::2], turned[..., 1::2]
    else:
        first, second = turned[..., : size // 2], turned[..., size // 2 :]
    pair = [first * cos - second * sin, first * sin + second * cos]
    result = Tensor.stack(pair, -1).reshape(turned.shape) if interleaved else Tensor.cat(pair, -1)
    return _packed(result if size == heads.shape[-1] else Tensor.cat([result, stays], -1), x.rank)


def _at(table: Value, positions: Value | None) -> AnyTensor:
    """What a table has for each position, as it meets all heads."""
    rows = table.tensor if positions is None else table.tensor.take(0, positions.tensor)
    return rows.unsqueeze_dim(1)


# Linear attention


@operator("LinearAttention", 27)
def linear_attention(
    query: Value,
    key: Value,
    value: Value,
    past_state: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
    chunk_size: int = 64,
) -> tuple[Value, Value]:
    """Attention by a matrix that takes up one pair of key and value after another; and the matrix after the last.

    Before a step it decays if the rule is gated. By a delta rule it takes up what it does not yet give for the key.
    """
    _check_rule(update_rule, decay, beta)
    queries = widened(_heads(query, q_num_heads))
    keys, values = widened(_heads(key, kv_num_heads)), widened(_heads(value, kv_num_heads))
    batch, _, length, size = queries.shape
    grouped = queries.reshape((batch, kv_num_heads, q_num_heads // kv_num_heads, length, size)) * (scale or size**-0.5)
    state = _start(keys, values) if past_state is None else widened(past_state.tensor)
    outputs = []
    for at in range(length):
        k, v = keys.narrow(2, at, 1), values.narrow(2, at, 1)
        if "gated" in update_rule and decay is not None:
            state = state * _step(decay, at, kv_num_heads).exp()
        if "delta" in update_rule and beta is not None:
            v = (v - k @ state) * _step(beta, at, 1 if beta.shape[2] == 1 else kv_num_heads)
        state = state + k.transpose() @ v
        outputs.append(grouped.narrow(3, at, 1).squeeze(3) @ state)
    result = Tensor.stack(outputs, 1).reshape((batch, length, q_num_heads * values.shape[-1]))
    return Value(narrowed(result, query.tensor.dtype)), Value(narrowed(state, query.tensor.dtype))


def _check_rule(rule: str, decay: Value | None, beta: Value | None) -> None:
    reasons = []
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        reasons.append(f"update_rule is {rule!r}, and none of linear, gated, delta and gated_delta")
    if "gated" in rule and decay is None:
        reasons.append(f"the rule {rule} needs the input decay")
    if "delta" in rule and beta is None:
        reasons.append(f"the rule {rule} needs the input beta")
    if reasons:
        raise OnnxError("LinearAttention", reasons)


def _start(keys: AnyTensor, values: AnyTensor) -> AnyTensor:
    return Tensor.zeros((*keys.shape[:2], keys.shape[3], values.shape[3]), keys.device, keys.dtype)


def _step(x: Value, at: int, heads: int) -> AnyTensor:
    """A number for each head, or for each feature of its keys, at one step: ``(batch, heads, features or 1, 1)``."""
    return widened(x.tensor.narrow(1, at, 1)).reshape((x.shape[0], heads, -1, 1))


@operator("SwiGLU", 28)
def swiglu(gate: Value, x: Value, *, alpha: float = 1.0) -> Value:
    """``x`` times the swish of the gate."""
    return lifted(lambda a, b: a * activation.sigmoid(a * alpha) * b, gate, x)
