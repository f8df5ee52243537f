"""Commands for a GPU: written down one after another, handed over many at a time, and never waited for.

A GPU works on its own. An operation only writes a command (which kernel, which buffers, how many threads) and goes on;
a full page of commands is handed over in one *submit*. Only reading values back waits for the device.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from tinyburn.base.errors import BackendUnavailable

PAGE = 64
"""Commands that share one submit, at most. `benchmarks/wgpu_ops.py` has the times for shorter and longer pages."""

_SLOT = 256  # bytes for the parameters of one command: the alignment that WebGPU asks of them
_BIND_GROUPS = 4096  # kept for reuse: a training loop binds the same buffers at each step

Binding: TypeAlias = tuple[Any, int, int]
"""A buffer, and the first byte and the number of bytes of it that a kernel may touch."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """The text of one shader, and how to call it.

    Attributes:
        name: what it computes.
        source: its WGSL.
        operands: how many buffers it reads.
        results: how many it writes; they follow the operands.
        format: that of its parameters, as Python's ``struct`` writes them.
    """

    name: str
    source: str
    operands: int
    format: str
    results: int = 1


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds Ctrl-C, and Jupyter's stop button, back for a moment: half a submit would lose a page of commands."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # Python tells the main thread only
        return
    held: list[Any] = []
    signal.signal(signal.SIGINT, lambda *seen: held.append(seen))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


class Commands:
    """The commands of one device that wait to be handed over.

    Attributes:
        lock: for the commands and the memory of the device together, since each can need the other.
        page: how many commands share a submit, at most `PAGE`.
        dispatches: kernels started since the device was opened.
        submits: times that a page was handed over.
    """

    def __init__(self, device: Any) -> None:
        import wgpu

        self._device = device
        self.lock = threading.RLock()
        self._encoder: Any = None
        self._pass: Any = None
        self._waiting = 0
        self._slots = bytearray(_SLOT * PAGE)
        usage = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.COPY_SRC
        self._parameters = device.create_buffer(size=_SLOT * PAGE, usage=usage)
        self._layouts: dict[tuple[int, int], Any] = {}
        self._pipelines: dict[Kernel, Any] = {}
        self._bind_groups: dict[Any, Any] = {}
        self._lost: Exception | None = None
        self._unusable: str | None = None
        self.page = PAGE
        self.dispatches = self.submits = 0

    def __repr__(self) -> str:
        return f"Commands({self.dispatches} dispatches, {self.submits} submits)"

    def run(self, kernel: Kernel, bindings: tuple[Binding, ...], parameters: bytes, groups: tuple[int, ...]) -> None:
        """Writes down one call of a kernel: its operands, then its results, are in ``bindings``."""
        self.check_usable()
        with self.lock:
            if self._waiting >= self.page:  # only if the last command of a page was interrupted
                self.submit()
            pipeline = self._pipelines.get(kernel) or self._compile(kernel)
            group = self._bind_groups.get(bindings) or self._bind(kernel, bindings)
            if self._pass is None:
                self._encoder = self._device.create_command_encoder()
                self._pass = self._encoder.begin_compute_pass()
            start = _SLOT * self._waiting
            self._waiting += 1  # first, so that an interrupted command leaves an unused slot and not a forgotten one
            self._slots[start : start + len(parameters)] = parameters
            self._pass.set_pipeline(pipeline)
            self._pass.set_bind_group(0, group, [start])
            self._pass.dispatch_workgroups(*groups)
            self.dispatches += 1
            if self._waiting >= self.page:
                self.submit()

    def submit(self) -> None:
        """Hands over what waits. It does not wait for the device."""
        with self.lock, uninterrupted():
            if self._pass is None:
                return
            commands, encoder, used = self._pass, self._encoder, _SLOT * self._waiting
            self._pass = self._encoder = None  # whatever fails below, the next page is a new one
            self._waiting = 0
            try:
                commands.end()
                if used:
                    self._device.queue.write_buffer(self._parameters, 0, self._slots, 0, used)
                self._device.queue.submit([encoder.finish()])
            except Exception as error:
                self._lost = error
                raise
            self.submits += 1

    def write(self, buffer: Any, data: Any) -> None:
        """Copies bytes from the host. What was asked before may still read the buffer, so it is handed over first."""
        self.check_usable()
        with self.lock:
            self.submit()
            self._device.queue.write_buffer(buffer, 0, data)

    def read(self, buffer: Any, start: int, size: int) -> memoryview:
        """Copies bytes to the host, when everything before is done."""
        self.check_usable()
        with self.lock:
            self.submit()
            if self._lost is not None:
                raise RuntimeError("a page of commands was lost, so values of this GPU may be wrong") from self._lost
            data: memoryview = self._device.queue.read_buffer(buffer, start, size)
            return data

    def give_up(self, reason: str) -> None:
        """From now on, whoever asks for anything is told the reason."""
        self._unusable = reason

    def check_usable(self) -> None:
        """Raises BackendUnavailable if nothing more can be asked of the device."""
        if self._unusable is not None:
            hint = 'start processes that use a GPU with the "spawn" method of multiprocessing'
            raise BackendUnavailable("Wgpu", self._unusable, hint=hint)

    def wait(self) -> None:
        """Until the device has done everything that was asked."""
        self.read(self._parameters, 0, 4)  # any read waits; the queue's own way to wait fails in wgpu 0.32

    def forget_buffers(self) -> None:
        """Hands over what waits, and keeps no buffer: some of them are about to go."""
        with self.lock:
            self.submit()
            self._bind_groups.clear()

    def _compile(self, kernel: Kernel) -> Any:
        module = self._device.create_shader_module(label=kernel.name, code=kernel.source)
        layout = self._device.create_pipeline_layout(bind_group_layouts=[self._layout(kernel)])
        compute = {"module": module, "entry_point": "main"}
        pipeline = self._device.create_compute_pipeline(label=kernel.name, layout=layout, compute=compute)
        self._pipelines[kernel] = pipeline
        return pipeline

    def _layout(self, kernel: Kernel) -> Any:
        """The operands to read, the results to write, and the parameters at an offset that each command gives."""
        key = kernel.operands, kernel.results
        if key not in self._layouts:
            import wgpu

            kinds: list[dict[str, Any]] = [{"type": "read-only-storage"}] * kernel.operands
            kinds += [*[{"type": "storage"}] * kernel.results, {"type": "uniform", "has_dynamic_offset": True}]
            entries = [
                {"binding": index, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": kind}
                for index, kind in enumerate(kinds)
            ]
            self._layouts[key] = self._device.create_bind_group_layout(entries=entries)
        return self._layouts[key]

    def _bind(self, kernel: Kernel, bindings: tuple[Binding, ...]) -> Any:
        if len(self._bind_groups) >= _BIND_GROUPS:
            self._bind_groups.clear()
        entries = [
            {"binding": index, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for index, (buffer, offset, size) in enumerate((*bindings, (self._parameters, 0, _SLOT)))
        ]
        group = self._device.create_bind_group(layout=self._layout(kernel), entries=entries)
        self._bind_groups[bindings] = group
        return group
