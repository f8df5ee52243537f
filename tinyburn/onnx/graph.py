"""A graph of an ONNX model, ready to run: its nodes in order, each with the row of the table that computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyburn.backend import Device
from tinyburn.base.errors import OnnxError, TinyburnError
from tinyburn.base.scope import enter, leave

from .table import Row
from .values import Flow, Value, joined

Names = Sequence[str]
Scope = dict[str, Flow]
"""The values that are there, by their names."""

FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, NotImplementedError)
"""What Python and NumPy raise where a model does not keep to the standard."""


class Limits:
    """What a model may use, so that no model runs for ever.

    Attributes:
        elements: of one tensor that an operator makes from numbers, such as ConstantOfShape.
        iterations: of one loop.
    """

    __slots__ = ("elements", "iterations")

    def __init__(self, elements: int = 1 << 28, iterations: int = 1_000_000) -> None:
        self.elements, self.iterations = elements, iterations

    def __repr__(self) -> str:
        return f"Limits(elements={self.elements}, iterations={self.iterations})"


class Run:
    """One run of a model: the device that it computes on, its limits, and who looks on.

    Attributes:
        watch: is told the name of each value that a node of the main graph has computed; None if nobody looks.
        outer: the values around a node that runs a graph.
    """

    __slots__ = ("device", "limits", "outer", "watch")

    def __init__(self, device: Device[Any], limits: Limits, watch: Any = None) -> None:
        self.device, self.limits, self.watch = device, limits, watch
        self.outer: Scope = {}

    def __repr__(self) -> str:
        return f"Run(on {self.device}, {self.limits})"


class Step:
    """A node.

    Attributes:
        path: its name, as modules have it.
        last: the names of values that nobody needs after it.
    """

    __slots__ = ("_operands", "attributes", "inputs", "last", "outputs", "path", "row")

    def __init__(self, path: str, row: Row, inputs: Names, outputs: Names, attributes: Mapping[str, Any]) -> None:
        self.path, self.row, self.inputs, self.outputs = path, row, tuple(inputs), tuple(outputs)
        self.attributes = dict(attributes)
        self.last: tuple[str, ...] = ()
        self._operands = tuple(at for at in range(len(self.inputs)) if at not in row.numbers)

    def __repr__(self) -> str:
        return f"Step({self.path}: {', '.join(self.outputs)} = {self.row.name}({', '.join(self.inputs)}))"

    def compute(self, scope: Scope, run: Run) -> None:
        """Adds its outputs to the scope, and takes away what nobody needs any more."""
        token = enter(self.path)
        try:
            result = self._called(scope, run)
        except TinyburnError:
            raise
        except FAULTS as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            hint = "the model may be damaged: onnx.checker says more"
            raise OnnxError(self.row.name, reason, hint=hint) from error
        finally:
            leave(token)
        results = result if type(result) is tuple else (result,)
        if len(results) < len(self.outputs) and any(self.outputs[len(results) :]):
            reason = f"it gives {len(results)} values, and {len(self.outputs)} are asked for"
            raise OnnxError(f"{self.row.name} ({self.path})", reason)
        for name, value in zip(self.outputs, results, strict=False):
            if name:
                scope[name] = value
        for name in self.last:
            scope.pop(name, None)

    def _called(self, scope: Scope, run: Run) -> Any:
        values: list[Flow] = [scope[name] if name else None for name in self.inputs]
        device = run.device
        for at in self._operands:
            value = values[at]
            if type(value) is not Value or value.tensor.device is not device:
                self._join(values, device)
                break
        if not self.row.context:
            return self.row.function(*values, **self.attributes)
        run.outer = scope
        known = {"run": run, "device": device, "count": len(self.outputs)}
        more = {name: known[name] for name in self.row.context}
        return self.row.function(*values, **self.attributes, **more)

    def _join(self, values: list[Flow], device: Device[Any]) -> None:
        """Makes the operands ones that can be computed with: all on the host, or all on the device."""
        found = joined([values[at] for at in self._operands], device)
        for at, value in zip(self._operands, found, strict=True):
            values[at] = value


class Graph:
    """Nodes in order, and what goes in and comes out.

    Attributes:
        inputs: the names of what it is given.
        constants: values that are there from the start.
        initial: the names of those that are initializers of the file, and no nodes.
        parts: the names of those that the module has taken, as parameters or tensors of its own.
        scalars: those of them that have rank 0.
        captured: names that it reads from the graph around it.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        inputs: Names,
        outputs: Names,
        constants: Mapping[str, Value],
        initial: frozenset[str] = frozenset(),
    ) -> None:
        self.steps, self.inputs, self.outputs = tuple(steps), tuple(inputs), tuple(outputs)
        self.constants = dict(constants)
        self.initial = initial
        self.parts: tuple[str, ...] = ()
        self.scalars: frozenset[str] = frozenset()
        self.captured = self._find_captured()
        self._find_last_uses()

    def __repr__(self) -> str:
        return f"Graph({len(self.steps)} nodes, from {', '.join(self.inputs)} to {', '.join(self.outputs)})"

    def run(self, inputs: Mapping[str, Flow], run: Run, outer: Mapping[str, Flow] | None = None) -> list[Flow]:
        """Its outputs. ``outer`` are the values of the graph around it."""
        around = {name: outer[name] for name in self.captured} if outer is not None else {}
        scope: Scope = {**around, **self.constants, **inputs}
        watch = run.watch if outer is None else None
        for step in self.steps:
            step.compute(scope, run)
            if watch is not None:
                for name in step.outputs:
                    if name:
                        watch(step, name, scope.get(name))
        return [scope[name] for name in self.outputs]

    def _find_captured(self) -> tuple[str, ...]:
        known = {*self.inputs, *self.constants}
        found: dict[str, None] = {}
        for step in self.steps:
            for name in uses_of(step):
                if name not in known:
                    found[name] = None
            known.update(step.outputs)
        for name in self.outputs:
            if name not in known:
                found[name] = None
        return tuple(found)

    def _find_last_uses(self) -> None:
        """Constants and inputs stay with their owner; a result goes after its last use."""
        kept = set(self.outputs)
        for step in reversed(self.steps):
            used = [name for name in dict.fromkeys((*uses_of(step), *step.outputs)) if name and name not in kept]
            step.last = tuple(used)
            kept.update(used)


def uses_of(step: Step) -> list[str]:
    """What a node reads: its inputs, and what the graphs in its attributes read around them."""
    names = [name for name in step.inputs if name]
    for attribute in step.attributes.values():
        for graph in attribute if isinstance(attribute, tuple) else (attribute,):
            if isinstance(graph, Graph):
                names += graph.captured
    return names
