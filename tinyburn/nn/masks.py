"""Masks of attention: True where something may not be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tinyburn.backend import Backend, Device
from tinyburn.base.dtype import Bool, Int
from tinyburn.base.errors import DTypeMismatch, ShapeError
from tinyburn.base.shape import D2, D3, D4
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_device, check_operands, check_tensor, reject_dtype

DB = TypeVar("DB", bound=Backend)


def generate_autoregressive_mask(batch_size: int, seq_length: int, device: Device[DB]) -> Tensor[DB, D3, Bool]:
    """A causal mask, ``(batch_size, seq_length, seq_length)``: no position may use a later one.

    The samples of a batch share its memory.
    """
    check_device("generate_autoregressive_mask", device)
    for name, size in (("batch_size", batch_size), ("seq_length", seq_length)):
        if not isinstance(size, int) or size < 0:
            raise ShapeError("generate_autoregressive_mask", f"{name} is {size!r}, and must be a size")
    queries = Tensor.arange(0, seq_length, device).reshape((1, seq_length, 1))
    keys = Tensor.arange(0, seq_length, device).reshape((1, 1, seq_length))
    return (keys > queries).expand((batch_size, seq_length, seq_length))


def generate_padding_mask(
    pad_token: int, tokens: Sequence[Sequence[int]], max_seq_length: int | None, device: Device[DB]
) -> tuple[Tensor[DB, D2, Int], Tensor[DB, D2, Bool]]:
    """Lists of tokens of any lengths as one batch, and its mask, both ``(batch, length)``.

    Shorter lists are filled up with ``pad_token``, which the mask hides. The length is that of the longest list, and
    ``max_seq_length`` at most, where one is given: longer lists lose their end. A token that is the pad token itself is
    hidden too.

    Raises ShapeError if there are no lists, and DTypeMismatch if the tokens are not whole numbers.
    """
    check_device("generate_padding_mask", device)
    lists = [np.asarray(sample) for sample in tokens]
    if not lists:
        raise ShapeError("generate_padding_mask", "there is no list of tokens, so no length", hint="give one or more")
    for sample in [np.asarray(pad_token).reshape(1), *lists]:
        if sample.ndim != 1 or (sample.size and sample.dtype.kind not in "iu"):
            reason = f"{sample.tolist()!r:.60} is not a list of whole numbers"
            raise DTypeMismatch("generate_padding_mask", reason, hint="give one list of tokens for each sample")
    longest = max(map(len, lists))
    length = longest if max_seq_length is None else min(longest, max_seq_length)
    batch = np.full((len(lists), length), pad_token, str(device.int_dtype))
    for row, sample in zip(batch, lists, strict=True):
        row[: len(sample)] = sample[:length]
    padded: Tensor[DB, D2, Int] = Tensor.from_data(batch, device)
    return padded, padded == pad_token


def check_mask(
    layer: str, name: str, mask: Tensor[Any, Any, Bool], x: Tensor[Any, Any], shape: tuple[int, int, int]
) -> Tensor[Any, D4, Bool]:
    """A mask of keys, ``(batch, keys)``, or of queries and keys, as one of the scores of all heads.

    Raises ShapeError, DTypeMismatch or DeviceMismatch if it is neither.
    """
    asked = f"{layer}({name}=...)"
    check_tensor(asked, mask)
    check_operands(asked, x, mask, dtype=False, shapes=False)
    if mask.primitive.dtype.kind != "b":
        raise reject_dtype(asked, mask, "bool")
    batch, queries, keys = shape
    wanted = (batch, keys) if name.endswith("pad") else (batch, queries, keys)
    if mask.shape not in (wanted, (1, *wanted[1:])):
        reason = f"the mask has shape {mask.shape}, and must have {wanted}"
        hint = "its dims are (batch, keys)" if len(wanted) == 2 else "its dims are (batch, queries, keys)"
        raise ShapeError(asked, reason, given={"batch, queries, keys": shape}, hint=hint)
    return mask.reshape((mask.shape[0], 1, wanted[1] if len(wanted) == 3 else 1, keys))
