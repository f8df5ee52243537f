"""Wrong indices, found by the GPU itself and reported later.

The host cannot look at indices without waiting for the device, and waiting at each lookup would cost more than the
lookup. So a kernel that meets an index outside its dim writes it down, and goes on. When values are read for the next
time, what was written down is read with them, and becomes an error that names the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyburn.base.errors import ShapeError
from tinyburn.base.scope import current_path

from .commands import Binding

if TYPE_CHECKING:
    from .gpu import Gpu

_SLOTS = 64


class Faults:
    """The wrong indices of one GPU: a word in a buffer of its own for each call that waits to be checked."""

    def __init__(self, gpu: Gpu, usage: int) -> None:
        self._gpu = gpu
        self._buffer: Any = gpu.device.create_buffer(size=4 * _SLOTS, usage=usage)  # WebGPU fills it with zeros
        self._forget()

    @property
    def binding(self) -> Binding:
        """The buffer, for a kernel to write to."""
        return self._buffer, 0, 4 * _SLOTS

    def expect(self, operation: str, dim: int, shape: Sequence[int]) -> int:
        """The word for one more call, which the caller starts before it lets go of the GPU's lock.

        If there are too many before the next check, the last ones share a word.
        """
        path = current_path()
        place = f" (in {path})" if path else ""
        word = min(self._count, _SLOTS - 1)
        self._count += 1
        call = f"{operation}{place} of a tensor of shape {tuple(shape)}, whose dim {dim} has size {shape[dim]}"
        self._calls[word][call] = None
        return word

    def check(self) -> None:
        """Raises ShapeError if a call since the last check met a wrong index. Waits only if there was any call."""
        with self._gpu.lock:
            if not self._count:
                return
            words = np.frombuffer(self._gpu.commands.read(*self.binding), "int32")
            reasons = [_reason(int(word), list(calls)) for word, calls in zip(words, self._calls, strict=True) if word]
            if reasons:
                self._gpu.commands.write(self._buffer, bytes(4 * _SLOTS))
            self._forget()
        if reasons:
            hint = "check them before, for example with indices.max() and indices.min()"
            raise ShapeError("an earlier operation, on the GPU", reasons, hint=hint)

    def _forget(self) -> None:
        self._count = 0
        self._calls: list[dict[str, None]] = [{} for _ in range(_SLOTS)]  # different ones, in their order


def _reason(index: int, calls: list[str]) -> str:
    given_to = calls[0] if len(calls) == 1 else f"one of these: {'; '.join(calls)}"
    return f"index {index} was given to {given_to}"
