"""Elementwise operations: one line of WGSL each, and the two kernels around all of these lines.

The *packed* kernel computes four neighbours a thread, since a GPU likes to read 16 bytes at a time. It is for a result
that lies in memory element after element, and for operands whose four neighbours lie side by side, or are all the same
element, as in a row or a column that is broadcast. The *strided* kernel is for all others: its thread computes one
element, and finds it in each array from the strides.

Either can compute *in place*: an operand that lies where the result shall lie is read from the result itself, just
before the thread writes there. It is not bound as an operand too: WebGPU forbids to bind one buffer both to read from
and to write to.
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
    """How a kernel gets its values of an operand."""

    VECTOR = "four neighbours"
    SPLAT = "one element, four times"
    STRIDES = "one element, found by strides"
    RESULT = "what the result holds before it is written"
    NUMBER = "a parameter"


Way = tuple[str, Read]
"""The WGSL type of an operand, "" for a number, and how it is read."""

_NUMBER: Way = ("", Read.NUMBER)

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
    # those that the interface composes, in one kernel
    "add_scaled":      "a + b * scale",
    "weighted_sum":    "a * first + b * second",
    "weighted_square_sum": "a * first + b * second * b",
    "adaptive_sum":    "a * first + b * second / (sqrt_of(c) + epsilon)",
    "squared_difference": "(a - b) * (a - b)",
    "extreme_backward": "select(select(0.0, out, is_nan(out) && !is_zero(a)), a, equal(b, out))",
    "squared_difference_backward": "multiply_no_nan(a, (b - out) * 2.0)",
    "clamp":           {"f32": "minimum(maximum(a, low), high)", "i32": "min(max(a, low), high)"},
    "leaky_relu":      "select(a, a * slope, less(a, 0.0))",
    # derivatives
    "tanh_backward":       "multiply_no_nan(a, 1.0 - out * out)",
    "sigmoid_backward":    "multiply_no_nan(a, out * (1.0 - out))",
    "clamp_backward":      "select(a, 0.0, less(b, low) || less(high, b))",
    "leaky_relu_backward": "select(a, a * slope, less(b, 0.0))",
    "silu_backward":       "multiply_no_nan(a, silu_slope(b))",
    "gelu_backward":       "multiply_no_nan(a, gelu_slope(b))",
    "softplus_backward":   "multiply_no_nan(a, sigmoid_of(b))",
    # elementary functions
    "atan":            "atan2_of(a, 1.0)",
    "trunc":           "trunc(a)",
    "fmod":            "sign_of(a) * remainder_of(abs(a), abs(b))",
    "is_finite":       "u32(!is_nan(a) && !is_inf(a))",
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

COMPUTED = [
    name
    for name, declared in OPERATIONS.items()
    if declared.elementwise and (declared.fused or not declared.is_default)
]
"""The operations of the interface that have one of these kernels."""


def compute(name: str, *operands: Operand) -> StridedArray:
    """One of the operations that are `COMPUTED`: a new array, as its declaration says."""
    declared = OPERATIONS[name]
    gpu = gpu_of(next(x for x in operands if isinstance(x, StridedArray)))
    return elementwise(name, gpu.new(declared.shape(*operands), declared.dtype(operands)), operands)


def can_take(target: StridedArray, name: str, operands: Sequence[Operand]) -> bool:
    """Whether `elementwise` can write the result of an operation over ``target``.

    The target has to lie in memory as the result would. An operand in the same buffer has to be the target itself: of
    any other view, a thread could read what another thread has overwritten.
    """
    return (
        target.is_contiguous
        and OPERATIONS[name].fits(target, operands)
        and all(_is_apart_or_same(x, target) for x in operands if isinstance(x, StridedArray))
    )


def _is_apart_or_same(x: StridedArray, target: StridedArray) -> bool:
    """Whether an operand is in another buffer than a row-major target, or has the same elements in the same order."""
    if x.storage is not target.storage:
        return True
    return x.offset == target.offset and x.shape == target.shape and x.is_contiguous


def elementwise(name: str, result: StridedArray, operands: Sequence[Operand]) -> StridedArray:
    """Fills ``result`` with an operation of ``operands``, numbers or arrays that broadcast to its shape.

    The result may be one of the operands; no other view of its buffer may be one, see `can_take`.
    """
    if result.size:
        arrays = [x.expanded(result.shape) if isinstance(x, StridedArray) else x for x in operands]
        _run(name, result, arrays)
    return result


def _run(name: str, result: StridedArray, operands: list[Operand]) -> None:
    """In one call if a kernel can see all of every array, else in two halves."""
    gpu = gpu_of(result)
    ways = tuple([_way_of(x, result) for x in operands])
    arrays = [result, *[x for x, (_, read) in zip(operands, ways, strict=True) if read is Read.STRIDES]]
    if not all(map(gpu.can_bind, arrays)):
        _run_halves(name, result, operands)
        return
    bindings, starts = zip(*map(gpu.bind, arrays), strict=True)
    is_whole = result.offset == 0 and result.size * SCALAR == result.storage.stored
    strides = tuple([x.strides for x in arrays])
    call = plan_call(name, ways, WGSL[result.dtype], result.shape, starts, strides, is_whole)
    numbers = [as_scalar(x, call.kind) for x in operands if not isinstance(x, StridedArray)]
    parameters, groups = pack(call.kernel, call.threads, [*numbers, *call.walk])
    gpu.commands.run(call.kernel, (*bindings[1:], bindings[0]), parameters, groups)


def _way_of(x: Operand, result: StridedArray) -> Way:
    """How a kernel gets an operand, before anything is known of its layout."""
    if not isinstance(x, StridedArray):
        return _NUMBER
    return WGSL[x.dtype], Read.RESULT if x.storage is result.storage else Read.STRIDES


class Call(NamedTuple):
    """What runs: a kernel, how many threads, where they find their elements, and the WGSL type of numbers."""

    kernel: Kernel
    threads: int
    walk: list[int]
    kind: str


@lru_cache(maxsize=4096)  # a training loop asks for the same calls at each step
def plan_call(
    name: str,
    ways: tuple[Way, ...],
    out: str,
    full_shape: Shape,
    starts: tuple[int, ...],
    full_strides: tuple[tuple[int, ...], ...],
    is_whole: bool,
) -> Call:
    """The call for a result and operands that lie in memory in a given way.

    Args:
        name: an operation, or a row of the table.
        ways: the operands: each array that is not the result by its strides.
        out: the WGSL type of the result.
        full_shape: of the result; the operands are read in this shape too.
        starts, full_strides: of the result, then of each operand that is read by its strides.
        is_whole: whether the result is all that its buffer holds, so that the last thread may write a whole vector.
    """
    shape, strides = merge_dims(full_shape, full_strides)
    kind = _number_type(ways, out)
    line = line_of(name, kind)
    reads = _packed_reads(shape, starts, strides) if is_whole and is_contiguous(full_shape, full_strides[0]) else None
    if reads is None:
        kernel = strided_kernel(name, line, ways, out, len(shape))
        return Call(kernel, num_elements(shape), [*shape, *walks(starts, strides)], kind)
    reading = iter(reads)
    packed = tuple((own, next(reading) if read is Read.STRIDES else read) for own, read in ways)
    kernel = packed_kernel(name, line, packed, out, len(shape))
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


def line_of(name: str, kind: str) -> str:
    """The line of an operation, for operands of a WGSL type."""
    return line_for(ELEMENTWISE.get(name, f"{name}_of({', '.join(_operand_names(name))})"), kind)


def _number_type(ways: Sequence[Way], result: str) -> str:
    """The WGSL type that numbers get: that of the first array, else that of the result."""
    return next((kind for kind, _ in ways if kind), result)


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
    kind = _number_type(ways, result)
    arrays, numbers, walks, loads = [], [], [], []
    for each, (own, read) in zip(names, ways, strict=True):
        value = f"vec{PACK}<{kind}>(params.{each})"
        if read is Read.NUMBER:
            numbers.append((each, kind))
        elif read is Read.RESULT:
            value = "result[i]"
        else:
            arrays.append((f"{each}_array", f"vec{PACK}<{own}>" if read is Read.VECTOR else own))
            walks += walk_fields(each, rank - 1)
            element = f"{each}_array[{_packed_at(each, read, rank)}]"
            value = element if read is Read.VECTOR else f"vec{PACK}<{own}>({element})"
        loads.append(f"    let {each} = {value};")
    calls = [f"operation({', '.join(f'{each}.{axis}' for each in names)})" for axis in "xyzw"]
    store = f"    result[i] = vec{PACK}<{result}>(\n        " + ",\n        ".join(calls) + ",\n    );"
    shape, indices = (shape_fields("", rank), coordinates("", rank)) if rank > 1 else ([], [])
    function = _operation(names, ways, result, line)
    body = "\n".join([*indices, *loads, store])
    return build(name, arrays, f"vec{PACK}<{result}>", [*numbers, *shape, *walks], function, body)


def _packed_at(array: str, read: Read, rank: int) -> str:
    """Where a thread reads its four values of an operand.

    Along the last dim each thread has a vector of its own, but of a splat all threads read the same element.
    """
    last = [f"at{rank - 1}" if rank > 1 else "i"] if read is Read.VECTOR else []
    return " + ".join([element_at(array, rank - 1), *last])


@cache
def strided_kernel(name: str, line: str, ways: tuple[Way, ...], result: str, rank: int) -> Kernel:
    """One element a thread."""
    names = _operand_names(name)
    kind = _number_type(ways, result)
    place = f"result[{element_at('result', rank)}]"
    arrays, numbers, walks, loads = [], [], walk_fields("result", rank), []
    for each, (own, read) in zip(names, ways, strict=True):
        value = f"params.{each}"
        if read is Read.NUMBER:
            numbers.append((each, kind))
        elif read is Read.RESULT:
            value = place
        else:
            arrays.append((f"{each}_array", own))
            walks += walk_fields(each, rank)
            value = f"{each}_array[{element_at(each, rank)}]"
        loads.append(f"    let {each} = {value};")
    store = f"    {place} = operation({', '.join(names)});"
    function = _operation(names, ways, result, line)
    body = "\n".join([*coordinates("", rank), *loads, store])
    return build(name, arrays, result, [*numbers, *shape_fields("", rank), *walks], function, body)


def _operand_names(name: str) -> list[str]:
    """The names of an operation's operands: those of the interface; a copy has just one."""
    return list(OPERATIONS[name].parameters) if name in OPERATIONS else ["a"]


def _operation(names: list[str], ways: Sequence[Way], result: str, line: str) -> str:
    """The line as a WGSL function of scalars."""
    kind = _number_type(ways, result)
    operands = ", ".join(f"{each}: {own or kind}" for each, (own, _) in zip(names, ways, strict=True))
    return f"fn operation({operands}) -> {result} {{\n    return {line};\n}}\n"


def plain_kernel(name: str) -> Kernel:
    """The kernel of an operation on float32 arrays that lie in memory alike. A mask is Bool, which is stored as u32."""
    declared = OPERATIONS[name]
    tensors = [declared.parameters[index] for index in declared.tensors]
    ways = [("u32" if each == "mask" else "f32", Read.VECTOR) for each in tensors]
    ways += [_NUMBER] * (len(declared.parameters) - len(tensors))
    result = "u32" if declared.result == "bool" else "f32"
    return packed_kernel(name, line_of(name, "f32"), tuple(ways), result, 1)
