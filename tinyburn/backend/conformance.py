"""The conformance suite: does a backend do what the interface says? One call asks, and lists what differs.

    print(check_backend(Wgpu.device()))

Each operation is called with some arguments, in two layouts in memory. Its values have to be those of NumPy in float64,
up to rounding. Its shape, its dtype and whether it is a view have to be those that the interface declares. And no call
may change an operand: values are immutable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from textwrap import fill, shorten
from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution, Distribution
from tinyburn.base.dtype import DType
from tinyburn.base.errors import BackendMismatch
from tinyburn.base.text import table

from .conformance_cases import LAYOUTS, A, Case, Maker, Values, cases
from .device import Device
from .ndarray import NdArray
from .operations import OPERATIONS, Operation

TOLERANCE = {DType.FLOAT16: 4e-3, DType.FLOAT32: 3e-6, DType.FLOAT64: 1e-12}
"""Relative to 1 or to the value, whichever is larger: some rounding steps of each format."""
MAKERS = ("from_numpy", "to_numpy", "full", "random")
"""What a backend needs beside its operations: the way in and out."""
_SHOWN, _WIDTH = 16, 110


@dataclass(frozen=True)
class Difference:
    """One thing that a backend does in another way than the interface says.

    Attributes:
        operation: its name.
        asked: the call.
        found: what came.
        expected: what should have come.
    """

    operation: str
    asked: str
    found: str
    expected: str


@dataclass(frozen=True, repr=False)
class Conformance:
    """What `check_backend` has found.

    Attributes:
        backend: the name of the backend.
        right: the operations that do all that was asked.
        missing: those that the backend does not have, or that need one which it does not have.
        differences: everything else.
    """

    backend: str
    right: tuple[str, ...]
    missing: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        """The operations that differ; first those that a backend computes by itself, since others are made of them."""
        return _required_first({difference.operation: None for difference in self.differences})

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong or missing."""
        return not (self.differences or self.missing)

    def __repr__(self) -> str:
        """The counts, what is missing, and for each wrong operation one thing that differs."""
        counts = f"{len(self.right)} right, {len(self.missing)} missing, {len(self.wrong)} wrong"
        parts = [f"{self.backend}: {counts}"]
        if self.missing:
            parts.append(fill(f"missing: {_in_words(self.missing)}", _WIDTH))
        own = [name for name in self.wrong if not _is_composed(name)]
        shown = (own or self.wrong)[:_SHOWN]
        if shown:
            first = {each.operation: each for each in reversed(self.differences)}
            rows = [(first[name].asked, first[name].found, first[name].expected) for name in shown]
            parts.append(table(("asked", "found", "expected"), rows))
        if len(self.wrong) > len(shown):
            parts.append(fill(f"also wrong: {_in_words(self.wrong[len(shown) :])}", _WIDTH))
        return "\n\n".join(parts)


def _required_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=_is_composed))  # sorting keeps the order of equals


def _is_composed(name: str) -> bool:
    return name in OPERATIONS and OPERATIONS[name].is_default


def _in_words(names: Sequence[str]) -> str:
    """The names of what a backend has to compute by itself, and how many are made of it."""
    own = [name for name in names if not _is_composed(name)]
    rest = len(names) - len(own)
    return ", ".join([*own, *([f"{rest} composed of others"] if rest else [])])


def check_backend(device: Device[Any], *, special: bool = True, tolerance: float | None = None) -> Conformance:
    """Asks a backend for every operation of the interface, and for the way in and out.

    Args:
        device: of the backend, in the dtypes that are to be checked. Its random numbers go on afterwards as if nothing
            had been.
        special: whether to ask about inf and NaN too. Leave them out for numbers that have none, such as fractions.
        tolerance: how far a value may be off, relative to 1 or to itself, whichever is larger; else some rounding
            steps of the device's Float dtype.

    Raises BackendMismatch for a backend without values.
    """
    if not device.backend.has_values:
        reason = f"{device.backend.__name__} keeps shapes only, so there are no values to compare"
        raise BackendMismatch("check_backend", reason, hint="check a backend that computes")
    allowed = TOLERANCE[device.float_dtype] if tolerance is None else tolerance
    missing: set[str] = set()
    differences: list[Difference] = []
    for name in MAKERS:
        differences += _checked_maker(name, device, allowed, missing)
    for case in cases(device):
        if case.operation not in missing and (special or not case.is_special):
            differences += _checked(case, device, allowed, missing)
    names = [*MAKERS, *OPERATIONS]
    wrong = {difference.operation for difference in differences}
    return Conformance(
        device.backend.__name__,
        tuple(name for name in names if name not in missing | wrong),
        _required_first(name for name in names if name in missing),
        tuple(difference for difference in differences if difference.operation not in missing),
    )


# One call


def _checked(case: Case, device: Device[Any], allowed: float, missing: set[str]) -> list[Difference]:
    """What differs in one call, in each layout."""
    found: list[Difference] = []
    for layout, make in LAYOUTS.items():
        asked = f"{case}{layout}"
        try:
            problems = [*_problems(case, device, make, allowed)]
        except NotImplementedError:
            if make is LAYOUTS[""]:
                missing.add(case.operation)
            return found  # without permute there is no other layout
        except Exception as error:  # whatever it is, the interface has no errors
            problems = [(_told(error), "a result")]
        found += [Difference(case.operation, asked, *problem) for problem in problems]
    return found


def _told(error: Exception) -> str:
    """An exception in a part of a line."""
    return shorten(f"{type(error).__name__}: {error}", 60, placeholder=" …")


def _problems(case: Case, device: Device[Any], make: Maker, allowed: float) -> Iterator[tuple[str, str]]:
    """What came, and what should have come."""
    backend, operation = device.backend, OPERATIONS[case.operation].taking(len(case.arguments))
    given = [_rounded(x, device) for x in case.arguments]
    primitives = [make(x, device) if isinstance(x, np.ndarray) else x for x in given]
    before = [backend.to_numpy(x) for x in primitives if hasattr(x, "shape")]
    result = getattr(backend, case.operation)(*primitives)
    after = [backend.to_numpy(x) for x in primitives if hasattr(x, "shape")]
    wanted = _reference(case.operation, given)
    values = backend.to_numpy(result)
    if tuple(result.shape) != operation.shape(*primitives) or values.shape != wanted.shape:
        yield f"shape {tuple(result.shape)}", f"shape {wanted.shape}"
        return
    dtype = operation.dtype(primitives)
    if result.dtype != dtype or values.dtype != dtype:
        yield f"dtype {result.dtype.name}", f"dtype {dtype.name}"
        return
    yield from _other_values(values, wanted, allowed)
    yield from _other_memory(backend, operation, primitives, result)
    if any(x.tobytes() != y.tobytes() for x, y in zip(before, after, strict=True)):
        yield "an operand has other values afterwards", "the values that it had"


def _rounded(x: Any, device: Device[Any]) -> Any:
    """An array in the dtype that the device has for its kind of numbers."""
    if not isinstance(x, np.ndarray):
        return x
    return np.array(x, {"f": str(device.float_dtype), "i": str(device.int_dtype), "b": "bool"}[x.dtype.kind], order="C")


def _reference(name: str, given: list[Any]) -> Values:
    """What NumPy makes of the same numbers, with floats in float64."""
    wide = [x.astype("float64") if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in given]
    return np.asarray(getattr(NdArray, name)(*wide))


def _other_values(values: Values, wanted: Values, allowed: float) -> Iterator[tuple[str, str]]:
    """The first element that is not as it should be."""
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            wanted = wanted.astype(values.dtype)  # what is too large for it is inf
        allowed = max(allowed, TOLERANCE[DType(values.dtype.name)])
        found, right = values.astype("float64"), wanted.astype("float64")
        same = np.isclose(found, right, rtol=allowed, atol=allowed, equal_nan=True)
    else:
        same = values == wanted
    if not same.all():
        at = tuple(int(index) for index in np.argwhere(~same)[0])
        yield f"{values[at]} at {list(at)}", f"{wanted[at]}"


def _other_memory(backend: Any, operation: Operation, primitives: list[Any], result: Any) -> Iterator[tuple[str, str]]:
    """A view where a new buffer is promised, or the other way round; or a new buffer that is not row-major."""
    first = next(x for x in primitives if hasattr(x, "shape"))
    is_view = backend.shares_buffer(result, first)
    if operation.view == "always" and not is_view:
        yield "a new buffer", "a view of the first tensor"
    if operation.view == "never" and is_view and not operation.is_default:  # a default may hand its operand on
        yield "a view of the first tensor", "a new buffer"
    if operation.view == "never" and not is_view:
        flat = backend.reshape(result, (prod(result.shape),))
        if not backend.shares_buffer(flat, result):
            yield "a buffer that is not row-major", "a row-major one"


# The way in and out


def _checked_maker(name: str, device: Device[Any], allowed: float, missing: set[str]) -> list[Difference]:
    try:
        check = {"full": _checked_full, "random": _checked_random}.get(name, _checked_copy)
        return [Difference(name, *problem) for problem in check(name, device, allowed)]
    except NotImplementedError:
        missing.add(name)
    except Exception as error:
        return [Difference(name, name, _told(error), "a result")]
    return []


def _checked_copy(name: str, device: Device[Any], allowed: float) -> Iterator[tuple[str, str, str]]:
    """What goes in comes out, and both ways are copies."""
    for values in (A.astype(str(device.float_dtype)), np.array([[1, -2]], str(device.int_dtype)), A > 0):
        source = values.copy()
        primitive = device.backend.from_numpy(source, device)
        source[...] = 0
        taken = device.backend.to_numpy(primitive)
        asked = f"{name}({values.shape} {values.dtype})"
        if taken.dtype != values.dtype or not np.array_equal(taken, values):
            yield asked, "other values, or another dtype", "the values that went in"
        elif name == "to_numpy":
            taken[...] = 0
            if not np.array_equal(device.backend.to_numpy(primitive), values):
                yield asked, "the memory of the tensor itself", "a copy"


def _checked_full(name: str, device: Device[Any], allowed: float) -> Iterator[tuple[str, str, str]]:
    for value, dtype in ((1.5, device.float_dtype), (3, device.int_dtype), (True, DType.BOOL)):
        found = device.backend.to_numpy(device.backend.full((2, 3), value, dtype, device))
        wanted = np.full((2, 3), value, str(dtype))
        if found.dtype != wanted.dtype or not np.array_equal(found, wanted):
            yield f"full((2, 3), {value}, {dtype})", "something else", f"{value} everywhere"


def _checked_random(name: str, device: Device[Any], allowed: float) -> Iterator[tuple[str, str, str]]:
    """A seed gives the same numbers on every backend."""
    before, dtype = device.random_state(), device.float_dtype
    distributions: list[AnyDistribution] = [Distribution.Uniform(-1, 1), Distribution.Normal(0, 1)]
    distributions.append(Distribution.Bernoulli(0.5))
    reference = NdArray.device(float_dtype=str(dtype))
    try:
        for distribution in distributions:
            for one in (device, reference):
                one.seed(7)
            found = device.backend.to_numpy(device.backend.random((3, 4), distribution, dtype, device))
            wanted = NdArray.random((3, 4), distribution, dtype, reference)
            for problem in _other_values(found, wanted, allowed):
                yield f"random((3, 4), {distribution})", *problem
    finally:
        device.set_random_state(before)
