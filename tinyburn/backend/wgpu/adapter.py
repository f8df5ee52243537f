"""Finding the GPUs of this machine through the ``wgpu`` package: WebGPU outside a browser.

An adapter is a driver's offer of one device. Where there is no GPU, Mesa's lavapipe is an adapter too: it runs shaders
on the CPU, slowly, which is enough to learn with and to test on.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from tinyburn.base.machine import in_browser

from ..gpus import NO_DRIVERS, Missing, choose_device

_KINDS = {
    "DiscreteGPU": "discrete",  # a card with memory of its own
    "IntegratedGPU": "integrated",  # shares the memory of the CPU, as in most laptops
    "VirtualGPU": "virtual",
    "Unknown": "other",
    "CPU": "software",  # no GPU at all
}
"""WebGPU's kinds of adapter and our names, the preferred ones first."""

_NATIVE = ("Metal", "Vulkan", "D3D12")  # not OpenGL: it lacks too much, and can print to the terminal when opened
_INSTALL = 'pip install "tinyburn[wgpu]", or in a copy of the repository: pip install -e ".[wgpu]"'
_DRIVER = """install the driver of your GPU, or use ndarray, which works everywhere.
A machine without a GPU (a server, a container) can run shaders on its CPU. On Debian and Ubuntu:
apt-get install mesa-vulkan-drivers libvulkan1"""


OPENING = threading.RLock()
"""One thread at a time looks for adapters or opens one: two would find each other's half-opened driver."""


def adapters() -> dict[str, Any]:
    """The adapters that work, by our names: ``discrete:0``, ``integrated:0``, ``software:0`` and so on."""
    with OPENING:
        return _adapters()


@cache
def _adapters() -> dict[str, Any]:
    if _import_error() is not None:
        return {}
    with _runtime_directory():
        found = _enumerate()
    by_backend = [[each for each in found if each.info["backend_type"] == native] for native in _NATIVE]
    chosen = next((group for group in by_backend if group), [])  # two native APIs may offer the same GPU twice
    named: dict[str, Any] = {}
    for kind, name in _KINDS.items():
        same = [each for each in chosen if each.info["adapter_type"] == kind]
        named |= {f"{name}:{index}": each for index, each in enumerate(same)}
    return named


@cache
def missing() -> Missing | None:
    """The reason why there is no adapter, and the way out; None if there is one."""
    if in_browser():
        return NO_DRIVERS
    not_imported = _import_error()
    if not_imported is not None:
        return Missing(f"the package wgpu cannot be imported ({not_imported})", _INSTALL)
    try:
        found = adapters()
    except Exception as error:  # another package of this name, or one that is too old
        return Missing(f"the package wgpu cannot list its adapters ({_first_line(error)})", _INSTALL)
    if not found:
        return Missing("wgpu is installed, but found no driver for Vulkan, Metal or Direct3D 12", _DRIVER)
    return None


def find_adapter(which: str | int | None) -> str:
    """The name of the adapter that is asked for; None is the most capable one. Raises BackendUnavailable."""
    absent = missing()
    names = [] if absent else list(adapters())
    return names[choose_device("Wgpu.device", absent, which, names)]


@cache
def _import_error() -> str | None:
    try:
        import wgpu  # noqa: F401
    except Exception as error:  # a native library that does not load fails in ways of its own
        return _first_line(error)
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _enumerate() -> list[Any]:
    import wgpu
    from wgpu.backends.wgpu_native.extras import set_instance_extras

    with suppress(RuntimeError):  # another library has opened wgpu before us, with every API; ours are among them
        set_instance_extras(backends=["Vulkan", "Metal", "DX12"])
    return list(wgpu.gpu.enumerate_adapters_sync())


@contextmanager
def _runtime_directory() -> Iterator[None]:
    """On a headless Linux, Mesa's Wayland library complains on the terminal if this variable is not set."""
    if "XDG_RUNTIME_DIR" in os.environ:
        yield
        return
    os.environ["XDG_RUNTIME_DIR"] = tempfile.gettempdir()
    try:
        yield
    finally:
        del os.environ["XDG_RUNTIME_DIR"]
