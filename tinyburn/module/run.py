"""RunConfig: where and how to compute, chosen in one place and handed to the model as a device."""

from __future__ import annotations

import dataclasses
from typing import Any

from tinyburn import backend as backends
from tinyburn.autodiff import Autodiff
from tinyburn.backend import Backend, Device, Traced
from tinyburn.base.text import table

from .config import Config

BACKENDS = {"ndarray": "NdArray", "wgpu": "Wgpu", "cuda": "Cuda", "meta": "Meta"}
"""The backends that a configuration can name, with the names of their classes in `tinyburn.backend`."""

_PRECISIONS = ("float16", "float32", "float64")


def backend_called(name: str) -> type[Backend]:
    """The class of a backend in `BACKENDS`. Only now is one for GPUs loaded."""
    found: type[Backend] = getattr(backends, BACKENDS[name])
    return found


@dataclasses.dataclass(frozen=True)
class RunConfig(Config):
    """Backend, device, precision, batch size and gradient mode: model code chooses none of them.

    Attributes:
        backend: a name in `BACKENDS`.
        device: one of that backend's devices; None for its first.
        precision: the dtype of new Float tensors.
        batch_size: samples in one step; what makes the batches reads it.
        gradients: compute under `Autodiff`.
        trace: write every operation and buffer to a log, under `Traced`.

    Raises ConfigError for a value that no run could have, with every reason.
    """

    backend: str = "ndarray"
    device: str | int | None = None
    precision: str = "float32"
    batch_size: int = 16
    gradients: bool = True
    trace: bool = False

    def problems(self) -> list[str]:
        """Values that no run can have."""
        reasons = []
        if self.backend not in BACKENDS:
            reasons.append(f"backend {self.backend!r} is not one of {', '.join(BACKENDS)}")
        if self.precision not in _PRECISIONS:
            reasons.append(f"precision {self.precision!r} is not one of {', '.join(_PRECISIONS)}")
        if self.batch_size < 1:
            reasons.append(f"batch_size {self.batch_size} is not 1 or more")
        return reasons

    def init(self) -> Device[Any]:
        """The device. Raises BackendUnavailable if it is not to be had on this machine."""
        backend: Any = backend_called(self.backend)
        if self.trace:
            backend = Traced[backend]
        if self.gradients:
            backend = Autodiff[backend]
        device: Device[Any] = backend.device(self.device, float_dtype=self.precision)
        return device

    def __str__(self) -> str:
        rows = [(field.name, str(getattr(self, field.name))) for field in dataclasses.fields(self)]
        return table(("setting", "value"), rows)
