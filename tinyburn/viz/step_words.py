"""Each step in words: what happens in it, and why now."""

from __future__ import annotations

from collections.abc import Sequence

from tinyburn.autodiff.checkpointing import CHECKPOINT
from tinyburn.backend.operations import OPERATIONS

from .film import Film
from .formula import formula, listed
from .slopes import gradient_line
from .steps import Step, is_one_box

PHASES = {"start": "start", "forward": "forward", "beside": "beside", "seed": "backward", "rule": "backward"}
PHASES |= {"sum": "backward", "free": "free"}


def phase_of(film: Film, step: Step) -> str:
    """The word that a step begins with."""
    if step.kind == "inside":
        return "backward" if is_second_run(film, step) else "forward"
    return PHASES[step.kind]


def is_second_run(film: Film, step: Step) -> bool:
    """Whether a step inside a segment is part of the backward pass."""
    return film.history.is_backward(step.first)


# What happens


def action(film: Film, number: int) -> str:
    """What a step does, in one line: ``u = w * x``, ``s gets g * 2 * s``."""
    return _ACTIONS[film.steps[number].kind](film, film.steps[number])


def _start(film: Film, step: Step) -> str:
    labels = [film.graph.items[leaf].label for leaf in film.graph.leaves if film.value_of(leaf, 0)]
    verb = "is" if len(labels) == 1 else "are"
    return f"{listed(labels)} {verb} there" if labels else "the start"


def _forward(film: Film, step: Step) -> str:
    item = film.graph.items[step.item]
    return f"{item.label} = {item.formula}"


def _beside(film: Film, step: Step) -> str:
    made_in = {leaf: film.made_in(leaf) for leaf in film.graph.leaves}
    made = [film.graph.items[leaf].label for leaf, at in made_in.items() if at and film.steps[at - 1] is step]
    ops = listed(list(dict.fromkeys(film.history.steps[op].op for op in step.ops)))
    return f"{listed(made)} = {ops}" if made else f"{ops}, beside the graph"


def _inside(film: Film, step: Step) -> str:
    name = film.history.steps[step.first].op
    rule_of = film.history.steps[step.first].rule_of
    if rule_of not in ("", CHECKPOINT):
        return f"the backward of {rule_of}"
    operands = [film.label(value, step) for value in film.history.operands(step.ops[0])]
    result = film.made_by(step)
    is_whole = len(operands) == len(OPERATIONS[name].parameters) if name in OPERATIONS else False
    words = formula(name, operands) if is_whole else f"{name}({', '.join(operands)})"
    return f"{film.label(result, step)} = {words}" if result is not None else words


def _seed(film: Film, step: Step) -> str:
    label = film.graph.items[step.item].label
    return f"the gradient of {label} is 1" if step.ops else f"the gradient of {label} is given"


def _rule(film: Film, step: Step) -> str:
    node, target = film.graph.items[step.item].node, film.graph.items[step.target]
    return f"{target.label} gets {gradient_line(node, step.operand, film.graph.label)}"


def _sum(film: Film, step: Step) -> str:
    return f"the parts of {film.graph.items[step.target].label}'s gradient are added"


def _free(film: Film, step: Step) -> str:
    labels = [film.label(value, step) for value in film.freed(step)]
    return f"{listed(labels)} {'is' if len(labels) == 1 else 'are'} freed"


_ACTIONS = {
    **{"start": _start, "forward": _forward, "beside": _beside, "inside": _inside},
    **{"seed": _seed, "rule": _rule, "sum": _sum, "free": _free},
}


# Why now


def reason(film: Film, number: int) -> str:
    """Why a step comes when it does, in one or two sentences."""
    return _REASONS[film.steps[number].kind](film, number)


def _why_start(film: Film, number: int) -> str:
    return "What is computed from nothing comes first."


def _why_forward(film: Film, number: int) -> str:
    since: dict[int, list[str]] = {}
    for parent in dict.fromkeys(film.graph.items[film.steps[number].item].parents):
        since.setdefault(max(film.made_in(parent), 1), []).append(film.graph.items[parent].label)
    words = [f"{listed(since[at])} {f'since step {at}' if at > 1 else 'from the start'}" for at in sorted(since)]
    return f"After its operands: {', '.join(words)}."


def _why_beside(film: Film, number: int) -> str:
    return "In the order of the program. No gradient comes back through it."


def _why_inside(film: Film, number: int) -> str:
    step = film.steps[number]
    label = film.graph.items[step.item].label
    if not is_second_run(film, step):
        return f"Part of the segment {label}. Its results are not kept, only its inputs."
    return f"The segment {label} kept only its inputs, so it runs again, now that the gradient of {label} is there."


def _why_seed(film: Film, number: int) -> str:
    label = film.graph.items[film.steps[number].item].label
    if film.steps[number].ops:
        return f"{label} is the result: if it changes by a little, it changes by just that."
    return "It comes from what was computed later, or from the program: backward(gradient)."


def _why_rule(film: Film, number: int) -> str:
    step = film.steps[number]
    label = film.graph.items[step.item].label
    parts = film.parts_of(step.item, number)
    if not parts:
        return f"The way back begins with the gradient of {label}."
    users, steps = _users(film, parts)
    if len(parts) == 1:
        why = f"Only {users} uses {label}, and its part came in step {steps}: the gradient of {label} is whole."
    else:
        why = f"{users} use {label}, and the parts of all came in steps {steps}: the gradient of {label} is whole."
    is_handed_on = not step.ops and not is_one_box(film.graph.items[step.item].node)
    return f"{why} g itself is handed on, without a new buffer." if is_handed_on else why


def _users(film: Film, parts: Sequence[int]) -> tuple[str, str]:
    """Who gave a part, and in which steps."""
    labels = [film.graph.items[film.steps[at - 1].item].label for at in parts]
    return listed(list(dict.fromkeys(labels))), listed(list(map(str, parts)))


def _why_sum(film: Film, number: int) -> str:
    step = film.steps[number]
    users, steps = _users(film, film.parts_of(step.target, number))
    label = film.graph.items[step.target].label
    return f"{label} is used more than once: parts came from {users}, in steps {steps}, and parts add."


def _why_free(film: Film, number: int) -> str:
    reasons: dict[str, list[str]] = {}
    for value in film.freed(film.steps[number]):
        label = film.label(value, film.steps[number])
        reasons.setdefault(_why_gone(film, value, number), []).append(label)
    return " ".join(f"{_capital(listed(labels))}: {why}." for why, labels in reasons.items())


def _capital(words: str) -> str:
    """A sentence begins with a capital letter, but a name stays as it is."""
    return words[:1].upper() + words[1:] if words.startswith(("gradient of", "a result")) else words


def _why_gone(film: Film, value: int, number: int) -> str:
    used = film.last_use(value)
    busy = [at + 1 for at in range(number) if film.steps[at].kind != "free"]
    if film.is_kept_gradient(value) and number >= _last_busy(film):
        return "the program has let go of its gradients"
    if used == busy[-1]:
        return f"right after the last use, in step {used}"
    if not used:
        return "nothing uses it any more"
    return f"the last use was step {used}; the program has held it since, for example by a name"


def _last_busy(film: Film) -> int:
    """The last step that is not a free."""
    return max(at for at, step in enumerate(film.steps, 1) if step.kind != "free")


_REASONS = {
    **{"start": _why_start, "forward": _why_forward, "beside": _why_beside, "inside": _why_inside},
    **{"seed": _why_seed, "rule": _why_rule, "sum": _why_sum, "free": _why_free},
}
