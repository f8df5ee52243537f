"""Elementwise operations: one line of WGSL each. The two kernels around such a line are written once.

The *packed* kernel is for arrays that lie in memory alike, element after element: a thread computes four neighbours.
The *strided* kernel is for all others. Its thread finds the place of its element in each array from the strides.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache

from tinyburn.tensor.shape import is_contiguous

from ..interface import Operand
from ..required import Required
from ..strided import StridedArray
from .commands import Kernel
from .gpu import SCALAR, WGSL, gpu_of
from .kernel import as_scalar, build, coordinates, pack, place, shape_fields, walk_fields

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
    "to_i32":          "i32(a)",
    "to_u32":          {"f32": "u32(is_nan(a) || a != 0.0)", "": "u32(a != 0)"},
    "copy":            "a",
}
# fmt: on

TRUTHS = {"equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal", "is_nan", "is_inf", "bool_not"}
"""Operations whose results are Bool."""

PACK = 4
"""Elements of a thread of the packed kernel: one vector."""


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
        dim = result.shape.index(max(result.shape))
        cut = [list(x.halves(dim)) if isinstance(x, StridedArray) else [x, x] for x in (result, *operands)]
        for half in zip(*cut, strict=True):
            _run(name, half[0], list(half[1:]))
        return
    shape, strides = merge_dims(result.shape, [x.strides for x in arrays])
    bindings, offsets = zip(*map(gpu.bind, arrays), strict=True)
    kinds = tuple(WGSL[x.dtype] if isinstance(x, StridedArray) else "" for x in operands)
    out = WGSL[result.dtype]
    packed = _fills_its_buffer(result) and all(walk == (1,) for walk in strides) and not any(x % PACK for x in offsets)
    kernel = packed_kernel(name, kinds, out) if packed else strided_kernel(name, kinds, out, len(shape))
    kind = next(filter(None, kinds), out)
    numbers = [as_scalar(x, kind) for x in operands if not isinstance(x, StridedArray)]
    if packed:
        threads = -(-shape[0] // PACK)
        numbers += [offset // PACK for offset in offsets[1:]]
    else:
        threads = result.size
        numbers += [*shape, *[n for x, walk in zip(offsets, strides, strict=True) for n in (x, *walk)]]
    parameters, groups = pack(kernel, threads, numbers)
    gpu.commands.run(kernel, (*bindings[1:], bindings[0]), parameters, groups)


def merge_dims(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[tuple[int, ...]]]:
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
        return [1], [(1,)] * len(strides)
    return sizes, list(zip(*steps, strict=True))


def _fills_its_buffer(a: StridedArray) -> bool:
    """Whether the last thread may write a whole vector: the bytes after the last element are nobody's."""
    return a.offset == 0 and a.size * SCALAR == a.storage.stored and is_contiguous(a.shape, a.strides)


@cache
def packed_kernel(name: str, kinds: tuple[str, ...], result: str) -> Kernel:
    """Four neighbours a thread. ``kinds`` are the WGSL types of the operands; "" stands for a number."""
    names = _parameters(name)
    kind = next(filter(None, kinds), result)
    arrays = [(f"{each}_array", f"vec{PACK}<{k}>") for each, k in zip(names, kinds, strict=True) if k]
    numbers = [(each, kind) for each, k in zip(names, kinds, strict=True) if not k]
    starts = [(f"{each}_start", "u32") for each, k in zip(names, kinds, strict=True) if k]
    loads = [
        f"    let {each} = "
        + (f"{each}_array[params.{each}_start + i];" if k else f"vec{PACK}<{kind}>(params.{each});")
        for each, k in zip(names, kinds, strict=True)
    ]
    calls = [f"{name}_({', '.join(f'{each}.{axis}' for each in names)})" for axis in "xyzw"]
    store = f"    result[i] = vec{PACK}<{result}>({', '.join(calls)});"
    functions = _function(name, names, kinds, kind, result)
    body = "\n".join([*loads, store])
    return build(name, arrays, f"vec{PACK}<{result}>", [*numbers, *starts], functions, body)


@cache
def strided_kernel(name: str, kinds: tuple[str, ...], result: str, rank: int) -> Kernel:
    """One element a thread, at a place of its own in each array."""
    names = _parameters(name)
    kind = next(filter(None, kinds), result)
    arrays = [(f"{each}_array", k) for each, k in zip(names, kinds, strict=True) if k]
    numbers = [(each, kind) for each, k in zip(names, kinds, strict=True) if not k]
    walked = ["result", *[each for each, k in zip(names, kinds, strict=True) if k]]
    loads = [
        f"    let {each} = " + (f"{each}_array[{place(each, rank)}];" if k else f"params.{each};")
        for each, k in zip(names, kinds, strict=True)
    ]
    store = f"    result[{place('result', rank)}] = {name}_({', '.join(names)});"
    parameters = [*numbers, *shape_fields("", rank), *[f for each in walked for f in walk_fields(each, rank)]]
    functions = _function(name, names, kinds, kind, result)
    return build(name, arrays, result, parameters, functions, "\n".join([*coordinates("", rank), *loads, store]))


def _parameters(name: str) -> list[str]:
    """The names of an operation's operands: those of the interface; a copy has just one."""
    return list(inspect.signature(getattr(Required, name)).parameters) if hasattr(Required, name) else ["a"]


def _function(name: str, names: list[str], kinds: tuple[str, ...], kind: str, result: str) -> str:
    """The operation itself as a WGSL function of scalars."""
    line = ELEMENTWISE[name]
    expression = line if isinstance(line, str) else line.get(kind) or line[""]
    operands = ", ".join(f"{each}: {k or kind}" for each, k in zip(names, kinds, strict=True))
    return f"fn {name}_({operands}) -> {result} {{ return {expression}; }}\n"
