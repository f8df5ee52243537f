"""Wrong indices, found by the GPU itself and reported later.

The host cannot look at indices without waiting for the device, and waiting at each lookup would cost more than the
lookup. So a kernel that meets an index outside its dim writes it down, and goes on. When values are read for the next
time, what was written down is read with them, and becomes an error that names the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyburn.tensor.errors import ShapeError, explain
from tinyburn.tensor.scope import current_path

from .commands import Binding

if TYPE_CHECKING:
    from .gpu import Gpu

_SLOTS = 64


class Faults:
    """The wrong indices of one GPU: a word in a buffer of its own for each call that waits to be checked."""

    def __init__(self, gpu: Gpu, usage: int) -> None:
        self._gpu = gpu
        self._buffer: Any = gpu.device.create_buffer(size=4 * _SLOTS, usage=usage)  # WebGPU fills it with zeros
        self._calls: list[str] = []

    @property
    def binding(self) -> Binding:
        """The buffer, for a kernel to write to."""
        return self._buffer, 0, 4 * _SLOTS

    def expect(self, operation: str, dim: int, shape: Sequence[int]) -> int:
        """The word for one more call. If there are too many before the next check, the last ones share a word."""
        path = current_path()
        place = f" (in {path})" if path else ""
        self._calls.append(
            f"{operation}{place} of a tensor of shape {tuple(shape)}, whose dim {dim} has size {shape[dim]}"
        )
        return min(len(self._calls), _SLOTS) - 1

    def check(self) -> None:
        """Raises ShapeError if a call since the last check met a wrong index. Waits only if there was any call."""
        calls, self._calls = self._calls, []
        if not calls:
            return
        words = np.frombuffer(self._gpu.commands.read(*self.binding), "int32")
        reasons = [f"index {word} was given to {call}" for word, call in zip(words, calls, strict=False) if word]
        if reasons:
            self._gpu.commands.write(self._buffer, bytes(4 * _SLOTS))
            hint = "check them before, for example with indices.max() and indices.min()"
            raise ShapeError(explain("an earlier operation, on the GPU", reasons, hint=hint))
