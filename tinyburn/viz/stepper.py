"""Picture 3, the stepper: a computation step by step, forward, then back, with what is alive in each step.

Every operation is a step, and so is every rule of the backward pass, every addition of two gradients, and every free.
Each says what happens and why now, with its numbers, and marks its box on the graph and what is alive there.

What is shown was written down while the program ran: a traced device has a log of every operation and every buffer. So
the picture takes a tensor that was computed, as the other pictures of a graph do, and nothing runs again but the
arithmetic that shows numbers. Whatever the program really did is there: names that held on to a buffer, a segment's
second run, operations beside the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyburn.base.errors import BackendMismatch, GraphError
from tinyburn.base.text import amount, table, thousands
from tinyburn.memory.measure import find_log
from tinyburn.tensor import Tensor

from .cards import sheet
from .film import Film
from .fold import checked_boxes, fold, small_enough, with_notes
from .formula import count, listed
from .graph import absent_note
from .memory_strip import ORDER
from .model import Graph, Name, read_graph
from .numbers import known_values
from .picture import Picture
from .stage import Stage, build
from .step_frame import BANDS, STYLE, Frames, keys_of
from .step_numbers import Numbers, numbers_of
from .step_panel import numbers_line
from .step_strip import MOST, chosen, draw_strip
from .step_words import action, phase_of, reason
from .svg import MARKS

BOXES = 24
"""Boxes of operations in a frame."""
FEW_BOXES = 8
"""Boxes of operations in each small graph of the strip."""
MOST_ROWS = 400
"""Of the table; a longer one is cut, and says so."""


@dataclass(frozen=True, repr=False)
class Stepper(Picture):
    """The steps that matter most, side by side; `frames` has each step as a picture of its own."""

    frames: Frames = field(compare=False)


def stepper(tensor: Tensor[Any, Any, Any], /, *, boxes: int = BOXES, **names: Name) -> Stepper:
    """The steps of a computation on a traced device, from its first operation to the end of its backward pass.

    Call it after ``tensor.backward()``, or before, for the forward pass alone. The device comes from
    ``RunConfig(trace=True).init()`` or from ``Autodiff[Traced[B]].device()``. If `backward` has run several times, the
    first time is shown. Numbers are computed again from what is named, so name the leaves.

    Args:
        tensor: the result, for example a loss.
        boxes: as of `graph`, for the frames.
        names: as of `graph`.

    Returns:
        A picture of up to 12 steps, with a table of all of them, and its ``frames``.
        ``tinyburn.widgets.stepper`` steps through these.

    Raises:
        BackendMismatch: the tensor is on a backend without a graph or without a log.
        ConfigError: as `graph`.
        GraphError: nothing that the tensor depends on is tracked, or the log does not have its forward pass.
    """
    model = read_graph("stepper", [tensor], names)
    limit = checked_boxes("stepper", boxes)
    film = _film(model, tensor)
    values = known_values(model, tensor, names) if tensor.backend.has_values else {}
    numbers = numbers_of(model, film.steps, values)
    frames = Frames(film, numbers, build(model, fold(model, limit), is_small=False))
    few = build(model, fold(model, min(limit, FEW_BOXES)), is_small=True)
    picture = small_enough(lambda most: _picture(film, numbers, few, chosen(film, most)), MOST)
    return Stepper(picture.title, picture.text, picture.svg, frames)


def _film(model: Graph, tensor: Tensor[Any, Any, Any]) -> Film:
    backend: Any = tensor.backend
    if not backend.observed:
        reason = f"{backend.__name__} writes no log of what it does"
        hint = "compute it on a traced device: RunConfig(trace=True).init(), or Autodiff[Traced[NdArray]].device()"
        raise BackendMismatch("viz.stepper", reason, hint=hint)
    if not model.operations:
        hint = "give a result that was computed from it"
        raise GraphError("viz.stepper", f"{model.root.label} is a leaf: nothing was computed yet", hint=hint)
    film = Film(model, find_log(tensor.device))
    if not film.steps:
        reason = "the log does not have all of its forward pass: log.clear() has come since, or in between"
        raise GraphError("viz.stepper", reason, hint="clear the log before the forward pass, and not after it")
    return film


# The strip


def _picture(film: Film, numbers: Sequence[Numbers], small: Stage, shown: Sequence[int]) -> Picture:
    title = _title(film)
    notes = [_left_out(film, shown), small.drawn.note, _others(film), _unknown(film, numbers), absent_note(film.graph)]
    notes = [note for note in notes if note]
    size, drawing, definitions = draw_strip(film, numbers, small, shown)
    svg = sheet(title, size, drawing, keys_of(film), [BANDS, *notes], STYLE, definitions)
    return Picture(title, with_notes(_table(film, numbers), notes), svg)


def _title(film: Film) -> str:
    kinds = [step.kind for step in film.steps]
    forward = f"{count(kinds.count('forward'), 'operation')} forward"
    back = f"{count(kinds.count('rule'), 'rule')} on the way back" if "seed" in kinds else "backward() has not run"
    peak = film.peak
    most = f"most bytes, {amount(film.total(peak))}, in step {peak + 1}: {action(film, peak)}"
    return f"{count(len(kinds), 'step')}: {forward}, {back}; {most}"


def _left_out(film: Film, shown: Sequence[int]) -> str:
    if len(shown) == len(film.steps):
        return ""
    numbers = ", ".join(str(at + 1) for at in shown)
    return f"{len(shown)} of {thousands(len(film.steps))} steps are drawn: {numbers}. The table has the others."


def _others(film: Film) -> str:
    return f"Not counted: {amount(film.left_out)} of other computations on this device." if film.left_out else ""


def _unknown(film: Film, numbers: Sequence[Numbers]) -> str:
    """Whose numbers would be known if they had a name."""
    if not any(each.result and each.result.words for each in numbers):
        return ""
    shown = [each for found in numbers for each in found.read]
    leaves = {film.graph.items[leaf].label for leaf in film.graph.leaves}
    missing = dict.fromkeys(each.label for each in shown if not each.words and each.label in leaves)
    return f"Without a name, so that the numbers are not known: {listed(list(missing))}." if missing else ""


def _table(film: Film, numbers: Sequence[Numbers]) -> str:
    present = [each for each in ORDER if any(totals[each] for totals in film.totals)]
    header = ("step", "phase", "what happens", "numbers", *(MARKS[each].letter for each in present), "bytes", "why now")
    rows = []
    for at, step in enumerate(film.steps[:MOST_ROWS]):
        sizes = [thousands(film.totals[at][each]) for each in present]
        words = action(film, at), numbers_line(numbers[at])
        rows.append((str(at + 1), phase_of(film, step), *words, *sizes, thousands(film.total(at)), reason(film, at)))
    more = len(film.steps) - len(rows)
    return table(header, rows) + (f"\n… and {thousands(more)} more steps" if more > 0 else "")
