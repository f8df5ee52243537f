"""From forward passes for several batches to one graph, in which each number is fixed or follows the batch.

The passes are walked side by side, from their outputs to what these come from. They have to ask for the same
operations; only the numbers may differ. A constant that is the same in all of them is a constant of the file, however
it came about. One that differs is made in the file: from its operands, or, if it has none, as the same numbers for each
sample or as a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError

from .lengths import Shape, fitted, is_free
from .tracing import Call

Calls: TypeAlias = tuple[Call, ...]
Numbers: TypeAlias = np.ndarray[Any, Any]


class Node:
    """One call of all passes.

    Attributes:
        operation: as of a `Call`; also ``spread`` and ``counted`` for constants that follow the batch.
        arguments: those of the call, with nodes for tensors.
        value: the numbers of a constant that does not follow the batch.
        fill: for what is one number everywhere, in all passes, this number.
    """

    __slots__ = ("arguments", "dtype", "fill", "label", "number", "operation", "path", "shape", "value")

    def __init__(self, call: Call, operation: str, arguments: tuple[Any, ...], shape: Shape) -> None:
        self.operation, self.arguments, self.shape = operation, arguments, shape
        self.dtype, self.path, self.label, self.number = call.dtype, call.path, call.label, call.number
        self.value: Numbers | None = None
        self.fill: Any = None

    def __repr__(self) -> str:
        return f"Node({self.operation}, ({', '.join(map(str, self.shape))}), {self.dtype.name})"

    @property
    def operands(self) -> list[Node]:
        """The nodes that it reads."""
        return [x for x in self.arguments if isinstance(x, Node)]


class Merger:
    """Merges what several passes have kept.

    Attributes:
        batches: the batch of each pass.
    """

    def __init__(self, batches: Sequence[int]) -> None:
        self.batches = tuple(batches)
        self._made: dict[tuple[int, ...], Node] = {}

    def __repr__(self) -> str:
        return f"Merger(batches={self.batches})"

    def merged(self, calls: Calls) -> Node:
        """The node of one call of each pass. What it comes from is merged first, without recursion: a pass over a long
        sequence is deeper than Python's stack."""
        waiting = [calls]
        while waiting:
            top = waiting[-1]
            key = _key(top)
            operands = [] if key in self._made or _is_fixed(top) else self._operands(top)
            missing = [one for one in operands if _key(one) not in self._made]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if key not in self._made:
                self._made[key] = self._node(top)
        return self._made[_key(calls)]

    def _operands(self, calls: Calls) -> list[Calls]:
        first = calls[0]
        for other in calls[1:]:
            if (other.operation, len(other.arguments)) != (first.operation, len(first.arguments)):
                raise self._another(calls)
        found = []
        for arguments in zip(*[call.arguments for call in calls], strict=True):
            if isinstance(arguments[0], Call):
                if not all(isinstance(one, Call) for one in arguments):
                    raise self._another(calls)
                found.append(arguments)
        return found

    def _node(self, calls: Calls) -> Node:
        first = calls[0]
        shape = self._fitted(calls, tuple(call.shape for call in calls))
        if _is_fixed(calls):
            node = Node(first, "constant", (), shape)
            node.value = np.asarray(first.value)
            node.fill = _fill_of(calls)
            return node
        if first.operation == "constant":
            return self._following(calls, shape)
        arguments = [self._fitted(calls, one) for one in zip(*[call.arguments for call in calls], strict=True)]
        node = Node(first, first.operation, tuple(arguments), shape)
        node.fill = _fill_of(calls)
        return node

    def _following(self, calls: Calls, shape: Shape) -> Node:
        """A constant that follows the batch, and that no operation has made."""
        one = _one_of(calls, shape)
        if one is not None:
            node = Node(calls[0], "spread", (one,), shape)
            node.fill = _fill_of(calls)
            return node
        steps = [_steps_of(call.value) for call in calls]
        if steps[0] is not None and all(step == steps[0] for step in steps) and len(shape) == 1:
            return Node(calls[0], "counted", (*steps[0], *shape), shape)
        lengths = self._words([str(call.shape) for call in calls])
        reason = (
            f"a constant follows the batch, and has neither the same numbers for each sample nor a range: {lengths}"
        )
        raise self._refused(calls, reason)

    def _fitted(self, calls: Calls, values: tuple[Any, ...]) -> Any:
        """One argument of all passes."""
        first = values[0]
        if isinstance(first, Call):
            return self._made[_key(values)]
        if any(type(value) is not type(first) for value in values):
            raise self._another(calls)
        if isinstance(first, slice):
            ends = [(value.start, value.stop, value.step) for value in values]
            return slice(*[self._fitted(calls, one) for one in zip(*ends, strict=True)])
        if isinstance(first, tuple):
            if len({len(value) for value in values}) > 1:
                raise self._another(calls)
            items = [self._fitted(calls, one) for one in zip(*values, strict=True)]
            return type(first)(*items) if hasattr(first, "_fields") else tuple(items)
        return fitted(values, self.batches)

    def _another(self, calls: Calls) -> OnnxError:
        words = self._words([f"{call.operation} of {len(call.arguments)} arguments" for call in calls])
        return self._refused(calls, f"the program takes another way for another batch: {words}")

    def _words(self, what: Sequence[str]) -> str:
        return ", ".join(f"{one} for a batch of {batch}" for one, batch in zip(what, self.batches, strict=True))

    def _refused(self, calls: Calls, reason: str) -> OnnxError:
        where = f" in {calls[0].path}" if calls[0].path else ""
        hint = "onnx.save(..., batch=None) keeps the batch of the example"
        return OnnxError(f"onnx.save: {calls[0].operation}{where}", reason, hint=hint)


def in_order(outputs: Sequence[Node]) -> list[Node]:
    """The nodes that the outputs come from, in the order of the program."""
    found: dict[int, Node] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += node.operands
    return sorted(found.values(), key=lambda node: node.number)


def _key(calls: Sequence[Call]) -> tuple[int, ...]:
    return tuple(map(id, calls))


def _is_fixed(calls: Calls) -> bool:
    """Whether it is a constant with the same numbers in all passes."""
    first = calls[0].value
    if first is None:
        return False
    return all(_is_same(first, call.value) for call in calls[1:])


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _fill_of(calls: Calls) -> Any:
    """The one number that is everywhere in a constant, in all passes; None if there is no such number."""
    if any(call.value is None or not call.value.size for call in calls):
        return None
    first = calls[0].value.reshape(-1)[0] if calls[0].value is not None else None
    same = all((call.value == first).all() for call in calls if call.value is not None)
    return first if same else None


def _one_of(calls: Calls, shape: Shape) -> Numbers | None:
    """What a constant repeats along the dims that follow the batch, in all passes; None if there is no such thing."""
    first = tuple(slice(0, 1) if is_free(length) else slice(None) for length in shape)
    one = np.asarray(calls[0].value)[first]
    same = all(_is_same(np.broadcast_to(one, call.shape), call.value) for call in calls if one.size)
    return one if same else None


def _steps_of(values: Any) -> tuple[Any, Any] | None:
    """The start and the step of a range; None if it is none."""
    if values is None or values.ndim != 1 or values.size < 2 or values.dtype.kind not in "iuf":
        return None
    start, step = values[0], values[1] - values[0]
    whole = (start + np.arange(values.size) * step).astype(values.dtype)
    return (start, step) if step and np.array_equal(values, whole) else None
