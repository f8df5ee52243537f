"""Elementwise operations: one line of WGSL each, and the two kernels around all of these lines.

The *packed* kernel computes four neighbours a thread, since a GPU likes to read 16 bytes at a time. It is for a result
that lies in memory element after element, and for operands whose four neighbours lie side by side, or are all the same
element, as in a row or a column that is broadcast. The *strided* kernel is for all others: its thread computes one
element, and finds it in each array from the strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from tinyburn.base.shape import Shape, is_contiguous, num_elements

from ..interface import Operand
from ..operations import OPERATIONS
from ..strided import StridedArray
from .commands import Kernel
from .gpu import SCALAR, WGSL, gpu_of, halves
from .kernel import as_scalar, as_u32, build, coordinates, element_at, line_for, pack, shape_fields, walk_fields, walks

PACK = 4
"""Elements of a thread of the packed kernel: one vector."""


class Read(StrEnum):
    """How the packed kernel gets four values of an operand."""

    VECTOR = "four neighbours"
    SPLAT = "one element, four times"
    NUMBER = "a parameter"


Way = tuple[str, Read]
"""The WGSL type of an operand, "" for a number, and how it is read."""

# What an operation makes of its operands, which have the names that the interface gives them. In a dict each WGSL type
# has its own line, and "" is for all others. An elementwise operation that has no row calls the function of its name in
# functions.wgsl: `exp` is exp_of(a).
# fmt: off
ELEMENTWISE: dict[str, str | dict[str, str]] = {
    # two operands
    "add":             "a + b",
    "sub":             "a - b",
    "mul":             "a * b",
    "div":             "a / b",
    "remainder":       {"f32": "remainder_of(a, b)", "i32": "remainder_int(a, b)"},
    "powf":            {"f32": "power(a, b)", "i32": "power_int(a, b)"},
    "maximum":         {"f32": "maximum(a, b)", "i32": "max(a, b)"},
    "minimum":         {"f32": "minimum(a, b)", "i32": "min(a, b)"},
    "multiply_no_nan": {"f32": "multiply_no_nan(a, b)", "i32": "a * b"},
    "mask_where":      "select(a, b, mask != 0u)",
    # one operand
    "neg":             "-a",
    "abs":             "abs(a)",
    "sign":            {"f32": "sign_of(a)", "i32": "sign(a)"},
    "floor":           "floor(a)",
    "ceil":            "ceil(a)",
    "round":           "round(a)",
    "powf_scalar":     {"f32": "power(a, exponent)", "i32": "power_int(a, exponent)"},
    "scaled_mul":      {"f32": "multiply_no_nan(a, b * scale)", "i32": "a * b * scale"},
    # truth values: 1 or 0
    "equal":           {"f32": "u32(equal(a, b))", "": "u32(a == b)"},
    "not_equal":       {"f32": "u32(!equal(a, b))", "": "u32(a != b)"},
    "greater":         {"f32": "u32(less(b, a))", "": "u32(a > b)"},
    "greater_equal":   {"f32": "u32(less_equal(b, a))", "": "u32(a >= b)"},
    "lower":           {"f32": "u32(less(a, b))", "": "u32(a < b)"},
    "lower_equal":     {"f32": "u32(less_equal(a, b))", "": "u32(a <= b)"},
    "is_nan":          "u32(is_nan(a))",
    "is_inf":          "u32(is_inf(a))",
    "bool_not":        "1u - a",
    "bool_and":        "a & b",
    "bool_or":         "a | b",
    "bool_xor":        "a ^ b",
    # not operations of the interface: what `cast`, `full` and every copy are made of
    "to_f32":          "f32(a)",
    "to_i32":          {"f32": "to_int(a)", "": "i32(a)"},
    "to_u32":          {"f32": "u32(is_nan(a) || a != 0.0)", "": "u32(a != 0)"},
    "copy":            "a",
}
# fmt: on

COMPUTED = [name for name, declared in OPERATIONS.items() if declared.elementwise and not declared.is_default]
"""The operations of the interface that have one of these kernels."""


def compute(name: str, *operands: Operand) -> StridedArray:
    """One of the operations that are `COMPUTED`: a new array, as its declaration says."""
    declared = OPERATIONS[name]
    gpu = gpu_of(next(x for x in operands if isinstance(x, StridedArray)))
    return elementwise(name, gpu.new(declared.shape(*operands), declared.dtype(operands)), operands)


def elementwise(name: str, result: StridedArray, operands: Sequence[Operand]) -> StridedArray:
    """Fills ``result`` with an operation of ``operands``, numbers or arrays that broadcast to its shape."""
    if result.size:
        arrays = [x.expanded(result.shape) if isinstance(x, StridedArray) else x for x in operands]
        _run(name, result, arrays)
    return result


def _run(name: str, result: StridedArray, operands: list[Operand]) -> None:
    """In one call if a kernel can see all of every array, else in two halves."""
    gpu = gpu_of(result)
    arrays = [result, *[x for x in operands if isinstance(x, StridedArray)]]
    if not all(map(gpu.can_bind, arrays)):
        _run_halves(name, result, operands)
        return
    bindings, starts = zip(*map(gpu.bind, arrays), strict=True)
    kinds = tuple([WGSL[x.dtype] if isinstance(x, StridedArray) else "" for x in operands])
    is_whole = result.offset == 0 and result.size * SCALAR == result.storage.stored
    strides = tuple([x.strides for x in arrays])
    call = plan_call(name, kinds, WGSL[result.dtype], result.shape, starts, strides, is_whole)
    numbers = [as_scalar(x, call.kind) for x in operands if not isinstance(x, StridedArray)]
    parameters, groups = pack(call.kernel, call.threads, [*numbers, *call.walk])
    gpu.commands.run(call.kernel, (*bindings[1:], bindings[0]), parameters, groups)


class Call(NamedTuple):
    """What runs: a kernel, how many threads, where they find their elements, and the WGSL type of numbers."""

    kernel: Kernel
    threads: int
    walk: list[int]
    kind: str


@lru_cache(maxsize=4096)  # a training loop asks for the same calls at each step
def plan_call(
    name: str,
    kinds: tuple[str, ...],
    out: str,
    full_shape: Shape,
    starts: tuple[int, ...],
    full_strides: tuple[tuple[int, ...], ...],
    is_whole: bool,
) -> Call:
    """The call for a result and operands that lie in memory in a given way.

    Args:
        name: an operation, or a row of the table.
        kinds: the WGSL types of the operands, "" for a number.
        out: that of the result.
        full_shape: of the result; the operands are read in this shape too.
        starts, full_strides: of the result, then of each operand that is an array.
        is_whole: whether the result is all that its buffer holds, so that the last thread may write a whole vector.
    """
    shape, strides = merge_dims(full_shape, full_strides)
    line, kind = line_of(name, kinds, out), next(filter(None, kinds), out)
    reads = _packed_reads(shape, starts, strides) if is_whole and is_contiguous(full_shape, full_strides[0]) else None
    if reads is None:
        kernel = strided_kernel(name, line, kinds, out, len(shape))
        return Call(kernel, num_elements(shape), [*shape, *walks(starts, strides)], kind)
    reading = iter(reads)
    ways = tuple((own, next(reading) if own else Read.NUMBER) for own in kinds)
    kernel = packed_kernel(name, line, ways, out, len(shape))
    return Call(kernel, -(-num_elements(shape) // PACK), _packed_walks(reads, shape, starts[1:], strides[1:]), kind)


def _run_halves(name: str, result: StridedArray, operands: list[Operand]) -> None:
    dim = result.shape.index(max(result.shape))
    cut = [halves(x, dim) if isinstance(x, StridedArray) else (x, x) for x in (result, *operands)]
    for result_half, *operand_halves in zip(*cut, strict=True):
        _run(name, result_half, operand_halves)


def copied(a: StridedArray) -> StridedArray:
    """The values in a new row-major buffer."""
    return elementwise("copy", gpu_of(a).new(a.shape, a.dtype), [a])


def seen_whole(a: StridedArray) -> StridedArray:
    """The same values where a kernel can see them all: a copy, if few elements lie far apart in a large buffer."""
    gpu = gpu_of(a)
    if gpu.can_bind(a) or a.size * SCALAR > gpu.max_binding_bytes:
        return a
    return copied(a)


def line_of(name: str, kinds: Sequence[str], result: str) -> str:
    """The line of an operation, for operands of these WGSL types; "" stands for a number."""
    row = ELEMENTWISE.get(name, f"{name}_of({', '.join(_operand_names(name))})")
    return line_for(row, next(filter(None, kinds), result))


@lru_cache(maxsize=4096)
def merge_dims(shape: Shape, strides: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same walk in fewer dims: two that each array could walk as one are merged, and dims of size 1 go."""
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        here = tuple(each[dim] for each in strides)
        if sizes and all(before == step * size for before, step in zip(steps[-1], here, strict=True)):
            sizes[-1] *= size
            steps[-1] = here
        else:
            sizes.append(size)
            steps.append(here)
    if not sizes:
        return (1,), [(1,)] * len(strides)
    return tuple(sizes), list(zip(*steps, strict=True))


def _packed_reads(shape: Sequence[int], starts: Sequence[int], strides: Sequence[tuple[int, ...]]) -> list[Read] | None:
    """How the packed kernel reads each operand; None if it cannot, since four neighbours lie apart or not evenly."""
    if len(shape) > 1 and shape[-1] % PACK:
        return None
    reads = []
    for start, steps in zip(starts[1:], strides[1:], strict=True):
        if steps[-1] == 0:
            reads.append(Read.SPLAT)
        elif steps[-1] == 1 and not any(number % PACK for number in (start, *steps[:-1])):
            reads.append(Read.VECTOR)
        else:
            return None
    return reads


def _packed_walks(
    reads: Sequence[Read], shape: Sequence[int], starts: Sequence[int], strides: Sequence[tuple[int, ...]]
) -> list[int]:
    """Sizes, starts and strides, counted in vectors where vectors are read. The last dim needs no stride."""
    numbers = [*shape[:-1], shape[-1] // PACK] if len(shape) > 1 else []
    for read, start, steps in zip(reads, starts, strides, strict=True):
        unit = PACK if read is Read.VECTOR else 1
        numbers += as_u32([number // unit for number in (start, *steps[:-1])])
    return numbers


# The kernels


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
        element = f"{each}_array[{_packed_at(each, read, rank)}]"
        loads.append(f"    let {each} = {element if read is Read.VECTOR else f'vec{PACK}<{own}>({element})'};")
    calls = [f"operation({', '.join(f'{each}.{axis}' for each in names)})" for axis in "xyzw"]
    store = f"    result[i] = vec{PACK}<{result}>(\n        " + ",\n        ".join(calls) + ",\n    );"
    shape, indices = (shape_fields("", rank), coordinates("", rank)) if rank > 1 else ([], [])
    function = _operation(names, [own for own, _ in ways], kind, result, line)
    body = "\n".join([*indices, *loads, store])
    return build(name, arrays, f"vec{PACK}<{result}>", [*numbers, *shape, *walks], function, body)


def _packed_at(array: str, read: Read, rank: int) -> str:
    """Where a thread reads its four values of an operand.

    Along the last dim each thread has a vector of its own, but of a splat all threads read the same element.
    """
    last = [f"at{rank - 1}" if rank > 1 else "i"] if read is Read.VECTOR else []
    return " + ".join([element_at(array, rank - 1), *last])


@cache
def strided_kernel(name: str, line: str, kinds: tuple[str, ...], result: str, rank: int) -> Kernel:
    """One element a thread. ``kinds`` are the WGSL types of the operands; "" stands for a number."""
    names = _operand_names(name)
    kind = next(filter(None, kinds), result)
    arrays = [(f"{each}_array", own) for each, own in zip(names, kinds, strict=True) if own]
    numbers = [(each, kind) for each, own in zip(names, kinds, strict=True) if not own]
    walked = ["result", *[each for each, own in zip(names, kinds, strict=True) if own]]
    loads = [
        f"    let {each} = " + (f"{each}_array[{element_at(each, rank)}];" if own else f"params.{each};")
        for each, own in zip(names, kinds, strict=True)
    ]
    store = f"    result[{element_at('result', rank)}] = operation({', '.join(names)});"
    parameters = [*numbers, *shape_fields("", rank), *[f for each in walked for f in walk_fields(each, rank)]]
    function = _operation(names, kinds, kind, result, line)
    return build(name, arrays, result, parameters, function, "\n".join([*coordinates("", rank), *loads, store]))


def _operand_names(name: str) -> list[str]:
    """The names of an operation's operands: those of the interface; a copy has just one."""
    return list(OPERATIONS[name].parameters) if name in OPERATIONS else ["a"]


def _operation(names: list[str], kinds: Sequence[str], kind: str, result: str, line: str) -> str:
    """The line as a WGSL function of scalars. A number has the type ``kind``."""
    operands = ", ".join(f"{each}: {own or kind}" for each, own in zip(names, kinds, strict=True))
    return f"fn operation({operands}) -> {result} {{\n    return {line};\n}}\n"


def plain_kernel(name: str) -> Kernel:
    """The kernel of an operation on float32 arrays that lie in memory alike. A mask is Bool, which is stored as u32."""
    declared = OPERATIONS[name]
    tensors = [declared.parameters[index] for index in declared.tensors]
    ways = [("u32" if each == "mask" else "f32", Read.VECTOR) for each in tensors]
    ways += [("", Read.NUMBER)] * (len(declared.parameters) - len(tensors))
    result = "u32" if declared.result == "bool" else "f32"
    return packed_kernel(name, line_of(name, ["f32"], result), tuple(ways), result, 1)
