"""The checks that a tensor makes before it asks its backend, and what they say when one fails.

The tensors call these only when a cheap test has already failed or cannot decide, so they may take their
time: they collect every reason at once and look for the hint that names the fix.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyburn.base.errors import BackendMismatch, DeviceMismatch, DTypeMismatch, GraphError, ShapeError, TinyburnError
from tinyburn.base.shape import Shape, broadcast_conflicts

if TYPE_CHECKING:
    from .base import TensorBase

    AnyTensor = TensorBase[Any, Any, Any]


def check_operands(op: str, a: AnyTensor, b: AnyTensor, *, dtype: bool = True, shapes: bool = True) -> None:
    """Raises one error with every reason why two tensors cannot meet in ``op``; returns if they can."""
    check_tensor(op, a)
    check_tensor(op, b)
    failures = _placement(a, b)
    if dtype and a.primitive.dtype != b.primitive.dtype:
        reason = f"the dtypes differ: {a.dtype} and {b.dtype}, and tinyburn never converts silently"
        failures.append((DTypeMismatch, reason, _cast_hint(a, b)))
    conflicts = broadcast_conflicts(a.shape, b.shape) if shapes else []
    failures += [(ShapeError, reason, _shape_hint(a.shape, b.shape)) for reason in conflicts]
    if failures:
        raise_all(op, failures, {"left": describe(a), "right": describe(b)})


def raise_all(op: str, failures: list[tuple[type[TinyburnError], str, str | None]], given: dict[str, object]) -> None:
    """Raises the first failure's class, with every failure's reason and the hints that they have."""
    hints = dict.fromkeys(hint for _, _, hint in failures if hint)
    reasons = [reason for _, reason, _ in failures]
    raise failures[0][0](op, reasons, given=given, hint="; ".join(hints) or None)


def describe(tensor: AnyTensor) -> str:
    """One operand in an error message: shape, dtype and device."""
    return f"{tensor.shape} {tensor.dtype} on {tensor.device}"


def _placement(a: AnyTensor, b: AnyTensor) -> list[tuple[type[TinyburnError], str, str | None]]:
    if a.device == b.device:
        return []
    hint = "move one with .to_device(other.device)"
    if a.backend is not b.backend:
        reason = f"the backends differ: {a.backend.__name__} and {b.backend.__name__}"
        hint += ", or use .inner() or Tensor.from_inner() between a decorator and its inside"
        return [(BackendMismatch, reason, hint)]
    if str(a.device) != str(b.device):
        return [(DeviceMismatch, f"the devices differ: {a.device} and {b.device}", hint)]
    reason = f"both are on {a.device}, but from two calls of device(), and each of them keeps a log of its own"
    return [(DeviceMismatch, reason, "make one device and hand it to everything, or " + hint)]


def _cast_hint(a: AnyTensor, b: AnyTensor) -> str:
    """Between kinds only one way keeps the values: from Bool to Int, and from Int to Float. The other would cut weights
    to whole numbers."""
    order = "biuf".index
    mine, theirs = order(a.primitive.dtype.kind), order(b.primitive.dtype.kind)
    if a.kind is b.kind:
        return f'convert one, as in .cast("{a.dtype}")'
    side, dtype = ("left", b.dtype) if mine < theirs else ("right", a.dtype)
    return f'convert the {side} tensor, with .cast("{dtype}")'


def _shape_hint(a: Shape, b: Shape) -> str | None:
    if len(a) == len(b):
        return None
    side, short, long = ("left", a, b) if len(a) < len(b) else ("right", b, a)
    padded = (1,) * (len(long) - len(short)) + short
    if broadcast_conflicts(padded, long):
        return f"give the {side} tensor rank {len(long)} with unsqueeze_dim(dim) or reshape(...)"
    call = "unsqueeze()" if len(long) == len(short) + 1 else f"unsqueeze({len(long)})"
    return f"write {call} on the {side} tensor, which gives it shape {padded}"


def check_tensor(op: str, value: object) -> None:
    """Raises DTypeMismatch for something that is not a tensor."""
    if not hasattr(value, "primitive"):
        raise DTypeMismatch(op, f"{_class_of(value)} is not a tensor", hint=_tensor_hint(value))


def _class_of(value: object) -> str:
    """The name of a class; with that of its library, as in ``torch.Tensor``, unless it is Python's or ours."""
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    return kind.__name__ if library in ("builtins", "tinyburn") else f"{library}.{kind.__name__}"


def _tensor_hint(value: object) -> str:
    """How to come to a tensor from something else. A parameter of a module, which this floor does not know, has one."""
    if hasattr(value, "val"):
        return "write .val() for the tensor that it holds"
    return "make it one with Tensor.from_data(...)"


def check_untracked(op: str, values: object) -> None:
    """Raises GraphError for a tracked tensor among nested lists: new data has no graph, so its gradient would go."""
    if isinstance(values, list | tuple):
        if not set(map(type, values)) <= _PLAIN_NUMBERS:  # a long row of numbers is passed by at once
            for value in values:
                check_untracked(op, value)
    elif getattr(getattr(values, "primitive", None), "is_tracked", False):
        reason = "a tracked tensor is among the values, and new data has no graph: its gradient would be cut off"
        hint = "join tensors with Tensor.cat(...) or Tensor.stack(...); or cut it off yourself, with .detach()"
        raise GraphError(op, reason, hint=hint)


_PLAIN_NUMBERS = {float, int, bool}


def check_device(op: str, device: object) -> None:
    """Raises BackendMismatch for something that is not a device; a backend class is the usual slip."""
    if not hasattr(device, "float_dtype"):
        name = getattr(device, "__name__", repr(device))
        a_name = "make one with NdArray.device() or Wgpu.device(), or with RunConfig(backend=...).init()"
        hint = f"make one with {name}.device()" if isinstance(device, type) else a_name
        raise BackendMismatch(op, f"{name} is not a device", hint=hint)


FOR_TENSORS = {
    "clamp": "write x.maximum(low).minimum(high) for bounds that are tensors",
    "clamp_min": "write x.maximum(low) for a bound that is a tensor",
    "clamp_max": "write x.minimum(high) for a bound that is a tensor",
    "mask_fill": "write x.mask_where(mask, values) for values that are a tensor",
    "powf_scalar": "write x.powf(exponents) for exponents that are a tensor",
}
"""What to write where an operation of a tensor and numbers was given two tensors."""


def check_scalar(op: str, tensor: AnyTensor, value: object) -> float | int:
    """A Python number that can take the tensor's dtype. NumPy scalars are turned into Python ones."""
    kind, is_truth = tensor.primitive.dtype.kind, isinstance(value, bool | np.bool_)
    if kind == "f" and (type(value) is float or (type(value) is int and abs(value) <= _EXACT_IN_EVERY_FLOAT)):
        return float(value)
    if kind == "b" and is_truth:
        return bool(value)
    if kind in "iu" and isinstance(value, Integral) and not is_truth:
        return check_range(op, int(value), tensor.primitive.dtype)
    if kind == "f" and isinstance(value, Real) and not is_truth:
        return check_float(op, value, tensor.primitive.dtype)
    if kind == "b":
        reason, hint = f"{value!r} is not a truth value", "use True, False or .int()"
    elif isinstance(value, Real) and not is_truth:
        reason = f"{value!r} is not a whole number, and the tensor holds {tensor.dtype}"
        hint = "convert the tensor with .float() first"
    elif hasattr(value, "primitive"):  # an operation of two tensors would not have come here
        reason = "a tensor stands where a number is meant"
        hint = FOR_TENSORS.get(op, "take the number out of a tensor of one element with .into_scalar()")
    else:
        reason, hint = f"{_class_of(value)} is neither a tensor nor a number", _tensor_hint(value)
    raise DTypeMismatch(op, reason, given={"tensor": describe(tensor)}, hint=hint)


def check_range(op: str, value: int, dtype: np.dtype[Any]) -> int:
    """A whole number that an Int dtype can hold. Raises DTypeMismatch for another one."""
    limits = np.iinfo(dtype)
    if limits.min <= value <= limits.max:
        return value
    reason = f"{_in_few_digits(value)} is not from {limits.min} to {limits.max}, so {dtype.name} cannot hold it"
    raise DTypeMismatch(op, reason, hint="use a wider dtype")


def check_float(op: str, value: Any, dtype: np.dtype[Any]) -> float:
    """A real number for a Float dtype, which rounds it to the nearest that it has; beyond its range that is inf.

    A whole number is held to more: it is a count, and must be there exactly. Raises DTypeMismatch if it cannot.
    """
    try:
        number = float(value)
        if not isinstance(value, Integral) or abs(number) <= _EXACT_IN_EVERY_FLOAT:
            return number
        with np.errstate(over="ignore"):
            if int(dtype.type(number)) == value:
                return number
    except OverflowError:  # beyond every float; or an inf, which no whole number is
        pass
    hint = "use a wider dtype, or write it with a point to let it round"
    raise DTypeMismatch(op, f"{dtype.name} cannot hold {_in_few_digits(value)}", hint=hint)


_EXACT_IN_EVERY_FLOAT = 2048
"""Up to here each whole number is a float16 too."""


def _in_few_digits(value: Any) -> str:
    """A number for a message: Python itself refuses to print one of more than 4300 digits."""
    return str(value) if -(10**30) < value < 10**30 else "a number of more than 30 digits"


def reject_dtype(op: str, tensor: AnyTensor, wanted: str) -> DTypeMismatch:
    """The error for an op that its tensor's kind does not have."""
    hint = {"float": ".float()", "int": ".int()", "bool": ".bool()", "number": ".int() or .float()"}[wanted]
    reason = f"{op} takes {'an' if wanted == 'int' else 'a'} {wanted} tensor"
    return DTypeMismatch(op, reason, given={"tensor": describe(tensor)}, hint=f"convert it with {hint}")


def reject_operand(op: str, tensor: AnyTensor, other: object) -> DTypeMismatch:
    """The error for an op whose other side must be a tensor."""
    reason = f"{_class_of(other)} is not a tensor"
    return DTypeMismatch(op, reason, given={"left": describe(tensor)}, hint=_tensor_hint(other))
