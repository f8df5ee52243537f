"""Drawing less: a graph of any size becomes a few boxes that a reader can take in.

Modules become one box each; then repeats of a pattern become one box, ``998 more``; if that is not enough,
neighbours share a box. A box always holds a stretch of the operations in their order, so boxes never depend on each
other in a circle. What a box stands for is said on it: nothing is left out in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tinyburn.base.errors import ConfigError
from tinyburn.base.text import thousands

from .formula import count
from .model import Graph, Item
from .picture import Picture

LIMIT = 48
"""How many boxes of operations a reader can take in. Leaves come on top of that."""
FEWEST = 4
"""How many boxes a graph can be folded into: a first one, a last one, and what is between."""
MOST_BYTES = 100_000
"""How large the HTML of a picture may be: it is stored in the notebook."""
_PERIODS = 12  # the longest pattern whose repeats are found, in boxes
_REPEATS = 4  # how many times a pattern must come before it is folded


@dataclass(frozen=True)
class Box:
    """What is drawn as one box.

    Attributes:
        kind: ``item`` (one leaf, constant or operation), ``module``, ``repeat`` or ``stretch``.
        items: the numbers of its operations, or of its one leaf or constant.
        leaves: the numbers of leaves and constants that are drawn inside it.
        label: what it stands for; empty for an ``item``.
    """

    kind: str
    items: tuple[int, ...]
    leaves: tuple[int, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class Drawn:
    """The boxes in an order in which operands come first, and the edges between them, each pair once.

    Attributes:
        spine: for each box the edge from its latest operand, which a layout draws straight: it is the way that the
            data takes through the program, and the parameters come in from the side.
        box_of: for each item of the graph, the number of its box.
        note: what is not shown; empty if everything is.
    """

    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int], ...]
    spine: frozenset[tuple[int, int]]
    box_of: tuple[int, ...]
    note: str


def checked_boxes(picture: str, boxes: object) -> int:
    """How many boxes the caller wants at most. Raises ConfigError if that is no number, or too small."""
    if isinstance(boxes, int) and boxes >= FEWEST:
        return boxes
    hint = "a tensor or a module needs another name than boxes" if not isinstance(boxes, int) else None
    raise ConfigError(f"viz.{picture}", f"boxes is {boxes!r:.60}, and must be a number from {FEWEST} on", hint=hint)


def small_enough(draw: Callable[[int], Picture], limit: int = LIMIT) -> Picture:
    """Draws with fewer boxes or frames, by half each time, until the picture is small: a tangle has many long lines."""
    picture = draw(limit)
    while len(picture.html) > MOST_BYTES and limit > 8:
        limit //= 2
        picture = draw(limit)
    return picture


def fold(graph: Graph, limit: int = LIMIT) -> Drawn:
    """At most ``limit`` boxes of operations, and the leaves that do not fit inside one of them."""
    boxes = [Box("item", (number,)) for number in graph.operations]
    if len(graph.items) > limit:
        boxes = _shortened(graph, boxes, limit)
    return _drawn(graph, _with_leaves(graph, boxes))


def _shortened(graph: Graph, boxes: list[Box], limit: int) -> list[Box]:
    """Modules at the deepest level first, then at higher ones; neighbours only if no level is high enough."""
    deepest = max(graph.items[number].path.count(".") for number in graph.operations)
    for level in range(deepest + 1, 0, -1):
        boxes = _fold_repeats(graph, _by_module(graph, level))
        if len(boxes) <= limit:
            return boxes
    return _in_stretches(boxes, limit)


def _by_module(graph: Graph, level: int) -> list[Box]:
    """One box for each stretch of operations in one module, whose path is cut after ``level`` names."""
    boxes: list[Box] = []
    runs = groupby(graph.operations, key=lambda number: ".".join(graph.items[number].path.split(".")[:level]))
    for path, run in runs:
        numbers = tuple(run)
        is_module = path and len(numbers) > 1
        boxes += [Box("module", numbers, (), path)] if is_module else [Box("item", (number,)) for number in numbers]
    return boxes


# Repeats


def _fold_repeats(graph: Graph, boxes: list[Box]) -> list[Box]:
    """Shows the first and the last time that a pattern comes, and one box for all between."""
    signatures = [_signature(graph, box) for box in boxes]
    runs = [_run_lengths(signatures, period) for period in range(1, _PERIODS + 1)]
    folded: list[Box] = []
    at = 0
    while at < len(boxes):
        period, times = _best_pattern(runs, at)
        if times < _REPEATS:
            folded.append(boxes[at])
            at += 1
            continue
        last = at + period * (times - 1)
        folded += boxes[at : at + period]
        folded.append(_repeat(graph, boxes[at + period : last], period, times - 2))
        folded += boxes[last : last + period]
        at = last + period
    return folded


def _signature(graph: Graph, box: Box) -> tuple[object, ...]:
    """What two boxes have in common if one repeats the other: the same operations on the same shapes."""
    first, last = graph.items[box.items[0]], graph.items[box.items[-1]]
    ops = tuple(graph.items[number].op for number in box.items)
    names = "".join(letter for letter in first.path if not letter.isdigit())
    return (ops, names, len(first.parents), last.shape, last.dtype)


def _run_lengths(signatures: list[tuple[object, ...]], period: int) -> list[int]:
    """For each box, how many in a row from there equal the one that comes ``period`` later."""
    lengths = [0] * len(signatures)
    for at in range(len(signatures) - period - 1, -1, -1):
        if signatures[at] == signatures[at + period]:
            lengths[at] = lengths[at + 1] + 1
    return lengths


def _best_pattern(runs: list[list[int]], at: int) -> tuple[int, int]:
    """The period whose repeats from here cover the most boxes, the shortest of equals, and how often it comes."""
    found = [(period, lengths[at] // period + 1) for period, lengths in enumerate(runs, start=1)]
    repeats = [(period, times) for period, times in found if times >= _REPEATS]
    return max(repeats, key=lambda each: each[0] * each[1], default=(1, 1))


def _repeat(graph: Graph, boxes: list[Box], period: int, times: int) -> Box:
    names = [box.label or graph.items[box.items[0]].op for box in boxes]
    pairs = zip(names[:period], names[-period:], strict=True)
    ranges = [name if name == end else f"{name} … {end.rsplit('.', 1)[-1]}" for name, end in pairs]
    numbers = tuple(number for box in boxes for number in box.items)
    return Box("repeat", numbers, (), f"{thousands(times)} more: {', '.join(ranges)}")


# Neighbours


def _in_stretches(boxes: list[Box], limit: int) -> list[Box]:
    """Keeps the first and last boxes as they are, since a reader starts there, and puts the others together."""
    ends = limit // 4
    middle = boxes[ends:-ends]
    length = -(-len(middle) // (limit - 2 * ends))
    stretches = [middle[start : start + length] for start in range(0, len(middle), length)]
    joined = [Box("stretch", tuple(number for box in group for number in box.items)) for group in stretches]
    return [*boxes[:ends], *joined, *boxes[-ends:]]


# Leaves


def _with_leaves(graph: Graph, boxes: list[Box]) -> list[Box]:
    """Adds the leaves: inside the box that uses them if that is a folded one, else each before its first use."""
    box_of = {number: index for index, box in enumerate(boxes) for number in box.items}
    users: dict[int, set[int]] = {leaf: set() for leaf in graph.leaves}
    for number in graph.operations:
        for leaf in users.keys() & set(graph.items[number].parents):
            users[leaf].add(box_of[number])
    inside: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    is_crowded = sum(len(found) > 1 for found in users.values()) > LIMIT
    for leaf, found in users.items():
        first = min(found, default=0)
        is_shared = len(found) > 1 and not is_crowded
        is_inside = bool(boxes) and not is_shared and _hides(boxes[first], graph.items[leaf])
        (inside if is_inside else before).setdefault(first, []).append(leaf)
    result: list[Box] = []
    for index, box in enumerate(boxes):
        result += [Box("item", (leaf,)) for leaf in before.get(index, [])]
        result.append(replace(box, leaves=tuple(inside.get(index, []))))
    return result or [Box("item", (leaf,)) for leaf in graph.leaves]


def _hides(box: Box, leaf: Item) -> bool:
    """A module hides its own parameters and shows what comes from outside; a repeat or a stretch hides everything."""
    return leaf.gets_gradient if box.kind == "module" else box.kind != "item"


def _drawn(graph: Graph, boxes: list[Box]) -> Drawn:
    box_of = [0] * len(graph.items)
    for index, box in enumerate(boxes):
        for number in (*box.items, *box.leaves):
            box_of[number] = index
    edges: dict[tuple[int, int], None] = {}
    for number, item in enumerate(graph.items):
        for parent in item.parents:
            if box_of[parent] != box_of[number]:
                edges[box_of[parent], box_of[number]] = None
    return Drawn(tuple(boxes), tuple(edges), _spine(len(boxes), edges), tuple(box_of), _note(graph, boxes))


def _spine(boxes: int, edges: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Into each box the edge from the operand with the most steps behind it; the first of equals."""
    steps = [0] * boxes
    latest: dict[int, tuple[int, int]] = {}
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        if end not in latest or steps[start] > steps[latest[end][0]]:
            latest[end] = (start, end)
        steps[end] = max(steps[end], steps[start] + 1)
    return frozenset(latest.values())


def _note(graph: Graph, boxes: list[Box]) -> str:
    """What is not shown one by one."""
    folded = [box for box in boxes if box.kind != "item"]
    inside = sum(len(box.items) + len(box.leaves) for box in folded)
    if not folded:
        return ""
    hidden = f"{thousands(inside)} of {count(len(graph.items), 'node')}"
    return f"{hidden} are not drawn one by one, but in {len(folded)} of the {count(len(boxes), 'box')}"


# In words


def box_label(graph: Graph, box: Box) -> str:
    """A module's path, ``998 more: add``, or from which result to which; for a single item its own label."""
    first, last = graph.items[box.items[0]], graph.items[box.items[-1]]
    return box.label or (first.label if box.kind == "item" else f"{first.label} … {last.label}")


def box_words(graph: Graph, box: Box) -> tuple[str, str, str, str]:
    """A box in a table: its label; what it is; what it computes, or holds; and the shape of its last result."""
    last = graph.items[box.items[-1]]
    if box.kind == "item":
        return last.label, last.op if last.is_operation else last.kind, last.formula, str(last.shape)
    return box_label(graph, box), count(len(box.items), "operation"), _contents(graph, box), str(last.shape)


def _contents(graph: Graph, box: Box) -> str:
    """Which operations, the most frequent first, and how many leaves of which kind."""
    ops = Counter(graph.items[number].op for number in box.items).most_common(6)
    parts = [op if times == 1 else f"{times} {op}" for op, times in ops]
    kinds = Counter(graph.items[leaf].kind for leaf in box.leaves)
    parts += [count(times, kind) for kind, times in kinds.items()]
    return ", ".join(parts)


def with_notes(table: str, notes: Sequence[str]) -> str:
    """The text form: the table, and under it what else there is to say."""
    return "\n".join([table, "", *notes]) if notes else table
