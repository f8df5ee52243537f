"""Runs WGSL functions on plain `wgpu`, apart from the backend that uses them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tinyburn import Wgpu
from tinyburn.backend.wgpu.adapter import adapters, find_adapter

Array = np.ndarray[Any, Any]

_WGSL = {"float32": "f32", "int32": "i32", "uint32": "u32"}
_WIDTH = 64 * 65535  # invocations in a row of workgroups


@cache
def gpu() -> Any:
    """A device to compute with. Skips the test, with the reason, if there is none."""
    reason = Wgpu.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    return adapters()[find_adapter(None)].request_device_sync()


def is_software() -> bool:
    """Whether the device is no GPU but a driver that runs on the CPU, as Mesa's lavapipe."""
    return find_adapter(None).startswith("software")


def compute(source: str, bindings: list[Array], workgroups: tuple[int, int]) -> None:
    """Runs the entry `main` once. A binding is storage, changed in place, or the uniform, if it is 0-d."""
    device = gpu()
    wgpu: Any = pytest.importorskip("wgpu")
    module = device.create_shader_module(code=source)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    buffers = []
    for array in bindings:
        kind = wgpu.BufferUsage.STORAGE if array.ndim else wgpu.BufferUsage.UNIFORM
        usage = kind | wgpu.BufferUsage.COPY_SRC
        buffers.append(device.create_buffer_with_data(data=np.atleast_1d(array), usage=usage))
    entries = [{"binding": index, "resource": {"buffer": buffer}} for index, buffer in enumerate(buffers)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(*workgroups)
    work.end()
    device.queue.submit([encoder.finish()])
    for array, buffer in zip(bindings, buffers, strict=True):
        if array.ndim:
            array[...] = np.frombuffer(device.queue.read_buffer(buffer), array.dtype)


def evaluate(functions: str, expression: str, *operands: Array, dtype: str = "float32") -> Array:
    """``expression`` of the operands ``a`` and ``b``, element by element. A bool comes out as a uint32."""
    arrays = [np.ascontiguousarray(operand).reshape(-1) for operand in np.broadcast_arrays(*operands)]
    out = np.zeros(arrays[0].size, dtype)
    lines = [functions]
    for index, array in enumerate([*arrays, out]):
        access = "read_write" if index == len(arrays) else "read"
        kind = _WGSL[array.dtype.name]
        lines.append(f"@group(0) @binding({index}) var<storage, {access}> buffer_{index}: array<{kind}>;")
    lines.append("@compute @workgroup_size(64)")
    lines.append("fn main(@builtin(global_invocation_id) id: vec3<u32>) {")
    lines.append(f"    let i = id.x + id.y * {_WIDTH}u;")
    lines.append(f"    if (i >= {out.size}u) {{ return; }}")
    lines += [f"    let {'ab'[index]} = buffer_{index}[i];" for index in range(len(arrays))]
    lines.append(f"    buffer_{len(arrays)}[i] = {expression};")
    lines.append("}")
    width = -(-out.size // 64)
    compute("\n".join(lines), [*arrays, out], (min(width, 65535), -(-width // 65535)))
    return out
