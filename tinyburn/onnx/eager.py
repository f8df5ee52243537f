"""Operators of ONNX as plain calls: ``op.Relu(x)``. So a model that is read from a file can be written as a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import OnnxError
from tinyburn.module import Param
from tinyburn.tensor import Tensor

from .graph import Graph, Limits, Run, Step
from .table import OPERATORS, check_opset, row_of
from .values import HOST, Flow, Value, host


class Operators:
    """The operators of one operator set.

    ``op.NAME(*inputs, **attributes)`` computes with tensors, parameters, `Value`s, and lists of them. It gives a
    `Value`, whose ``tensor`` is the result, or a tuple if the operator is asked for several outputs by ``count``. A
    graph in an attribute is a function here, which gives a tuple.

    Raises OnnxError for a version that cannot be read, and AttributeError for an operator that it has not.
    """

    def __init__(self, opset: int, limits: Limits | None = None) -> None:
        check_opset("", opset)
        self.opset = opset
        self._limits = limits or Limits()

    def __repr__(self) -> str:
        return f"Operators({self.opset})"

    def __dir__(self) -> list[str]:
        return sorted(name for domain, name in OPERATORS if not domain and row_of("", name, self.opset))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if row_of("", name, self.opset) is None:
            raise AttributeError(f"there is no row for {name} of operator set {self.opset}")

        def call(*inputs: Any, count: int = 1, **attributes: Any) -> Any:
            return self._computed(name, inputs, count, attributes)

        return call

    @staticmethod
    def constant(numbers: object, dtype: str) -> Value:
        """A tensor of any rank, from a number or lists of numbers."""
        return host(np.asarray(numbers, dtype))

    @staticmethod
    def scalar(tensor: Tensor[Any, Any, Any] | Param[Any, Any]) -> Value:
        """A tensor of shape (1,) as one of rank 0."""
        return Value(tensor.val() if isinstance(tensor, Param) else tensor, is_scalar=True)

    def _computed(self, name: str, inputs: Sequence[Any], count: int, attributes: Mapping[str, Any]) -> Any:
        row: Any = row_of("", name, self.opset)
        if problems := row.problems(len(inputs), attributes):
            raise OnnxError(f"op.{name}", problems)
        names = [str(at) for at in range(len(inputs))]
        given = {key: _Function(value) if callable(value) else value for key, value in attributes.items()}
        step = Step("", row, names, [f"output {at}" for at in range(count)], given)
        scope = dict(zip(names, map(_flow, inputs), strict=True))
        step.compute(scope, Run(_device_of(scope.values()), self._limits))
        results = tuple(scope.get(output) for output in step.outputs)
        return results[0] if count == 1 else results


class _Function(Graph):
    """A Python function in the place of a graph."""

    def __init__(self, function: Any) -> None:
        inputs = [str(at) for at in range(function.__code__.co_argcount)]
        outputs = [str(at) for at in range(getattr(function, "count", 1))]
        super().__init__([], inputs, outputs, {})
        self.captured = ()
        self._function = function

    def run(self, inputs: Mapping[str, Flow], run: Run, outer: Mapping[str, Flow] | None = None) -> list[Flow]:
        """What the function gives."""
        return [_flow(each) for each in self._function(*inputs.values())]


def _flow(given: Any) -> Flow:
    if isinstance(given, Param):
        given = given.val()
    if isinstance(given, Tensor):
        return Value(given)
    return [_flow(each) for each in given] if isinstance(given, list) else given


def _device_of(flows: Iterable[Flow]) -> Device[Any]:
    """That of the first tensor which is not on the host; the host if all are there."""
    for flow in flows:
        found = _device_of(flow) if isinstance(flow, list) else flow.tensor.device if flow is not None else HOST
        if found is not HOST:
            return found
    return HOST
