"""The table of operators: a row for each version of each operator, which is a function of a few lines.

A row's positional parameters are the operator's inputs, and its keyword parameters the attributes, with the defaults
of the standard. An input that is left out is None. A row returns a `Value`, or a tuple of them if the operator has
several outputs. The versions of an operator are those of https://onnx.ai/onnx/operators; where a version changed no
more than the dtypes that are allowed, one function is the row of several.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable
from inspect import Parameter, signature
from typing import Any, TypeVar

from tinyburn.base.errors import OnnxError

F = TypeVar("F", bound=Callable[..., Any])

OLDEST, NEWEST = 7, 28
"""The versions of the standard's operator set that can be read."""


def domain_of(name: str) -> str:
    """A domain by its one name here: that of the standard is empty, and may be written out."""
    return "" if name == "ai.onnx" else name


class Row:
    """An operator, from a version on.

    Attributes:
        version: the operator set in which it became what it is here.
        function: computes it.
        attributes: the names of its attributes, and whether it needs them.
        numbers: the positions of inputs that are read as numbers and stay where they are, such as a shape. All
            positions for an operator that computes nothing itself, such as a loop.
        fixed: the positions of inputs that training does not change.
        context: what it takes of the run beside attributes: ``device``, ``count`` (of its outputs) or ``run``.
        is_call: whether it is a function of the file, whose attributes are in its nodes.
    """

    def __init__(
        self, name: str, version: int, function: Callable[..., Any], numbers: Container[int], fixed: Container[int]
    ) -> None:
        self.name, self.version, self.function = name, version, function
        self.numbers, self.fixed = numbers, fixed
        parameters = signature(function).parameters.values()
        keywords = [each for each in parameters if each.kind is Parameter.KEYWORD_ONLY]
        self.context = tuple(each.name for each in keywords if each.name in CONTEXT)
        self.attributes = {each.name: each.default is Parameter.empty for each in keywords if each.name not in CONTEXT}
        positional = [each for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
        self.least = sum(each.default is Parameter.empty for each in positional)
        self.is_call = False
        self.takes_any = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
        self.most = len(positional)

    def __repr__(self) -> str:
        return f"Row({self.name}-{self.version})"

    def problems(self, inputs: int, attributes: Iterable[str]) -> list[str]:
        """What does not fit between a node and the operator."""
        given = set(attributes)
        unknown = sorted(given - self.attributes.keys())
        missing = sorted(name for name, is_needed in self.attributes.items() if is_needed and name not in given)
        found = [f"it has an attribute {name}, which {self.name}-{self.version} has not" for name in unknown]
        found += [f"it has no attribute {name}, which {self.name}-{self.version} needs" for name in missing]
        if inputs < self.least or (inputs > self.most and not self.takes_any):
            most = "any number" if self.takes_any else self.most
            found.append(f"it has {inputs} inputs, and {self.name}-{self.version} takes {self.least} to {most}")
        return found


CONTEXT = ("device", "count", "run")

OPERATORS: dict[tuple[str, str], list[Row]] = {}
"""The rows of each operator, by its domain and name, from the oldest version to the newest."""

ALL = range(sys.maxsize)
"""For `Row.numbers`."""


def operator(
    name: str, *versions: int, domain: str = "", numbers: Container[int] = (), fixed: Container[int] = ()
) -> Callable[[F], F]:
    """Makes a function the row of an operator's versions. See `Row`."""

    def add(function: F) -> F:
        rows = OPERATORS.setdefault((domain, name), [])
        rows += [Row(name, version, function, numbers, fixed) for version in versions]
        rows.sort(key=lambda row: row.version)
        return function

    return add


def row_of(domain: str, name: str, opset: int) -> Row | None:
    """The row that holds in an operator set; None if there is none."""
    rows = OPERATORS.get((domain, name), [])
    at = bisect_right(rows, opset, key=lambda row: row.version)
    return rows[at - 1] if at else None


def check_opset(domain: str, version: int) -> None:
    """Raises OnnxError for an operator set of the standard that is too old or too new."""
    if domain == "" and not OLDEST <= version <= NEWEST:
        reason = f"it is of operator set {version}, and those from {OLDEST} to {NEWEST} can be read"
        hint = "convert it: onnx.version_converter.convert_version(model, 21)"
        raise OnnxError("the model", reason, hint=hint)
