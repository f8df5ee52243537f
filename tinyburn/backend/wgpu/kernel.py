"""How the text of a kernel is put together. A kernel is one function in WGSL that many threads run at once.

Every kernel has the same frame: the arrays that it reads, the one that it writes, and a few numbers, its parameters.
Each thread asks for its own number, ``i``, and computes what belongs to it.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from typing import Any

from .commands import Kernel
from .functions import FUNCTIONS, source_of

THREADS = 128
"""Threads of one workgroup. A kernel starts in whole workgroups, so the last threads may have nothing to do."""

MAX_GROUPS = 65_535
"""Workgroups along one dimension, by WebGPU. What needs more is started as a rectangle."""

MOST_TURNS = 16_384
"""Turns of a loop that one thread may take; longer work is cut into several calls. Mesa's lavapipe leaves every loop,
without a word, when a thread has taken 65 535 turns in all. And a system may stop a GPU that works on one call too
long."""

_LARGEST = 3.4028235677973366e38  # what rounds to more than this is infinite in float32
_CODES = {"u32": "I", "i32": "i", "f32": "f"}

Fields = Sequence[tuple[str, str]]
"""Names of parameters and their WGSL types."""


def build(
    name: str, operands: Fields, result: str, parameters: Fields, functions: str, body: str, more: Fields = ()
) -> Kernel:
    """A kernel whose threads each run ``body`` with their number ``i``, as long as it is below ``params.size``.

    ``operands`` are the arrays that it reads and the types of their elements, ``result`` the type of what it writes,
    and ``more`` other arrays that it writes to. ``params.row`` is how many threads one row of workgroups has.
    """
    parameters = [("size", "u32"), ("row", "u32"), *parameters]
    main = f"""@compute @workgroup_size({THREADS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x + id.y * params.row;
    if (i >= params.size) {{ return; }}
{body}
}}
"""
    parts = [frame(operands, [("result", result), *more], parameters), functions.strip(), main]
    text = "\n\n".join(part for part in parts if part)
    return Kernel(name, with_functions(text), len(operands), parameter_format(parameters), 1 + len(more))


def line_for(line: str | dict[str, str], kind: str) -> str:
    """An entry of a table for operands of a WGSL type: in a dict each type has its own, and "" is for all others."""
    return line if isinstance(line, str) else line.get(kind) or line[""]


def with_functions(text: str) -> str:
    """A kernel with our own functions that it calls in front of it."""
    return source_of([name for name in FUNCTIONS if re.search(rf"\b{name}\(", text)]) + text


def frame(operands: Fields, results: Fields, parameters: Fields) -> str:
    """The declarations that every kernel begins with."""
    lines = ["struct Params {", *[f"    {name}: {kind}," for name, kind in parameters], "}"]
    arrays = [(name, kind, "read") for name, kind in operands] + [(name, kind, "read_write") for name, kind in results]
    for place, (name, kind, access) in enumerate(arrays):
        lines.append(f"@group(0) @binding({place}) var<storage, {access}> {name}: array<{kind}>;")
    lines.append(f"@group(0) @binding({len(arrays)}) var<uniform> params: Params;")
    return "\n".join(lines)


def parameter_format(parameters: Fields) -> str:
    """The format of the parameters for Python's ``struct``."""
    return "<" + "".join(_CODES[kind] for _, kind in parameters)


def pack(kernel: Kernel, threads: int, numbers: Sequence[Any]) -> tuple[bytes, tuple[int, int, int]]:
    """The parameters of one call, as bytes, and the workgroups that make up enough threads."""
    groups = grid(threads)
    return struct.pack(kernel.format, threads, groups[0] * THREADS, *numbers), groups


def grid(threads: int) -> tuple[int, int, int]:
    """A rectangle of workgroups with room for so many threads."""
    groups = -(-threads // THREADS)
    rows = -(-groups // MAX_GROUPS)
    return -(-groups // rows), rows, 1


def as_scalar(value: Any, kind: str) -> Any:
    """A number as a parameter of a WGSL type. What is too large for f32 is infinite, as it would be in the array."""
    if kind != "f32":
        return int(value)
    value = float(value)
    return value if -_LARGEST < value < _LARGEST or math.isnan(value) else math.copysign(math.inf, value)


# How a thread finds its element in an array that is read by strides


def shape_fields(prefix: str, rank: int) -> list[tuple[str, str]]:
    """Parameters: the size of each dim."""
    return [(f"{prefix}size{dim}", "u32") for dim in range(rank)]


def walk_fields(array: str, rank: int) -> list[tuple[str, str]]:
    """Parameters: where an array begins, and its stride in each dim."""
    return [(f"{array}_start", "u32"), *[(f"{array}_stride{dim}", "u32") for dim in range(rank)]]


def walks(starts: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The values of `walk_fields` for some arrays, one after another."""
    return [number for start, own in zip(starts, strides, strict=True) for number in (start, *own)]


def coordinates(prefix: str, rank: int, number: str = "i") -> list[str]:
    """WGSL that splits the number of an element into its place in each dim, ``at0``, ``at1`` and so on."""
    if rank == 1:
        return [f"    let {prefix}at0 = {number};"]
    lines = [f"    var {prefix}rest = {number};"]
    for dim in range(rank - 1, 0, -1):
        lines.append(f"    let {prefix}at{dim} = {prefix}rest % params.{prefix}size{dim};")
        lines.append(f"    {prefix}rest = {prefix}rest / params.{prefix}size{dim};")
    return [*lines, f"    let {prefix}at0 = {prefix}rest;"]


def place(array: str, rank: int) -> str:
    """WGSL for where the element at these places lies in an array. Rank 0 is the first element."""
    steps = [f"at{dim} * params.{array}_stride{dim}" for dim in range(rank)]
    return " + ".join([f"params.{array}_start", *steps])
