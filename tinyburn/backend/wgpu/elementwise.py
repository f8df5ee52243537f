"""Elementwise operations: one line of WGSL each. The kernels around such a line are in `elementwise_text`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tinyburn.base.shape import Shape, is_contiguous, num_elements

from ..interface import Operand
from ..strided import StridedArray
from .commands import Kernel
from .elementwise_text import PACK, Read, packed_kernel, strided_kernel
from .gpu import SCALAR, WGSL, gpu_of
from .kernel import as_scalar, line_for, pack, walks

# In a dict each WGSL type has its own line, and "" is for all others.
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
    "exp":             "exp_of(a)",
    "log":             "log_of(a)",
    "log1p":           "log1p_of(a)",
    "sqrt":            "sqrt_of(a)",
    "sin":             "sin_of(a)",
    "cos":             "cos_of(a)",
    "tanh":            "tanh_of(a)",
    "erf":             "erf_of(a)",
    "floor":           "floor(a)",
    "ceil":            "ceil(a)",
    "round":           "round(a)",
    "powf_scalar":     {"f32": "power(a, exponent)", "i32": "power_int(a, exponent)"},
    "scaled_mul":      "a * b * scale",
    "relu_backward":   "multiply_no_nan(sign_of(out), a)",
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
    # not operations of the interface: what `cast`, `full` and every copy are made of
    "to_f32":          "f32(a)",
    "to_i32":          {"f32": "to_int(a)", "": "i32(a)"},
    "to_u32":          {"f32": "u32(is_nan(a) || a != 0.0)", "": "u32(a != 0)"},
    "copy":            "a",
}
# fmt: on

TRUTHS = {"equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal", "is_nan", "is_inf", "bool_not"}
"""Operations whose results are Bool."""


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
    parameters, groups = pack(call.kernel, call.threads, [*numbers, *call.places])
    gpu.commands.run(call.kernel, (*bindings[1:], bindings[0]), parameters, groups)


class Call(NamedTuple):
    """What runs: a kernel, how many threads, where they find their elements, and the WGSL type of numbers."""

    kernel: Kernel
    threads: int
    places: list[int]
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
    """The call for operands of these WGSL types, "" for a number, that lie at these places; the result comes first.

    ``is_whole``: the result is all that its buffer holds, so the last thread may write a whole vector.
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
    cut = [x.halves(dim) if isinstance(x, StridedArray) else (x, x) for x in (result, *operands)]
    for result_half, *halves in zip(*cut, strict=True):
        _run(name, result_half, halves)


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
    """The line of the table, for operands of these WGSL types; "" stands for a number."""
    return line_for(ELEMENTWISE[name], next(filter(None, kinds), result))


@lru_cache(maxsize=4096)
def merge_dims(shape: Shape, strides: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same walk with fewer dims: neighbours that every array walks as one are merged, and dims of size 1 go."""
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
        numbers += [number // unit for number in (start, *steps[:-1])]
    return numbers
