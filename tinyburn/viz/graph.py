"""Picture 1, the graph: everything that a tensor was computed from.

Read it from top to bottom, as the program ran. Each box says what was computed, by which operation, and how many
bytes the result has. A blue band and a P mark a tracked leaf: `backward` finds a gradient for it. A dashed box is a
constant, and dashed arrows leave it: no gradient comes back on them, which is why labels are not differentiated.
The box with the strong frame is the tensor that was asked for, most often the loss.

With gradients, each box has the numbers too: its value, and its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tinyburn.autodiff import Gradients
from tinyburn.base.text import amount, table, thousands

from .cards import LONGEST, Card, Key, arrow, card_key, curve, fit, leaf_keys, line_key, sheet
from .fold import LIMIT, Box, Drawn, box_label, box_words, checked_boxes, fold, small_enough, with_notes
from .formula import count
from .layout import Point, arrange
from .model import LEAF_LETTERS, Graph, Item, Name, Results, read_graph
from .numbers import Numbers, read_numbers
from .picture import Picture
from .svg import Tip, tip_texts


def graph(results: Results, grads: Gradients[Any] | None = None, /, *, boxes: int = LIMIT, **names: Name) -> Picture:
    """The graph of operations behind a result on an Autodiff backend, or several of them, also after ``backward()``.

    Args:
        results: what was computed, for example a loss; or a list of results that share a part of their graphs.
        grads: what ``backward`` returned, to show the value and the gradient of everything: a few numbers as they are,
            and of more their root mean square. A value is known if it is named or computed from what is. The gradient
            of a result is known if ``backward`` kept it, by ``retain_grads=[...]``; its size, by ``record_flow=True``.
        boxes: how many boxes of operations to draw at most. Where there are more operations, those of a module share
            a box; then repeats do, and in the end neighbours.
        names: a tensor or a parameter under the label that it shall have; a module gives each of its parameters
            the label ``keyword.path``.

    Raises:
        BackendMismatch: a result, or a named tensor, is not on an Autodiff backend; or there are gradients without
            values, on a backend that keeps shapes only.
        ConfigError: ``grads`` is no Gradients; a name for something that is no Tensor, Param or Module; a model or a
            parameter as the result; fewer than `FEWEST` boxes.
        GraphError: a result depends on nothing that is tracked, or ``grads`` comes from another one.
    """
    model = read_graph("graph", results, names)
    numbers = [] if grads is None else read_numbers("graph", model, results, grads, names)
    draw = lambda limit: _picture(model, fold(model, limit), numbers)  # noqa: E731
    return small_enough(draw, checked_boxes("graph", boxes))


def _picture(model: Graph, drawn: Drawn, numbers: Sequence[Numbers]) -> Picture:
    title = _title(model)
    notes = [note for note in (drawn.note, absent_note(model)) if note]
    rows = _rows(model, drawn, numbers)
    words = table(_header(numbers), rows)
    return Picture(title, with_notes(words, notes), _svg(title, model, drawn, numbers, rows, notes))


def _header(numbers: Sequence[Numbers]) -> tuple[str, ...]:
    facts = ("value", "gradient") if numbers else ("dtype", "bytes", "gradient")
    return ("name", "operation", "formula", "shape", *facts, "module")


def absent_note(model: Graph) -> str:
    """What the caller named, and the tensor does not depend on in a way that the graph records."""
    return f"not in this graph: {', '.join(model.absent)}" if model.absent else ""


def _title(model: Graph) -> str:
    tracked = [model.items[leaf] for leaf in model.leaves if model.items[leaf].gets_gradient]
    operations = count(len(model.operations), "operation")
    if len(model.leaves) == 1:
        return f"{operations}; {tracked[0].label} is the only leaf, and gets a gradient"
    verb = "gets" if len(tracked) == 1 else "get"
    return f"{operations}; {thousands(len(tracked))} of {thousands(len(model.leaves))} leaves {verb} a gradient"


def _rows(model: Graph, drawn: Drawn, numbers: Sequence[Numbers]) -> list[tuple[str, ...]]:
    """What the table says of each box."""
    rows: list[tuple[str, ...]] = []
    for box in drawn.boxes:
        last = model.items[box.items[-1]]
        facts = (last.dtype, thousands(last.size), "yes" if gets_gradient(model, box) else "no")
        rows.append((*box_words(model, box), *(numbers[box.items[-1]] if numbers else facts), last.path))
    return rows


def _svg(
    title: str,
    model: Graph,
    drawn: Drawn,
    numbers: Sequence[Numbers],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> str:
    cards = [card_of(model, box) for box in drawn.boxes]
    if numbers:
        last = [box.items[-1] for box in drawn.boxes]
        cards = [_with_numbers(card, numbers[at], model.items[at]) for card, at in zip(cards, last, strict=True)]
    layout = arrange([card.size for card in cards], drawn.edges, drawn.spine)
    body = [
        arrow(curve(points), is_dashed=not gets_gradient(model, drawn.boxes[start]))
        for (start, _), points in zip(drawn.edges, layout.routes, strict=True)
    ]
    for card, (x, y) in zip(cards, layout.corners, strict=True):
        body += card.draw(x, y)
    tips = tips_over(cards, layout.corners, _header(numbers), rows)
    return sheet(title, (layout.width, layout.height), body, _keys(model, drawn), notes, tips=tips)


def _with_numbers(card: Card, numbers: Numbers, item: Item) -> Card:
    """The card with its numbers. For one operation or leaf, they stand in place of its dtype and its bytes."""
    found = [("value", numbers.value)] if numbers.value else []
    if item.gets_gradient:
        found.append(("gradient", numbers.gradient))
    shape = str(item.shape)
    first = card.under[0] if card.stacked else f"{item.op} {shape}" if item.is_operation else shape
    return replace(card, under=(first, *card.under[1:]), numbers=tuple(found))


def tips_over(
    cards: Sequence[Card], corners: Sequence[Point], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[Tip]:
    """For each card its row of the table."""
    texts = tip_texts(header, rows)
    return [Tip(*corner, *card.size, words) for card, corner, words in zip(cards, corners, texts, strict=True)]


def gets_gradient(model: Graph, box: Box) -> bool:
    """Whether a gradient comes back to this box."""
    return any(model.items[number].gets_gradient for number in box.items)


def card_of(model: Graph, box: Box) -> Card:
    """How one box of the graph looks; all pictures of a graph show it so."""
    last = model.items[box.items[-1]]
    is_root, strong = last.node in model.roots, "box rule thick"
    if box.kind != "item":
        style = strong if is_root else "box frame"
        return Card(*fit(box_label(model, box)), _inside(model, box), style=style, stacked=True)
    if last.is_operation:
        style = strong if is_root else "box"
        return Card(*fit(last.label, _formula(model, last)), (f"{last.op} {last.summary}",), style=style)
    head, _ = fit(last.label)
    if last.gets_gradient:
        letter = LEAF_LETTERS[last.kind]
        users = model.users[box.items[0]]
        shared = (f"shared by {users} operations",) if users > 1 else ()
        return Card(head, "", (last.summary, *shared), letter, f"box s{letter} {'thick' if is_root else 'frame'}")
    return Card(head, "no gradient", (last.summary,), "", "ghost frame")


def _formula(model: Graph, item: Item) -> str:
    """What an operation computes. Where it is too long for a card, parts of modules go by their last names alone."""
    words = f"= {item.formula}"
    if len(f"{item.label} {words}") > LONGEST:
        for label in sorted((model.items[parent].label for parent in item.parents), key=len, reverse=True):
            words = words.replace(label, label.rpartition(".")[2])
    return words


def _inside(model: Graph, box: Box) -> tuple[str, str]:
    """What a box of several operations holds, and what comes out of it."""
    tracked = [model.items[leaf].size for leaf in box.leaves if model.items[leaf].gets_gradient]
    leaves = f", P {count(len(tracked), 'leaf')} {amount(sum(tracked))}" if tracked else ""
    return count(len(box.items), "operation") + leaves, f"out {model.items[box.items[-1]].summary}"


def _keys(model: Graph, drawn: Drawn) -> list[Key]:
    """Only what is on the picture."""
    kinds = {model.items[box.items[0]].kind if box.kind == "item" else "group" for box in drawn.boxes}
    keys = leaf_keys({letter for kind, letter in LEAF_LETTERS.items() if kind in kinds})
    if "constant" in kinds:
        keys.append(card_key("constant: gets none", "ghost frame"))
        keys.append(line_key("no gradient comes back", "line arrow off"))
    if "group" in kinds:
        keys.append(card_key("several operations", "box frame"))
    return [*keys, card_key("what was asked for", "box rule thick")]
