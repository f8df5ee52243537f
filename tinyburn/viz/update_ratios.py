"""Picture 10, the ratio clock: how far each step moves a parameter, as a share of the parameter itself.

The learning rate alone does not say how fast a model learns: a step of 0.01 is nothing for a weight of 10, and far for
one of 0.01. The ratio of the two sizes is what counts. A common rule of thumb is about one thousandth: far below,
nothing is learnt; far above, each step throws away what the last one has found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError
from tinyburn.base.text import table
from tinyburn.module import Module

from .axes import ticks
from .cards import Key, sheet
from .lines import MOST_LINES, STYLES, End, draw_ends, draw_line, draw_zeros
from .picture import Picture
from .scale import Powers, powers_around, short_power
from .svg import number, path, rect, text, xy

LOW, HIGH = 1e-4, 1e-2
"""The ratios around the rule of thumb, one thousandth, that the picture shades."""

_PAIR = "hand it the model before a step, and what the step returned"
_LEFT, _TOP, _WIDTH, _HEIGHT = 70.0, 30.0, 500.0, 250.0


def update_ratio(before: Module, after: Module) -> dict[str, float]:
    """For each parameter, by its path, the size of its update over its own: ``|after - before| / |before|``.

    A size is the root of the mean of the squares, in float64. The ratio of a parameter that was 0 everywhere is inf, or
    0 if it stayed so. Raises ConfigError if the two are not the same model before and after a step.
    """
    strangers = [type(model).__name__ for model in (before, after) if not isinstance(model, Module)]
    if strangers:
        raise ConfigError("viz.update_ratio", f"{strangers[0]} is no module", hint=_PAIR)
    old, new = ({path: param.val() for path, param in model.named_params()} for model in (before, after))
    if old.keys() != new.keys() or any(old[name].shape != new[name].shape for name in old):
        reason = "the two models have other parameters, or other shapes"
        raise ConfigError("viz.update_ratio", reason, hint=_PAIR)
    return {name: _ratio(old[name].to_numpy(), new[name].to_numpy()) for name in old}


def _ratio(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> float:
    before, after = before.astype(np.float64), after.astype(np.float64)
    with np.errstate(all="ignore"):
        moved, size = (float(np.sqrt(np.mean(x * x))) for x in (after - before, before))
    if size == 0:
        return math.inf if moved else 0.0
    return moved / size


def update_ratios(steps: Sequence[Mapping[str, float]], events: Mapping[int, str] | None = None) -> Picture:
    """The ratio of every step, for each parameter.

    Args:
        steps: one mapping a step, as `update_ratio` makes it.
        events: what happened at a step, by its number from 0 on: "clipped", "rate halved".

    Raises ConfigError if there is no step, a step without parameters, or an event at a step that is not there.
    """
    happened = {} if events is None else events
    _check(steps, happened)
    lines = {name: tuple(step.get(name, math.nan) for step in steps) for name in steps[0]}
    title = _title(lines)
    return Picture(title, _text(lines, happened), _drawing(title, lines, happened))


def _check(steps: Sequence[Mapping[str, float]], events: Mapping[int, str]) -> None:
    reasons = []
    if not isinstance(steps, Sequence) or not all(map(_is_step, steps)):
        reasons.append("the steps are no list of mappings from paths to ratios")
    elif not steps or not steps[0]:
        reasons.append("there is no step with a parameter")
    if not isinstance(events, Mapping) or not all(isinstance(step, int) for step in events):
        reasons.append("the events are no mapping from numbers of steps to words")
    if not reasons:
        reasons = [
            f"there is an event at step {step}, and the steps are 0 to {len(steps) - 1}"
            for step in events
            if not 0 <= step < len(steps)
        ]
    if reasons:
        hint = "write viz.update_ratios([viz.update_ratio(model, next_model), ...], {step: 'what happened'})"
        raise ConfigError("viz.update_ratios", reasons, hint=hint)


def _is_step(step: object) -> bool:
    if not isinstance(step, Mapping):
        return False
    return all(isinstance(name, str) and isinstance(ratio, int | float) for name, ratio in step.items())


def typical(ratios: Sequence[float]) -> float:
    """The one in the middle, of those that are numbers; NaN if there are none."""
    known = sorted(ratio for ratio in ratios if not math.isnan(ratio))
    return known[len(known) // 2] if known else math.nan


def verdict(ratios: Sequence[float]) -> str:
    """What the rule of thumb says of a parameter."""
    if any(math.isnan(ratio) or math.isinf(ratio) for ratio in ratios):
        return "lost: inf or NaN"
    middle = typical(ratios)
    if middle == 0:
        return "stands still"
    return "slow" if middle < LOW else "fast" if middle > HIGH else "as usual"


def _title(lines: Mapping[str, Sequence[float]]) -> str:
    found = [verdict(ratios) for ratios in lines.values()]
    steps = len(next(iter(lines.values())))
    counts = {name: found.count(name) for name in ("lost: inf or NaN", "fast", "as usual", "slow", "stands still")}
    said = [f"{count} {name}" for name, count in counts.items() if count]
    return f"Updates over parameters in {steps} step{'s' if steps != 1 else ''}: {', '.join(said)}"


def _text(lines: Mapping[str, Sequence[float]], events: Mapping[int, str]) -> str:
    rows = [
        (name, *[_digits(size) for size in (ratios[0], typical(ratios), ratios[-1])], verdict(ratios))
        for name, ratios in lines.items()
    ]
    said = table(("parameter", "first step", "middle", "last step", "by the rule of thumb"), rows)
    happened = [f"Step {step}: {what}." for step, what in sorted(events.items())]
    return "\n\n".join([said, *(["\n".join(happened)] if happened else [])])


def _digits(size: float) -> str:
    return short_power(f"{size:.1e}") if size else "0"


def _drawing(title: str, lines: Mapping[str, Sequence[float]], events: Mapping[int, str]) -> str:
    shown = dict(list(lines.items())[:MOST_LINES])
    low, high = powers_around([LOW, HIGH, *[ratio for ratios in shown.values() for ratio in ratios]])
    count = len(next(iter(lines.values()))) - 1
    powers = Powers(low, high, count, _LEFT, _TOP, _WIDTH, _HEIGHT)
    top = powers.y(HIGH)
    drawn = [rect(_LEFT, top, _WIDTH, powers.y(LOW) - top, "fill")]
    drawn += powers.axes("steps", [(step, str(step)) for step in ticks(count)])
    for at, (step, _) in enumerate(sorted(events.items())):
        x = powers.x(step)
        drawn.append(path(f"M{xy(x, _TOP)}V{number(powers.base)}", "line", 'stroke-dasharray="2 3"'))
        drawn.append(text(x, _TOP - 6, _letter(at), "ink bold", "middle"))
    ends = [End(_last(ratios), name, "", style) for (name, ratios), style in zip(shown.items(), STYLES, strict=False)]
    for ratios, end in zip(shown.values(), ends, strict=True):
        drawn += draw_line(powers, list(enumerate(ratios)), end.style) + draw_zeros(powers, list(enumerate(ratios)))
    drawn += draw_ends(powers, ends)
    keys = [Key(rect(0, 0, 26, 14, "fill"), "one ten thousandth to one hundredth: the rule of thumb")]
    keys += [
        Key(text(13, 11, _letter(at), "ink bold", "middle"), f"step {step}: {what}")
        for at, (step, what) in enumerate(sorted(events.items()))
    ]
    left_out = len(lines) - len(shown)
    notes = [f"{left_out} more parameters are in the text alone."] if left_out else []
    return sheet(title, (powers.right + max(end.width for end in ends), powers.base + 44), drawn, keys, notes)


def _letter(at: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[at % 26]


def _last(ratios: Sequence[float]) -> float:
    """The last one that is a number, where the line ends."""
    return next((ratio for ratio in reversed(ratios) if not math.isnan(ratio)), 0.0)
