"""The two kernels of all elementwise operations, written around one line of WGSL.

The *packed* kernel computes four neighbours a thread, since a GPU likes to read 16 bytes at a time. It is for a result
that lies in memory element after element, and for operands whose four neighbours lie side by side, or are all the same
element, as in a row or a column that is broadcast. The *strided* kernel is for all others: its thread computes one
element, and finds its place in each array from the strides.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from enum import StrEnum
from functools import cache

from ..required import Required
from .commands import Kernel
from .kernel import build, coordinates, place, shape_fields, walk_fields

PACK = 4
"""Elements of a thread of the packed kernel: one vector."""


class Read(StrEnum):
    """How the packed kernel gets four values of an operand."""

    VECTOR = "four neighbours"
    SPLAT = "one element, four times"
    NUMBER = "a parameter"


Way = tuple[str, Read]
"""The WGSL type of an operand, "" for a number, and how it is read."""


@cache
def packed_kernel(name: str, line: str, ways: tuple[Way, ...], result: str, rank: int) -> Kernel:
    """Four neighbours a thread. ``rank`` is that of the walk; its last dim is counted in vectors."""
    names = _operand_names(name)
    kind = next(filter(None, (kind for kind, _ in ways)), result)
    arrays, numbers, walks, loads = [], [], [], []
    for each, (own, read) in zip(names, ways, strict=True):
        if read is Read.NUMBER:
            numbers.append((each, kind))
            loads.append(f"    let {each} = vec{PACK}<{kind}>(params.{each});")
            continue
        arrays.append((f"{each}_array", f"vec{PACK}<{own}>" if read is Read.VECTOR else own))
        walks += walk_fields(each, rank - 1)
        element = f"{each}_array[{_packed_place(each, read, rank)}]"
        loads.append(f"    let {each} = {element if read is Read.VECTOR else f'vec{PACK}<{own}>({element})'};")
    calls = [f"operation({', '.join(f'{each}.{axis}' for each in names)})" for axis in "xyzw"]
    store = f"    result[i] = vec{PACK}<{result}>(\n        " + ",\n        ".join(calls) + ",\n    );"
    shape, places = (shape_fields("", rank), coordinates("", rank)) if rank > 1 else ([], [])
    function = _operation(names, [own for own, _ in ways], kind, result, line)
    body = "\n".join([*places, *loads, store])
    return build(name, arrays, f"vec{PACK}<{result}>", [*numbers, *shape, *walks], function, body)


def _packed_place(array: str, read: Read, rank: int) -> str:
    """Where four values lie. In the last dim a vector is at its own number, and one element is always the same."""
    last = [f"at{rank - 1}" if rank > 1 else "i"] if read is Read.VECTOR else []
    return " + ".join([place(array, rank - 1), *last])


@cache
def strided_kernel(name: str, line: str, kinds: tuple[str, ...], result: str, rank: int) -> Kernel:
    """One element a thread. ``kinds`` are the WGSL types of the operands; "" stands for a number."""
    names = _operand_names(name)
    kind = next(filter(None, kinds), result)
    arrays = [(f"{each}_array", own) for each, own in zip(names, kinds, strict=True) if own]
    numbers = [(each, kind) for each, own in zip(names, kinds, strict=True) if not own]
    walked = ["result", *[each for each, own in zip(names, kinds, strict=True) if own]]
    loads = [
        f"    let {each} = " + (f"{each}_array[{place(each, rank)}];" if own else f"params.{each};")
        for each, own in zip(names, kinds, strict=True)
    ]
    store = f"    result[{place('result', rank)}] = operation({', '.join(names)});"
    parameters = [*numbers, *shape_fields("", rank), *[f for each in walked for f in walk_fields(each, rank)]]
    function = _operation(names, kinds, kind, result, line)
    return build(name, arrays, result, parameters, function, "\n".join([*coordinates("", rank), *loads, store]))


def _operand_names(name: str) -> list[str]:
    """The names of an operation's operands: those of the interface; a copy has just one."""
    return list(inspect.signature(getattr(Required, name)).parameters) if hasattr(Required, name) else ["a"]


def _operation(names: list[str], kinds: Sequence[str], kind: str, result: str, line: str) -> str:
    """The line as a WGSL function of scalars. A number has the type ``kind``."""
    operands = ", ".join(f"{each}: {own or kind}" for each, own in zip(names, kinds, strict=True))
    return f"fn operation({operands}) -> {result} {{\n    return {line};\n}}\n"
