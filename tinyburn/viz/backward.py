"""Picture 2, the backward graph: the forward pass down the left, the backward pass up the right, and between them
the buffers that the second needs from the first.

Each row is one step of the program. On the left what it computed; on the right the gradient ``g`` of its result, and
what each operand gets from it. In the middle what the operation had to keep for that, and why: the name stands in
the line on the right. A row with an empty middle keeps nothing. After ``backward()`` the middle is dashed, because
each buffer was let go right after its last use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from tinyburn.base.text import amount, table
from tinyburn.tensor import Tensor

from .boxes import box_label, with_notes
from .draw import Card, fit
from .fold import Box, Drawn, fold, small_enough
from .formula import count, shape_text
from .graph import absent_note, card_of
from .ladder import Step, ladder
from .model import Graph, Name, read_graph
from .palette import MARKS
from .picture import Picture
from .saved import Saved, category_letter, gradients_of, saved_by_operation

_ROWS = 40
_LINE = 43  # characters in a line of a card
_LISTED = 4  # how many lines a box of several operations gives to each side


def backward_graph(tensor: Tensor[Any, Any, Any], /, **names: Name) -> Picture:
    """The forward and the backward graph of a tensor on an Autodiff backend, and what is saved between them.

    Args and errors are those of `graph`.
    """
    model = read_graph("backward_graph", tensor, names)
    saved = saved_by_operation(model)
    return small_enough(lambda limit: _picture(_View(model, fold(model, limit), saved)), _ROWS)


def _picture(view: _View) -> Picture:
    notes = [note for note in (_kinds_note(view), view.drawn.note, absent_note(view.model)) if note]
    title = _title(view)
    steps = [_step(view, box) for box in view.drawn.boxes]
    svg = ladder(title, steps, view.drawn.edges, notes)
    return Picture(title, with_notes(_text(view), notes), svg)


@dataclass(frozen=True)
class _View:
    model: Graph
    drawn: Drawn
    saved: dict[int, list[Saved]]

    def of_box(self, box: Box) -> list[Saved]:
        return [saved for number in box.items for saved in self.saved.get(number, [])]

    @property
    def unique(self) -> list[Saved]:
        """One for each buffer: two operations that keep the same memory keep one buffer."""
        return [saved for each in self.saved.values() for saved in each if not saved.again]

    def bytes_of(self, saved: Sequence[Saved]) -> int:
        return sum(self.model.items[each.storage].size for each in saved if not each.again)


def _title(view: _View) -> str:
    unique = view.unique
    buffers = f"{count(len(unique), 'saved buffer')}, {amount(view.bytes_of(unique))}"
    used_up = [number for number in view.model.operations if view.model.items[number].node.edges is None]
    if used_up and len(used_up) == len(view.model.operations):
        return (
            f"backward() has used its {buffers}, and let go of them"
            if unique
            else "backward() has run; nothing was saved"
        )
    if used_up:
        return f"An earlier backward() has used up {len(used_up)} of {count(len(view.model.operations), 'operation')}"
    if not unique:
        return "Backward needs no saved buffer: no slope depends on a value"
    return f"Backward needs {buffers}{_keepers_of_nothing(view)}"


def _keepers_of_nothing(view: _View) -> str:
    """The operations that keep nothing, if they are few enough for a title."""
    keeps = {view.model.items[number].op for number, saved in view.saved.items() if saved}
    ops = dict.fromkeys(view.model.items[number].op for number in view.model.operations)
    free = [op for op in ops if op not in keeps]
    if not free or len(free) > 4:
        return ""
    verb = "keeps" if len(free) == 1 else "keep"
    return f"; {' and '.join([', '.join(free[:-1]), free[-1]] if len(free) > 1 else free)} {verb} nothing"


def _kinds_note(view: _View) -> str:
    """Which of the buffers live longer because of the backward pass."""
    own = [saved for saved in view.unique if view.model.items[saved.storage].is_operation]
    if not view.unique or all(saved.freed for saved in view.unique):
        return ""
    rest = view.bytes_of(view.unique) - view.bytes_of(own)
    held = f"; {amount(rest)} are inputs and parameters, which the program holds anyway" if rest else ""
    return f"{amount(view.bytes_of(own))} are results that stay alive for the backward pass (activations){held}"


# The three columns


def _step(view: _View, box: Box) -> Step:
    last = view.model.items[box.items[-1]]
    forward = card_of(view.model, box)
    if box.kind != "item":
        return Step(forward, _group_saved(view, box), _group_backward(view, box))
    saved = tuple(_saved_card(view.model, each) for each in view.of_box(box))
    if last.is_operation:
        return Step(forward, saved, _backward_card(view.model, box.items[0]))
    if last.gets_gradient:
        size = f"{shape_text(last.shape)} {last.dtype} {amount(last.size)}"
        return Step(forward, (), Card(*fit("gradient of", last.label), (size,), "G", "box sG frame"))
    return Step(forward, (), None)


def _saved_card(model: Graph, saved: Saved) -> Card:
    item, storage = model.items[saved.item], model.items[saved.storage]
    head, rest = fit(item.label, f"{shape_text(item.shape)} {amount(item.size)}")
    remarks = [f"a view of {storage.label}"] if saved.storage != saved.item else []
    if saved.freed:
        remarks.append("gone: backward() has used it")
    elif saved.again:
        remarks.append("kept already: counts once")
    is_ghost = saved.again or saved.freed
    under = tuple([part for line in (saved.reason, *remarks) for part in _wrapped(line)])
    return Card(
        head, rest, under, "" if is_ghost else category_letter(storage), "ghost frame" if is_ghost else "box frame"
    )


def _backward_card(model: Graph, number: int) -> Card:
    item = model.items[number]
    lines = [f"{model.items[operand].label} gets {line}" for operand, line in gradients_of(model, number)]
    start = ", starts as ones" if item is model.root else ""
    rest = fit("g", f"= gradient of {item.label}{start}")[1]
    return Card("g", rest, tuple([part for line in lines for part in _wrapped(line)]))


def _wrapped(line: str) -> list[str]:
    """At most two lines of a card; the text form of the picture has the rest."""
    parts = wrap(line, _LINE, subsequent_indent="  ") or [""]
    return parts[:2] if len(parts) < 3 else [parts[0], fit(f"{parts[1]} …", "", _LINE)[0]]


def _group_saved(view: _View, box: Box) -> tuple[Card, ...]:
    saved = [each for each in view.of_box(box) if not each.again]
    if not saved:
        return ()
    lines = [_listed(view.model, each) for each in saved[:_LISTED]]
    if len(saved) > _LISTED:
        lines[-1] = f"and {len(saved) - _LISTED + 1} more"
    freed = all(each.freed for each in saved)
    letters = {category_letter(view.model.items[each.storage]) for each in saved}
    letter = letters.pop() if len(letters) == 1 and not freed else ""
    style = "ghost frame" if freed else "box frame"
    under = (*lines, *(["gone: backward() has used them"] if freed else []))
    head = count(len(saved), "buffer")
    return (Card(head, amount(view.bytes_of(saved)), under, letter, style, stacked=len(saved) > 1),)


def _listed(model: Graph, saved: Saved) -> str:
    """One line of a box of several buffers: category, name, bytes."""
    storage = model.items[saved.storage]
    return f"{category_letter(storage)} {fit(model.items[saved.item].label, '', 24)[0]} {amount(storage.size)}"


def _group_backward(view: _View, box: Box) -> Card:
    labels = [view.model.items[leaf].label for leaf in box.leaves if view.model.items[leaf].gets_gradient]
    gets = [f"{label} gets its gradient" for label in labels[:_LISTED]]
    if len(labels) > _LISTED:
        gets[-1] = f"and {len(labels) - _LISTED + 1} more leaves"
    under = (f"{count(len(box.items), 'operation')}, last to first", *[fit(line, "")[0] for line in gets])
    return Card("g", "= gradient of the output", under, stacked=True)


# The table


def _text(view: _View) -> str:
    header = ("operation", "keeps", "shape", "bytes", "memory", "why", "gradient")
    rows = [
        row for box in view.drawn.boxes if box.kind != "item" or box.items[0] in view.saved for row in _rows(view, box)
    ]
    return table(header, rows)


def _rows(view: _View, box: Box) -> list[tuple[str, ...]]:
    model = view.model
    if box.kind != "item":
        saved = view.of_box(box)
        kept = count(len([each for each in saved if not each.again]), "buffer")
        return [
            (box_label(model, box), kept, "", _size(view.bytes_of(saved)), "", count(len(box.items), "operation"), "")
        ]
    item = model.items[box.items[0]]
    name = f"{item.label} = {item.formula}"
    gradients = [f"{model.items[operand].label} gets {line}" for operand, line in gradients_of(model, box.items[0])]
    pairs = zip_longest(view.of_box(box), gradients)
    return [
        (name if place == 0 else "", *_saved_cells(model, each), gradient or "")
        for place, (each, gradient) in enumerate(pairs)
    ]


def _saved_cells(model: Graph, saved: Saved | None) -> tuple[str, ...]:
    if saved is None:
        return ("", "", "", "", "")
    item, storage = model.items[saved.item], model.items[saved.storage]
    words = [next(mark.name for mark in MARKS.values() if mark.letter == category_letter(storage))]
    words += [f"a view of {storage.label}"] if saved.storage != saved.item else []
    words += ["counted above"] if saved.again else []
    words += ["gone"] if saved.freed else []
    return (item.label, shape_text(item.shape), _size(item.size), ", ".join(words), saved.reason)


def _size(size: int) -> str:
    return amount(size).removesuffix(" B")
