"""How the text of a kernel is put together. A kernel is one function in WGSL that many threads run at once.

Every kernel has the same frame: the arrays that it reads, the one that it writes, and a few numbers, its parameters.
Each thread asks for its own number, ``i``, and computes what belongs to it. Our own functions that a kernel calls,
from ``functions.wgsl``, are put in front of it.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .commands import Kernel

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
    return Kernel(name, source_of(_called_in(text)) + text, len(operands), parameter_format(parameters), 1 + len(more))


def line_for(line: str | dict[str, str], kind: str) -> str:
    """An entry of a table for operands of a WGSL type: in a dict each type has its own, and "" is for all others."""
    return line if isinstance(line, str) else line.get(kind) or line[""]


def frame(operands: Fields, results: Fields, parameters: Fields) -> str:
    """The declarations that every kernel begins with."""
    lines = ["struct Params {", *[f"    {name}: {kind}," for name, kind in parameters], "}"]
    arrays = [(name, kind, "read") for name, kind in operands] + [(name, kind, "read_write") for name, kind in results]
    for index, (name, kind, access) in enumerate(arrays):
        lines.append(f"@group(0) @binding({index}) var<storage, {access}> {name}: array<{kind}>;")
    lines.append(f"@group(0) @binding({len(arrays)}) var<uniform> params: Params;")
    return "\n".join(lines)


# Our own functions


@cache
def wgsl_text(name: str) -> str:
    """A WGSL file of this folder. It is read when a kernel first needs it, so that importing tinyburn stays quick."""
    return Path(__file__).with_name(f"{name}.wgsl").read_text(encoding="utf-8")


@cache
def functions() -> dict[str, str]:
    """The functions of ``functions.wgsl`` by their names, each with the comment above it."""
    blocks = wgsl_text("functions").strip().split("\n\n")
    return {found[1]: block for block in blocks if (found := re.search(r"^fn (\w+)", block, re.MULTILINE))}


def source_of(names: Iterable[str]) -> str:
    """The WGSL of some functions and of all that they call, each once and in the order of their file.

    Raises KeyError for a name that is not in `functions`.
    """
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += _called_in(functions()[name])
    return "".join(f"{source}\n\n" for name, source in functions().items() if name in needed)


def _called_in(text: str) -> list[str]:
    """Those of our own functions that a WGSL text calls."""
    return [name for name in re.findall(r"(\w+)\(", text) if name in functions()]


# Starting a kernel


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
    return as_u32([number for start, own in zip(starts, strides, strict=True) for number in (start, *own)])


def as_u32(strides: Sequence[int]) -> list[int]:
    """Strides as parameters. A negative one is a very large number: products and sums of u32 wrap around, so that a
    walk with it arrives where it should."""
    return [stride & 0xFFFFFFFF for stride in strides]


def coordinates(prefix: str, rank: int, number: str = "i") -> list[str]:
    """WGSL that splits the number of an element into its index in each dim, ``at0``, ``at1`` and so on."""
    if rank == 1:
        return [f"    let {prefix}at0 = {number};"]
    lines = [f"    var {prefix}rest = {number};"]
    for dim in range(rank - 1, 0, -1):
        lines.append(f"    let {prefix}at{dim} = {prefix}rest % params.{prefix}size{dim};")
        lines.append(f"    {prefix}rest = {prefix}rest / params.{prefix}size{dim};")
    return [*lines, f"    let {prefix}at0 = {prefix}rest;"]


def element_at(array: str, rank: int) -> str:
    """WGSL for where the element with the indices ``at0``, ``at1`` and so on lies in an array; rank 0: its first."""
    steps = [f"at{dim} * params.{array}_stride{dim}" for dim in range(rank)]
    return " + ".join([f"params.{array}_start", *steps])
