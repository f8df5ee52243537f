"""Picture 8, the gradient flow: how large the gradient is on its way from the loss back to every leaf.

The boxes stand as in picture 1, and the gradient runs up. The wider a line, the larger the gradient there; each step
of width is a factor, not a difference, because a gradient that shrinks does so by factors. Where it stops being
useful the line changes its form and gets a letter: N no gradient at all, 0 every element zero, ! inf or NaN; C on a
box says that its parts cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log
from typing import Any

from tinyburn.autodiff import Gradients
from tinyburn.autodiff.flow import Flow
from tinyburn.base.errors import ConfigError, GraphError
from tinyburn.base.text import table
from tinyburn.tensor import Tensor

from .boxes import Row, rows_of, with_notes
from .fold import Drawn, fold, small_enough
from .formula import digits
from .graph import absent_note
from .model import Graph, Name, read_graph
from .picture import Picture
from .river import river
from .sizes import CANCELLED, DEAD, FLOWS, NONFINITE, State, box_state, edge_states, item_states

_HOW = "for the way between the loss and the leaves, record it: loss.backward(record_flow=True)"
_SAME = 1.05  # within this factor a gradient has kept its size


def gradient_flow(tensor: Tensor[Any, Any, Any], grads: Gradients[Any], /, **names: Name) -> Picture:
    """The size of every gradient between a tensor and its leaves.

    Args:
        tensor: the one whose ``backward()`` gave ``grads``.
        grads: what ``backward(record_flow=True)`` returned; without that, only the leaves have sizes.
        names: labels, as for `graph`.

    Raises:
        ConfigError: ``grads`` is no Gradients, or a name for something that is no Tensor, Param or Module.
        BackendMismatch: the tensor, or a named one, is not on an Autodiff backend.
        GraphError: the tensor is untracked, or ``grads`` comes from another one.
    """
    if not isinstance(grads, Gradients):
        reason = f"grads is of type {type(grads).__name__}"
        hint = "give what backward() returned: viz.gradient_flow(loss, loss.backward(record_flow=True))"
        raise ConfigError("viz.gradient_flow", reason, hint=hint)
    model = read_graph("gradient_flow", tensor, names)
    _check_same_graph(model, grads)
    states = item_states(model, grads)
    return small_enough(lambda limit: _picture(model, fold(model, limit), states, grads.flow))


def _picture(model: Graph, drawn: Drawn, states: Sequence[State], flow: Flow | None) -> Picture:
    boxes = [box_state(box, states) for box in drawn.boxes]
    edges = edge_states(model, drawn, flow)
    how = _HOW if flow is None else ""
    notes = [note for note in (how, drawn.note, _absent(model)) if note]
    title = _title(model, states, flow is not None)
    return Picture(title, _text(rows_of(model, drawn), boxes, notes), river(title, model, drawn, boxes, edges, notes))


def _check_same_graph(model: Graph, grads: Gradients[Any]) -> None:
    nodes = [model.items[leaf].node for leaf in model.leaves]
    has_any = any(grads.of_node(node) is not None for node in nodes) or not len(grads)
    if not has_any or (grads.flow is not None and model.root.node not in grads.flow.nodes):
        reason = "these gradients come from another tensor's backward()"
        hint = "give the tensor that backward() was called on, and the gradients that it returned"
        raise GraphError("viz.gradient_flow", reason, hint=hint)


def _absent(model: Graph) -> str:
    note = absent_note(model)
    return f"{note}: no gradient (None), which is not zero" if note else ""


# The title: the worst that happens, else where the gradient changes most


def _title(model: Graph, states: Sequence[State], is_recorded: bool) -> str:
    tracked = [leaf for leaf in model.leaves if model.items[leaf].gets_gradient]
    first = next((number for number in reversed(range(len(states))) if states[number].kind == NONFINITE), None)
    if first is not None:
        return f"Gradient stops being finite at {model.items[first].label}: {states[first].text}"
    for kind, words in ((CANCELLED, "Gradient cancels at"), (DEAD, "Only zeros arrive at")):
        labels = [model.items[leaf].label for leaf in tracked if states[leaf].kind == kind]
        if labels:
            return f"{words} {_listed(labels)}{_cause(model, states, kind)}"
    if not is_recorded:
        sizes = [
            f"{model.items[leaf].label} {digits(states[leaf].rms)}" for leaf in tracked if states[leaf].kind == FLOWS
        ]
        return f"Gradient sizes (RMS): {_listed(sizes)}" if sizes else "No gradient is left to show"
    return _change(model, states, tracked)


def _cause(model: Graph, states: Sequence[State], kind: str) -> str:
    """Where zeros start on the way back, or what it is that cancels."""
    if kind == CANCELLED:
        return f": {next(state.remark for state in states if state.kind == CANCELLED)}"
    operations = [number for number in reversed(model.operations) if states[number].kind == DEAD]
    return f": all zeros from {model.items[operations[0]].label} on" if operations else ""


def _change(model: Graph, states: Sequence[State], tracked: Sequence[int]) -> str:
    start = states[-1].rms
    factors = {leaf: states[leaf].rms / start for leaf in tracked if start and states[leaf].rms}
    factors = {leaf: factor for leaf, factor in factors.items() if factor and isfinite(factor)}
    if not factors:
        return f"Gradient of {model.root.label}: RMS {digits(start)}"
    leaf = max(factors, key=lambda number: abs(log(factors[number])))
    ends = f"between {model.root.label} and {model.items[leaf].label}"
    if 1 / _SAME <= factors[leaf] <= _SAME:
        return f"Gradient keeps its size, {digits(start)} (RMS), {ends}"
    verb = "grows" if factors[leaf] > 1 else "shrinks"
    return f"Gradient {verb} from {digits(start)} to {digits(states[leaf].rms)} (RMS) {ends}"


def _listed(words: Sequence[str]) -> str:
    """The first few, and how many more."""
    if len(words) > 4:
        return f"{', '.join(words[:3])} and {len(words) - 3} more"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _text(rows: Sequence[Row], states: Sequence[State], notes: Sequence[str]) -> str:
    header = ("name", "operation", "formula", "shape", "gradient", "RMS", "remark", "module")
    cells = [
        (row.label, row.what, row.formula, row.shape, state.kind, _rms(state), _remark(state), row.path)
        for row, state in zip(rows, states, strict=True)
    ]
    return with_notes(table(header, cells[::-1]), notes)


def _remark(state: State) -> str:
    return "; ".join(part for part in (state.share, state.remark) if part)


def _rms(state: State) -> str:
    return digits(state.rms) if state.kind == FLOWS else "0" if state.kind == DEAD else ""
