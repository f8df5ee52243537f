"""Operators that run graphs, and those that handle sequences and optionals. None of them computes anything itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Graph, Run
from tinyburn.onnx.table import ALL, operator
from tinyburn.onnx.values import Flow, Value, host, joined, reshaped
from tinyburn.tensor import Tensor


def _run(graph: Graph, values: Sequence[Flow], run: Run, outer: dict[str, Flow]) -> list[Flow]:
    if len(values) != len(graph.inputs):
        raise OnnxError("a graph in an attribute", f"it gets {len(values)} inputs, and takes {len(graph.inputs)}")
    return graph.run(dict(zip(graph.inputs, values, strict=True)), run, outer)


def stacked(values: Sequence[Any], axis: int, run: Run) -> Value:
    """Tensors of one shape along a new dim."""
    found: Any = joined(values, run.device)
    rank = found[0].rank
    at = axis % (rank + 1)
    parts = [reshaped(each, (*each.shape[:at], 1, *each.shape[at:])).tensor for each in found]
    return Value(Tensor.cat(parts, at))


# Graphs


@operator("If", 1, 11, 13, 16, 19, 21, 23, 24, 25, numbers=ALL)
def if_(condition: Value, *, then_branch: Graph, else_branch: Graph, run: Run) -> tuple[Flow, ...]:
    """One of two graphs; both may read what is around them."""
    chosen = then_branch if condition.number("the condition of If") else else_branch
    return tuple(_run(chosen, [], run, run.outer))


@operator("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25, numbers=ALL)
def loop(most: Value | None, condition: Value | None, *states: Flow, body: Graph, run: Run) -> tuple[Flow, ...]:
    """A graph again and again: so many times, or until its first output is false. What it gives beyond its states is
    collected along a new first dim."""
    count = int(most.number("the number of iterations of Loop")) if most is not None else None
    goes_on = condition is None or bool(condition.number("the condition of Loop"))
    outer, values, at = run.outer, list(states), 0
    collected: list[list[Flow]] = [[] for _ in body.outputs[1 + len(states) :]]
    while goes_on and (count is None or at < count):
        if at >= run.limits.iterations:
            reason = f"it has run {at} times, and the limit is {run.limits.iterations}"
            raise OnnxError("Loop", reason, hint="onnx.load(..., limits=onnx.Limits(iterations=N)) allows more")
        again, *results = _run(body, [host(np.int64(at)), host(np.bool_(goes_on)), *values], run, outer)
        values, found = results[: len(values)], results[len(values) :]
        for each, result in zip(collected, found, strict=True):
            each.append(result)
        goes_on, at = again is None or bool(_tensor(again).number("the condition of Loop")), at + 1
    return (*values, *[_collected(each, run) for each in collected])


def _tensor(flow: Flow) -> Value:
    if not isinstance(flow, Value):
        raise OnnxError("a tensor", "there is a sequence, or nothing, in its place")
    return flow


def _collected(values: list[Flow], run: Run) -> Value:
    return stacked(values, 0, run) if values else host(np.zeros(0, np.float32))


@operator("Scan", 9, 11, 16, 19, 21, 23, 24, 25, numbers=ALL)
def scan(
    *inputs: Value,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: tuple[int, ...] = (),
    scan_input_directions: tuple[int, ...] = (),
    scan_output_axes: tuple[int, ...] = (),
    scan_output_directions: tuple[int, ...] = (),
    run: Run,
) -> tuple[Flow, ...]:
    """A graph once for each slice of its last inputs along a dim, with states that it hands on."""
    outer = run.outer
    split = len(inputs) - num_scan_inputs
    states: list[Flow] = list(inputs[:split])
    axes = scan_input_axes or (0,) * num_scan_inputs
    slices = [_slices(each, axis) for each, axis in zip(inputs[split:], axes, strict=True)]
    for each, is_back in zip(slices, scan_input_directions, strict=False):
        each.reverse() if is_back else None
    if len({len(each) for each in slices}) > 1:
        raise OnnxError("Scan", f"its inputs have {', '.join(str(len(each)) for each in slices)} slices")
    collected: list[list[Flow]] = [[] for _ in body.outputs[split:]]
    for parts in zip(*slices, strict=True):
        results = _run(body, [*states, *parts], run, outer)
        states = results[:split]
        for found, result in zip(collected, results[split:], strict=True):
            found.append(result)
    for found, is_back in zip(collected, scan_output_directions, strict=False):
        found.reverse() if is_back else None
    out_axes = scan_output_axes or (0,) * len(collected)
    return (*states, *[stacked(each, axis, run) for each, axis in zip(collected, out_axes, strict=True)])


def _slices(x: Value, axis: int) -> list[Value]:
    """Its slices along a dim, without that dim."""
    at = axis % x.rank
    shape = (*x.shape[:at], *x.shape[at + 1 :])
    return [reshaped(Value(part), shape) for part in x.tensor.iter_dim(at)]


@operator("SequenceMap", 17, numbers=ALL)
def sequence_map(first: list[Flow], *others: Flow, body: Graph, run: Run) -> tuple[list[Flow], ...]:
    """A graph once for each element of a sequence; tensors among the other inputs are the same each time."""
    outer = run.outer
    results = [
        _run(body, [each, *[other[at] if isinstance(other, list) else other for other in others]], run, outer)
        for at, each in enumerate(first)
    ]
    return tuple([found[at] for found in results] for at in range(len(body.outputs)))


# Sequences


@operator("SequenceEmpty", 11)
def sequence_empty(*, dtype: int = 1) -> list[Flow]:
    """A sequence of nothing."""
    return []


@operator("SequenceConstruct", 11, numbers=ALL)
def sequence_construct(*values: Flow) -> list[Flow]:
    """A sequence of its inputs."""
    return list(values)


@operator("SequenceAt", 11, numbers=ALL)
def sequence_at(sequence: list[Flow], position: Value) -> Flow:
    """One element; a negative position counts from the end."""
    return sequence[int(position.number("the position of SequenceAt"))]


@operator("SequenceInsert", 11, numbers=ALL)
def sequence_insert(sequence: list[Flow], value: Flow, position: Value | None = None) -> list[Flow]:
    """A longer sequence, by default with the new element at its end."""
    at = len(sequence) if position is None else int(position.number("the position of SequenceInsert"))
    return [*sequence[:at], value, *sequence[at:]]


@operator("SequenceErase", 11, numbers=ALL)
def sequence_erase(sequence: list[Flow], position: Value | None = None) -> list[Flow]:
    """A shorter sequence, by default without its last element."""
    at = -1 if position is None else int(position.number("the position of SequenceErase"))
    at %= len(sequence)
    return [*sequence[:at], *sequence[at + 1 :]]


@operator("SequenceLength", 11, numbers=ALL)
def sequence_length(sequence: list[Flow]) -> Value:
    """The number of elements."""
    return host(np.int64(len(sequence)))


@operator("ConcatFromSequence", 11, numbers=ALL)
def concat_from_sequence(sequence: list[Value], *, axis: int, new_axis: int = 0, run: Run) -> Value:
    """Its tensors one after another along a dim, or along a new one."""
    if new_axis:
        return stacked(sequence, axis, run)
    found: Any = joined(sequence, run.device)
    return Value(Tensor.cat([each.tensor for each in found], axis % found[0].rank))


@operator("SplitToSequence", 11, 24, numbers=[1])
def split_to_sequence(x: Value, split: Value | None = None, *, axis: int = 0, keepdims: int = 1) -> list[Flow]:
    """Parts of a tensor: slices, parts of one length, or parts of the lengths in a list."""
    at = axis % x.rank
    if split is None:
        slices = _slices(x, at)
        return (
            [reshaped(each, (*each.shape[:at], 1, *each.shape[at:])) for each in slices] if keepdims else list(slices)
        )
    sizes = split.ints("the lengths of SplitToSequence")
    if not split.shape:
        length, step = x.shape[at], sizes[0]
        sizes = [min(step, length - start) for start in range(0, length, step)]
    return [Value(part) for part in x.tensor.split_with_sizes(sizes, at)]


# Optionals


@operator("Optional", 15, numbers=ALL)
def optional(value: Flow = None, *, type: Any = None) -> Flow:
    """Something that may be nothing."""
    return value


@operator("OptionalHasElement", 15, 18, numbers=ALL)
def optional_has_element(value: Flow = None) -> Value:
    """Whether there is something."""
    return host(np.bool_(value is not None))


@operator("OptionalGetElement", 15, 18, numbers=ALL)
def optional_get_element(value: Flow) -> Flow:
    """What there is."""
    if value is None:
        raise OnnxError("OptionalGetElement", "there is nothing in it")
    return value
