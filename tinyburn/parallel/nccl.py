"""Nccl: the ranks of `Mpi`, each with an NVIDIA GPU, whose tensors go from GPU to GPU."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from tinyburn.backend import Device
from tinyburn.base.errors import BackendMismatch, BackendUnavailable
from tinyburn.base.machine import how_to_install
from tinyburn.base.shares import share, share_counts

from .communicator import Communicator, E, Primitive, innermost
from .mpi import Mpi


class Nccl(Communicator):
    """NCCL, through CuPy, on the current stream. Ranks meet by MPI, and tensors of `Cuda` never come to the host.

    Args:
        device: this rank's GPU, as ``Cuda.device(rank % len(Cuda.devices()))``, alone or inside decorators. Two ranks
            cannot have the same one.
        mpi: who takes part; None for all.

    Raises BackendUnavailable, with the way to get it, where CuPy or its NCCL is missing, or mpi4py; and BackendMismatch
    for a device that is no NVIDIA GPU.
    """

    sums_half = True

    def __init__(self, device: Device[Any], mpi: Mpi | None = None) -> None:
        self._nccl: Any = _library()
        self._number = _number_of(device)
        self._mpi = Mpi() if mpi is None else mpi
        self.rank, self.size = self._mpi.rank, self._mpi.size
        self._open()

    def _open(self) -> None:
        identity = self._mpi.gather("NCCL begins", self._nccl.get_unique_id() if self.rank == 0 else None)[0]
        with self._on_gpu():
            self._comm: Any = self._nccl.NcclCommunicator(self.size, identity, self.rank)

    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        return self._mpi.meet(place, *numbers)

    def tell(self, words: str) -> None:
        """See `Communicator`. A rank that waits on its GPU for one that has failed does not hear of it."""
        self._mpi.tell(words)

    def on_every_rank(self, error: E) -> E:
        """See `Communicator`."""
        return self._mpi.on_every_rank(error)

    def renew(self) -> None:
        """See `Communicator`."""
        if self._mpi.has_failed:
            self._mpi.renew()
            self._comm.abort()
            self._open()

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`."""
        return self._mpi.gather(place, value)

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        with self._on_gpu():
            a = _cupy().ascontiguousarray(a)
            result = a if self.rank == root else self._like(device, a, a.size)
            self._comm.bcast(result.data.ptr, result.nbytes, self._nccl.NCCL_INT8, root, _stream())
        return result

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        with self._on_gpu():
            a = _cupy().ascontiguousarray(a)
            result = a if may_overwrite else self._like(device, a, a.size)
            kind, add = self._format(a), self._nccl.NCCL_SUM
            self._comm.allReduce(a.data.ptr, result.data.ptr, a.size, kind, add, _stream())
        return result

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        """Shares of one size in one call. NCCL has none for other shares, so each is then reduced to its rank."""
        counts = share_counts(a.size, self.size)
        with self._on_gpu():
            a = _cupy().ascontiguousarray(a)
            result = self._like(device, a, counts[self.rank])
            kind, add, stream = self._format(a), self._nccl.NCCL_SUM, _stream()
            if counts[0] == counts[-1]:
                self._comm.reduceScatter(a.data.ptr, result.data.ptr, counts[0], kind, add, stream)
                return result
            self._nccl.groupStart()
            for rank, count in enumerate(counts):
                begins = a.data.ptr + share(a.size, rank, self.size).start * a.itemsize
                self._comm.reduce(begins, result.data.ptr, count, kind, add, rank, stream)
            self._nccl.groupEnd()
        return result

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        counts = share_counts(count, self.size)
        with self._on_gpu():
            a = _cupy().ascontiguousarray(a)
            result = self._like(device, a, count)
            kind, stream = self._nccl.NCCL_INT8, _stream()
            if counts[0] == counts[-1]:
                self._comm.allGather(a.data.ptr, result.data.ptr, a.nbytes, kind, stream)
                return result
            result[share(count, self.rank, self.size)] = a
            self._nccl.groupStart()
            for rank, size in enumerate(counts):
                begins = result.data.ptr + share(count, rank, self.size).start * a.itemsize
                self._comm.bcast(begins, size * a.itemsize, kind, rank, stream)
            self._nccl.groupEnd()
        return result

    def _on_gpu(self) -> Any:
        """``with`` this, what CuPy and NCCL do is done on this rank's GPU."""
        return _cupy().cuda.Device(self._number)

    def _like(self, device: Device[Any], a: Primitive, count: int) -> Primitive:
        """A new array of the dtype of another. Raises BackendMismatch for one that is not on this rank's GPU."""
        if _number_of(device) != self._number:
            reason = f"this rank has the GPU cuda:{self._number}, and the tensor is on {device}"
            raise BackendMismatch("Nccl", reason, hint="hand Nccl the device that the model is on")
        return _cupy().empty(count, a.dtype)

    def _format(self, a: Primitive) -> int:
        """NCCL's number of a dtype. Raises BackendMismatch for one that it cannot add."""
        name = _FORMATS.get(a.dtype.name)
        if name is None:
            reason = f"NCCL has no sum of {a.dtype.name}"
            raise BackendMismatch("Nccl", reason, hint="cast it to int32 or int64 first")
        number: int = getattr(self._nccl, name)
        return number


_FORMATS = {
    **{"float16": "NCCL_FLOAT16", "float32": "NCCL_FLOAT32", "float64": "NCCL_FLOAT64"},
    **{"int8": "NCCL_INT8", "uint8": "NCCL_UINT8", "int32": "NCCL_INT32", "uint32": "NCCL_UINT32"},
    **{"int64": "NCCL_INT64", "uint64": "NCCL_UINT64"},
}


def _number_of(device: Device[Any]) -> int:
    """Which GPU a device is. Raises BackendMismatch for one that is no NVIDIA GPU."""
    inner: Any = innermost(device)
    if inner.backend.__name__ != "Cuda":
        reason = f"NCCL reads the memory of NVIDIA's GPUs, and this is a device of {inner.backend.__name__}"
        raise BackendMismatch("Nccl", reason, hint="use Mpi(), which takes tensors of every backend")
    number: int = inner.number
    return number


def _stream() -> int:
    pointer: int = _cupy().cuda.get_current_stream().ptr
    return pointer


@cache
def _cupy() -> Any:
    return import_module("cupy")


def _library() -> Any:
    try:
        nccl = import_module("cupy.cuda.nccl")
        if getattr(nccl, "available", True):
            return nccl
        reason = "this CuPy has been built without NCCL, or does not find it"
    except ImportError as error:
        reason = f"it needs the package cupy with NCCL: {error}"
    hint = f"{how_to_install('cupy-cuda12x', 'cuda12')}, with nvidia-nccl-cu12; Mpi() needs no GPU"
    raise BackendUnavailable("parallel.Nccl", reason, hint=hint)
