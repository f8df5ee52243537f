"""A model that was read from a file as a program: what its nodes compute, in lines that can be read and changed.

Each node is a call of an operator by its name, with its attributes; the functions behind them are those of the table,
in ``tinyburn.onnx.operators``. Small constants are written out; parameters stay under their names.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from tinyburn.base.errors import OnnxError

from .graph import Graph, Step
from .values import Value

LARGEST = 64
"""Elements of a constant that is written out; a larger one is among the parts of the model."""

_HEAD = '''"""{words}"""

from tinyburn import Module, onnx

op = onnx.Operators({opset})


class Model(Module):
    """``parts`` are the parameters and tensors by their names: those of the module that was read."""

    def __init__(self, parts):
        self.parts = parts

    def forward(self, {inputs}):
'''


class _Writer:
    """Gives each value of a file a name in Python, and each node a line."""

    def __init__(self) -> None:
        self._taken = {"op", "onnx", "self", "Module", "Model"}
        self._names: dict[str, str] = {}

    def name(self, name: str) -> str:
        """A word that Python allows, and that stands for nothing else."""
        if name not in self._names:
            word = re.sub(r"\W+", "_", name).strip("_") or "x"
            word = f"x_{word}" if word[0].isdigit() or keyword.iskeyword(word) else word
            found = next(
                each for each in (word, *[f"{word}_{at}" for at in range(2, 10**6)]) if each not in self._taken
            )
            self._taken.add(found)
            self._names[name] = found
        return self._names[name]

    def parts(self, graph: Graph) -> Iterator[str]:
        """A line for each part of the model."""
        for name in graph.parts:
            part = f"self.parts[{name!r}]"
            yield f"{self.name(name)} = {f'op.scalar({part})' if name in graph.scalars else part}"

    def lines(self, graph: Graph) -> Iterator[str]:
        """A line for each constant and each node."""
        for name, value in graph.constants.items():
            yield f"{self.name(name)} = {f'self.parts[{name!r}]' if is_large(value) else _constant(value)}"
        for step in graph.steps:
            yield from self._step(step)

    def _step(self, step: Step) -> Iterator[str]:
        words = [self.name(name) if name else "None" for name in step.inputs]
        for key, value in step.attributes.items():
            if isinstance(value, Graph):
                yield from self._function(f"{step.path}.{key}", value)
                words.append(f"{key}={self.name(f'{step.path}.{key}')}")
            else:
                words.append(f"{key}={_constant(value) if isinstance(value, Value) else repr(value)}")
        outputs = [self.name(name) if name else "_" for name in step.outputs]
        words += [f"count={len(outputs)}"] if len(outputs) > 1 else []
        yield f"{', '.join(outputs)} = op.{step.row.name}({', '.join(words)})"

    def _function(self, name: str, graph: Graph) -> Iterator[str]:
        """A graph in an attribute; it may use the names around it."""
        word = self.name(name)
        yield f"def {word}({', '.join(self.name(each) for each in graph.inputs)}):"
        for line in self.lines(graph):
            yield indent(line, "    ")
        yield f"    return ({', '.join(self.name(each) for each in graph.outputs)},)"
        yield f"{word}.count = {len(graph.outputs)}"


def written(graph: Graph, scalars: Sequence[str], opset: int) -> str:
    """The program of a graph; ``scalars`` are the inputs of rank 0.

    Raises OnnxError if it calls functions of its file.
    """
    if any(step.row.is_call for step in graph.steps):
        reason = "it calls functions of its file, which have no names in Python"
        raise OnnxError("source", reason, hint="inline them first: onnx.inliner.inline_local_functions(model)")
    writer = _Writer()
    inputs = ", ".join(writer.name(name) for name in graph.inputs)
    body = [f"{writer.name(name)} = op.scalar({writer.name(name)})" for name in scalars]
    body += [*writer.parts(graph), *writer.lines(graph)]
    results = ", ".join(f"onnx.result({writer.name(name)})" for name in graph.outputs)
    words = f"A model of {len(graph.steps)} nodes, from ONNX, operator set {opset}."
    head = _HEAD.format(words=words, opset=opset, inputs=inputs)
    return head + indent("\n".join([*body, f"return {results}"]), "        ") + "\n"


def is_large(value: Value) -> bool:
    """Whether a constant has too many elements to be written out."""
    return value.numbers("a constant").size > LARGEST


def _constant(value: Value) -> str:
    numbers: Any = value.numbers("a constant")
    words = re.sub(r"\b(nan|inf)\b", r"float('\1')", repr(numbers.tolist()))
    return f"op.constant({words}, {value.dtype!r})"
