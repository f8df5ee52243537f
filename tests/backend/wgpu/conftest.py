"""A device for the tests of what only Wgpu has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tinyburn import Device, Wgpu


@pytest.fixture
def gpu_device() -> Iterator[Device[Any]]:
    """A device with an empty shelf and without a limit. Skips, with the reason, where there is no adapter."""
    reason = Wgpu.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    device: Any = Wgpu.device()
    device.gpu.pool.clear()  # a whole clean-up would walk all of pytest's objects
    yield device
    device.limit_memory(None)
    device.gpu.max_binding_bytes = device.gpu.device.limits["max-storage-buffer-binding-size"]
