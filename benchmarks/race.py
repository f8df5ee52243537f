"""Timing side by side: short rounds in turn, so that whatever slows the machine down slows every contender down.

A single time says little on a shared machine. The ratio of two times that were taken a few milliseconds apart says
much more, and the median over many such pairs is what the table prints. The clock is the processor time of this
process, all of its threads: time that another program took is nobody's here.

Python's cycle collector stays on, as a user has it. A contender that makes many objects pays for the collections that
they set off.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median, quantiles
from time import process_time
from timeit import Timer
from typing import Any

from result import Row, Target

SCALE = {"us": 1e6, "ms": 1e3, "s": 1.0}
ROUND_SECONDS = 0.004  # long enough for the clock and for warm caches, short enough to share the machine's mood

WARM_UP_CALLS = 3
MOST_CALLS = 20_000
RACES = 3

Times = dict[str, list[float]]
"""For each contender the seconds of one call, round by round."""

Clock = Callable[[], float]


def timer(
    statement: str | Callable[[], Any],
    names: dict[str, Any] | None = None,
    setup: str = "pass",
    clock: Clock = process_time,
) -> Timer:
    """A contender. A statement is a function to call, or source text with the names in it; the setup is not timed.

    `Timer` switches the cycle collector off before the setup, so the setup switches it on again.
    """
    return Timer(statement, f"import gc; gc.enable(); {setup}", clock, names)


def race(contenders: dict[str, Timer], rounds: int) -> Times:
    """Runs every contender once in each round; the one that starts moves on by one place from round to round."""
    calls = {name: _calls_in_a_round(contender) for name, contender in contenders.items()}
    times: Times = {name: [] for name in contenders}
    names = list(contenders)
    gc.collect()  # what earlier races left is nobody's here
    for _ in range(rounds):
        for name in names:
            times[name].append(contenders[name].timeit(calls[name]) / calls[name])
        names.append(names.pop(0))
    return times


def _calls_in_a_round(contender: Timer) -> int:
    """How many calls fill a round. A first call can take far longer than all others, so it must not decide."""
    contender.timeit(WARM_UP_CALLS)
    calls = 1
    while (seconds := contender.timeit(calls)) < ROUND_SECONDS and calls < MOST_CALLS:
        calls = max(2 * calls, int(calls * ROUND_SECONDS / max(seconds, 1e-9)))
    return min(calls, MOST_CALLS)


def timed_row(benchmark: str, case: str, times: Times, mine: str, other: str, unit: str, *targets: Target) -> Row:
    """Compares two contenders of a race, round by round: medians of the times, the differences and the ratios.

    Medians and not the best rounds: on a virtual machine a processor clock can skip, and then a round looks too short.
    """
    pairs = list(zip(times[mine], times[other], strict=True))
    ratios = [a / b for a, b in pairs]
    low, _, high = quantiles(ratios, n=4)
    added = median(a - b for a, b in pairs) * SCALE[unit]
    middle, others_middle = median(times[mine]) * SCALE[unit], median(times[other]) * SCALE[unit]
    return Row(benchmark, case, other, unit, middle, others_middle, added, median(ratios), (low, high), targets)


def repeated_row(
    benchmark: str, case: str, races: Sequence[Times], mine: str, other: str, unit: str, *targets: Target
) -> Row:
    """The race with the middle ratio of several. Its range is from the lowest ratio to the highest.

    Rounds of one race share where their objects lie in memory, so they agree better with each other than two races do.
    """
    rows = [timed_row(benchmark, case, times, mine, other, unit, *targets) for times in races]
    ratios = sorted(row.ratio for row in rows if row.ratio is not None)
    middle = next(row for row in rows if row.ratio == ratios[len(ratios) // 2])
    return replace(middle, spread=(ratios[0], ratios[-1]))
