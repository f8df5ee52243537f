"""Finding CuPy and the NVIDIA GPUs of this machine, and saying what is missing.

CuPy takes half a second to import and is not there on most machines, so nothing here imports it before it is needed.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from typing import Any

from tinyburn.backend.gpus import NO_DRIVERS, Missing, choose_device
from tinyburn.base.machine import in_browser

OLDEST = 14
"""The first CuPy that has NumPy 2's rules for numbers beside arrays, and the standard's names."""

_OTHERWISE = "use the backend wgpu, which needs no NVIDIA GPU, or ndarray"
_DRIVER = f"install NVIDIA's driver if this machine has an NVIDIA GPU;\nelse {_OTHERWISE}"


class _CuPy:
    """Stands for the module ``cupy``, and imports it when one of its names is first read."""

    def __getattr__(self, name: str) -> Any:
        import cupy  # pyright: ignore[reportMissingImports]

        found = getattr(cupy, name)
        setattr(self, name, found)  # the next time there is no detour
        return found


cp: Any = _CuPy()


@cache
def missing() -> Missing | None:
    """What is missing, and the way out; None if there is a GPU that CuPy can use."""
    if in_browser():
        return NO_DRIVERS
    if find_spec("cupy") is None:
        return Missing(f"CuPy is not installed ({_driver_found()})", _way_to_cupy())
    try:
        version = str(cp.__version__)
    except Exception as error:  # a package for another CUDA or another NumPy fails in ways of its own
        return Missing(f"CuPy is installed, but cannot be imported ({_first_line(error)})", _way_to_cupy())
    if int(version.partition(".")[0]) < OLDEST:
        return Missing(f"CuPy {version} is installed, and {OLDEST} or newer is needed", _way_to_cupy())
    return _why_no_gpu(version)


def _why_no_gpu(version: str) -> Missing | None:
    """What CuPy says about the GPUs; None if it has one."""
    runtime = cp.cuda.runtime
    try:
        if runtime.getDeviceCount() > 0:
            return None
        said = "it counts 0 GPUs"
    except runtime.CUDARuntimeError as error:
        said = _first_line(error)
    driver, built_for = driver_version(), int(runtime.runtimeGetVersion())
    found = f"CuPy {version} for CUDA {_dotted(built_for)} is installed, but finds no GPU: {said} ({_driver_found()})"
    if driver is not None and driver // 1000 < built_for // 1000:
        return Missing(found, f"update the driver, or {_way_to_cupy()}")
    hidden = "make sure that a GPU is installed, and not hidden by the variable CUDA_VISIBLE_DEVICES; else "
    return Missing(found, _DRIVER if driver is None else hidden + _OTHERWISE)


@cache
def driver_version() -> int | None:
    """The newest CUDA that the NVIDIA driver of this machine can run, such as 12080 for 12.8; None without a driver."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            driver, version = ctypes.CDLL(name), ctypes.c_int()
        except OSError:
            continue
        if driver.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value > 0:
            return version.value
    return None


def _driver_found() -> str:
    version = driver_version()
    return "and there is no NVIDIA driver" if version is None else f"the driver can run CUDA {_dotted(version)}"


def _way_to_cupy() -> str:
    """Which extra fits this machine's driver."""
    version = driver_version()
    if version is None:
        return _DRIVER
    if version < 12000:
        return f"update the driver, which is too old for CUDA 12; else {_OTHERWISE}"
    extra = "cuda13" if version >= 13000 else "cuda12"
    return f'pip install "tinyburn[{extra}]", or in a copy of the repository: pip install -e ".[{extra}]"'


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _first_line(error: Exception) -> str:
    """What an error says; its name if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def devices() -> list[str]:
    """``cuda:0``, ``cuda:1`` and so on."""
    if missing() is not None:
        return []
    return [f"cuda:{number}" for number in range(cp.cuda.runtime.getDeviceCount())]


def find_gpu(which: str | int | None) -> int:
    """The number of the GPU that is asked for; None is the first. Raises BackendUnavailable."""
    return choose_device("Cuda.device", missing(), which, devices())
