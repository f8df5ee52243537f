"""The numbers of a tensor, as the pictures that draw numbers ask for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.errors import BackendMismatch, ConfigError
from tinyburn.tensor import Tensor

Values = np.ndarray[Any, Any]


def values_of(picture: str, tensor: Any) -> Values:
    """The numbers of a tensor. ``picture`` is the function's name, for the error messages.

    Raises ConfigError for what is no tensor, and BackendMismatch for one without values.
    """
    if not isinstance(tensor, Tensor):
        reason = f"{type(tensor).__name__} is no tensor"
        raise ConfigError(f"viz.{picture}", reason, hint=f"write viz.{picture}(Tensor.from_data(values, device))")
    if not tensor.backend.has_values:
        raise BackendMismatch(f"viz.{picture}", "the backend keeps shapes only", hint="run the same program on NdArray")
    return tensor.to_numpy()
