"""The peak of one rank by the number of ranks: bytes by hand count, bars of that height, room for words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import ForeignCall, Tensor, memory, nn, optim, parallel
from tinyburn.backend import Category
from tinyburn.backend.log import EventLog
from tinyburn.memory import MemoryReport
from tinyburn.viz import Picture, rank_memory
from tinyburn.viz.svg import fill_of

HEIGHT = 240
"""Of the plot, in pixels; the highest bar leaves a 21st part free."""


def report(**at_peak: int) -> MemoryReport:
    """One by hand: bytes by category."""
    return MemoryReport(sum(at_peak.values()), at_peak, "matmul", None, EventLog(), -1, ())


def plans() -> dict[int, MemoryReport]:
    """A layer of 64 x 64 numbers with Adam, whose state is shared out; no bias."""

    def job_of(size: int) -> Any:
        comm = parallel.Alone() if size == 1 else parallel.Pretend(0, size)

        def job(device: Any, batch_size: int) -> Any:
            model = parallel.same_start(nn.LinearConfig(64, 64, bias=False).init(device), comm)
            optimizer = parallel.Sharded(optim.AdamConfig().init(), comm)
            grads = model(Tensor.ones((batch_size, 64), device)).mean().backward()
            return optimizer.step(0.1, model, grads, batch_size), optimizer

        return job

    return {size: memory.plan(job_of(size), 8) for size in (1, 2, 4, 64)}


def heights(picture: Picture, letter: str) -> list[float]:
    """Of the parts of a category, in pixels, from the left to the right; the legend has the last one."""
    fill = re.escape(fill_of(letter))
    found = re.findall(rf'<rect x="\S+" y="\S+" width="44" height="(\S+)" class="gap" fill="{fill}"/>', picture.svg)
    return [float(height) for height in found]


# By hand


def test_the_text_by_hand() -> None:
    picture = rank_memory(
        {1: report(parameter=400, optimizer=800), 2: report(parameter=400, optimizer=400, communication=50)},
        {2: report(parameter=400, optimizer=400, communication=50), 1024: report(parameter=400, optimizer=1)},
    )
    assert (
        picture.title
        == "From 1 rank to 1 024 ranks the peak goes from 1 200 B to 401 B; the same everywhere: parameter"
    )
    assert picture.text.splitlines() == [
        "ranks  parameter  optimizer  communication  peak in bytes",
        "    1        400        800              0          1 200  measured",
        "    2        400        400             50            850  measured, as planned",
        "1 024        400          1              0            401  planned",
    ]
    assert {"1", "2", "1 024", "ranks", "measured", "planned"} <= {*texts(picture)}
    assert_readable(picture)


def test_another_plan_is_said_beside_what_was_measured() -> None:
    picture = rank_memory({4: report(parameter=400)}, {4: report(parameter=300)})
    assert picture.title == "Each of 4 ranks holds 400 B at its peak"
    assert picture.text.endswith("measured; plan 300 B")
    assert "planned" not in texts(picture), "no bar is"


def test_one_rank_by_itself() -> None:
    picture = rank_memory({1: report(parameter=400)})
    assert picture.title == "A rank by itself holds 400 B at its peak"
    assert_readable(picture)


def test_what_differs_in_between_is_not_the_same_everywhere() -> None:
    same, other = report(parameter=400, gradient=100), report(parameter=400, gradient=200)
    assert rank_memory({1: same, 2: other, 4: same}).title.endswith("the same everywhere: parameter")
    assert rank_memory({1: same, 4: report(activation=9)}).title.endswith("from 500 B to 9 B")


def test_parts_are_as_high_as_their_bytes() -> None:
    picture = rank_memory({1: report(parameter=400, optimizer=800), 2: report(parameter=400, optimizer=400)})
    pixels = HEIGHT / (1.05 * 1200)
    assert heights(picture, "P") == pytest.approx([400 * pixels] * 2, abs=0.06)
    assert heights(picture, "O") == pytest.approx([800 * pixels, 400 * pixels], abs=0.06)
    assert heights(picture, "G") == []


def test_each_high_part_has_its_letter() -> None:
    """17 pixels are needed: with 1 200 bytes at the peak these are 90 bytes."""
    drawn = rank_memory({1: report(parameter=1000, optimizer=120, gradient=80)}).svg
    plot = drawn.partition(">ranks</text>")[0]
    assert re.findall(r">([A-Z])</text>", plot) == ["P", "O"]


def test_the_numbers_are_those_of_real_plans() -> None:
    """At their peaks 2 and 4 ranks have an n-th of two moments of 64 * 64 numbers in float32: of 32 768 B."""
    found = plans()
    picture = rank_memory({}, found)
    states, peaks = zip(*columns(picture, "optimizer", "peak in bytes"), strict=True)
    assert states[1:3] == ("16 384", "8 192")
    assert peaks == tuple(f"{made.peak_bytes:,}".replace(",", " ") for made in found.values())
    assert_readable(picture)


# Many, and large


names = st.sampled_from([category.name.lower() for category in Category])
reports = st.dictionaries(names, st.integers(1, 10**18), max_size=9).map(lambda sizes: report(**sizes))
by_ranks = st.dictionaries(st.integers(1, 10**12), reports, min_size=1, max_size=20)


@given(by_ranks, by_ranks)
def test_any_reports_can_be_read(measured: dict[int, MemoryReport], planned: dict[int, MemoryReport]) -> None:
    picture = rank_memory(measured, planned)
    assert_readable(picture)
    assert len(picture.html) < 100_000
    assert len(picture.text.splitlines()) == len({*measured, *planned}) + 1


def test_long_numbers_have_room() -> None:
    sizes = {"parameter": 10**30, "optimizer": 3 * 10**30}
    picture = rank_memory({10**at: report(**sizes) for at in range(24)})
    assert f"1{' 000' * 7}" in texts(picture)
    assert f"1{' 000' * 6} TB" in texts(picture)
    assert_readable(picture)
    assert len(picture.html) < 100_000


def test_no_bytes_at_all() -> None:
    picture = rank_memory({1: report(), 2: report()})
    assert picture.title == "From 1 rank to 2 ranks the peak goes from 0 B to 0 B"
    assert_readable(picture)


# Errors


GOOD = report(parameter=4)


@pytest.mark.parametrize(
    ("given", "reasons"),
    [
        (({},), ["there is not a single report"]),
        (({}, {}), ["there is not a single report"]),
        ((None,), ["NoneType is no dict of reports by numbers of ranks"]),
        (([GOOD], 3), [f"{kind} is no dict of reports by numbers of ranks" for kind in ("list", "int")]),
        (({0: GOOD, "a": GOOD, True: GOOD, 2: GOOD},), [f"{at} is no number of ranks" for at in (0, "'a'", True)]),
        (
            ({1: GOOD}, {2: "plan", -1: 3}),
            ["-1 is no number of ranks", "for 2 there is a str", "for -1 there is a int"],
        ),
    ],
)
def test_every_reason_is_said(given: tuple[Any, ...], reasons: list[str]) -> None:
    with pytest.raises(ForeignCall, match=r"viz\.rank_memory\(\{1: report, 2: report\}, \{64: plan\}\)") as caught:
        rank_memory(*given)
    said = [line for line in str(caught.value).splitlines() if line.startswith("  because ")]
    assert len(said) == len(reasons)
    for line, reason in zip(said, reasons, strict=True):
        assert line.startswith(f"  because {reason}")


_SCRIPT = """
from tests.viz.test_rank_memory import plans
from tinyburn import viz
found = plans()
picture = viz.rank_memory({1: found.pop(1)}, found)
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
