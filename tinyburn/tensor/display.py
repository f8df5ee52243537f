"""How a tensor prints: its values, then the fields that Burn shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .base import TensorBase


def tensor_repr(tensor: TensorBase[Any, Any, Any]) -> str:
    """Values to 4 digits, folded in the middle when there are many, then shape, device, backend, kind, dtype."""
    lines = ["Tensor {", *_data_lines(tensor)]
    lines += [
        f"  shape:   {list(tensor.shape)}",
        f"  device:  {tensor.device.name}",
        f"  backend: {tensor.backend.__name__}",
        f"  kind:    {tensor.kind.__name__}",
        f"  dtype:   {tensor.dtype}",
        "}",
    ]
    return "\n".join(lines)


def _data_lines(tensor: TensorBase[Any, Any, Any]) -> list[str]:
    if not tensor.backend.has_values:
        return ["  data:    none, this backend keeps shapes only"]
    values = tensor.backend.to_numpy(tensor.primitive)
    with np.printoptions(**_OPTIONS):
        text = np.array2string(values, separator=", ", prefix="    ")
    return ["  data:", f"    {text}"]


# Every option, so that the caller's own settings do not show.
_OPTIONS: Any = {
    "precision": 4,
    "threshold": 200,
    "edgeitems": 3,
    "linewidth": 100,
    "suppress": False,
    "nanstr": "nan",
    "infstr": "inf",
    "sign": "-",
    "floatmode": "maxprec",
    "formatter": None,
    "legacy": False,
}
