"""The timeline of ranks: times by hand count, rows that meet where ranks met, and any number of spans."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import ForeignCall
from tinyburn.parallel import Lap, Span
from tinyburn.viz import Picture, rank_timeline
from tinyburn.viz.rank_timeline import MOST_ROWS, MOST_SPANS

LEFT, WIDTH = 72, 600
"""Where the axis begins in the drawing, and how long it is, in pixels."""


def lap(*pieces: tuple[str, float], size: int = 4000, start: float = 0.0) -> Lap:
    """Spans one after another, each for so many seconds; what is sent has ``size`` bytes."""
    made = []
    for doing, seconds in pieces:
        is_sent = doing == "send"
        name = {"compute": "", "wait": "a step", "send": "all_reduce"}[doing]
        made.append(Span(doing, name, start, start + seconds, size if is_sent else 0))  # type: ignore[arg-type]
        start += seconds
    return tuple(made)


def step(compute: float, wait: float, send: float = 0.002, after: float = 0.0005) -> Lap:
    return lap(("compute", compute), ("wait", wait), ("send", send), ("compute", after))


def even_and_slow() -> list[Lap]:
    """Rank 0 computes for 12 ms, and rank 1, for 7 ms, waits for it."""
    return [step(0.012, 0.0005), step(0.007, 0.0055)]


def bars(picture: Picture) -> list[list[tuple[float, float]]]:
    """For each row and kind, in that order, where the bars begin and end, in pixels of the axis."""
    drawn = re.findall(r'<path d="([^"]+)" class="(?:box|rule)" stroke-(?:width="\.7"|dasharray)', picture.svg)
    rows = [re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", commands) for commands in drawn[:-3]]  # without the legend
    return [[(float(x) - LEFT, float(x) - LEFT + float(wide)) for x, wide in row] for row in rows]


# By hand


def test_the_text_by_hand() -> None:
    """Of 2 * 15 ms are 12.5 + 7.5 computing, 0.5 + 5.5 waiting, and 2 + 2 sending."""
    picture = rank_timeline(even_and_slow())
    assert (
        picture.title == "2 ranks compute 67 % of their time, wait 20 % and send 13 %; rank 0 computes longest, 12.5 ms"
    )
    assert picture.text.splitlines() == [
        "rank  compute ms  wait ms  send ms  sent tensors",
        "   0        12.5      0.5      2.0  4 000 B",
        "   1         7.5      5.5      2.0  4 000 B",
    ]
    assert {"rank 0", "rank 1", "ms", "0", "5", "10", "15"} <= {*texts(picture)}
    assert_readable(picture)


def test_bars_lie_where_the_time_is() -> None:
    """15 ms are 600 pixels, so 1 ms is 40 of them."""
    assert bars(rank_timeline(even_and_slow())) == [
        [(0, 480), (580, 600)],  # rank 0 computes for 12 ms, and from 14.5 ms on
        [(480, 500)],
        [(500, 580)],
        [(0, 280), (580, 600)],
        [(280, 500)],
        [(500, 580)],
    ]


def test_rows_are_aligned_at_the_first_meeting() -> None:
    """The lap of rank 1 began 5 ms later: its waiting ends 7.5 ms after that, and that of rank 0 after 12.5 ms."""
    late = [step(0.012, 0.0005), step(0.007, 0.0005)]
    picture = rank_timeline(late)
    assert bars(picture)[3:] == [[(200, 480), (580, 600)], [(480, 500)], [(500, 580)]]
    assert picture.text.splitlines()[2].split()[:4] == ["1", "7.5", "0.5", "2.0"]
    moved = [late[0], tuple(span._replace(start=span.start + 90, stop=span.stop + 90) for span in late[1])]
    assert bars(rank_timeline(moved))[5][0][1] == pytest.approx(bars(rank_timeline(moved))[2][0][1], abs=0.2)


def test_one_rank_by_itself() -> None:
    picture = rank_timeline([lap(("compute", 0.03), ("wait", 0.0), ("compute", 0.01))])
    assert picture.title == "A rank by itself computes 100 % of its time, waits 0 % and sends 0 %"
    assert bars(picture) == [[(0, 450), (450, 600)]]
    assert_readable(picture)


@pytest.mark.parametrize(
    ("seconds", "unit", "said"),
    [
        (0.0, "µs", "0.0"),
        (2e-6, "µs", "2.0"),
        (0.00999, "µs", "9 990.0"),
        (0.01, "ms", "10.0"),
        (9.99, "ms", "9 990.0"),
        (10.0, "s", "10.0"),
        (7200.0, "s", "7 200.0"),
    ],
)
def test_the_unit_is_the_largest_of_which_there_are_ten(seconds: float, unit: str, said: str) -> None:
    picture = rank_timeline([lap(("compute", seconds))])
    assert columns(picture, f"compute {unit}") == [(said,)]
    assert unit in texts(picture)
    assert_readable(picture)


def test_no_time_at_all() -> None:
    picture = rank_timeline([lap(("compute", 0.0), ("wait", 0.0), ("send", 0.0))] * 3)
    assert picture.title == "3 ranks compute 0 % of their time, wait 0 % and send 0 %; rank 0 computes longest, 0.0 µs"
    assert bars(picture) == []
    assert_readable(picture)


def test_the_largest_numbers() -> None:
    ranks = [lap(("compute", 9e11), ("send", 1e10), size=10**30), lap(("compute", 1.0), ("send", 1e10), size=0)]
    picture = rank_timeline(ranks)
    assert "900 000 000 000.0" in picture.text
    assert "1 000 000 000 000 000 000 000 000 000 000 B" in picture.text
    assert_readable(picture)


# Many


times = st.one_of(st.just(0.0), st.floats(1e-9, 1e6))
pieces = st.lists(st.tuples(st.sampled_from(["compute", "wait", "send"]), times), min_size=1, max_size=12)


@given(pieces, st.integers(1, 5), st.data())
def test_any_laps_can_be_read(kinds: list[tuple[str, float]], ranks: int, data: st.DataObject) -> None:
    laps = [lap(*((doing, data.draw(times)) for doing, _ in kinds)) for _ in range(ranks)]
    picture = rank_timeline(laps)
    assert_readable(picture)
    assert len(picture.text.splitlines()) == ranks + 1
    for row in bars(picture):
        for begin, end in row:
            assert -0.2 <= begin <= end <= WIDTH + 0.8


@pytest.mark.parametrize("ranks", [1, 2, 64])
@pytest.mark.parametrize("spans", [20, 200, 6000])
def test_a_lap_of_many_spans_is_small_and_keeps_its_times(ranks: int, spans: int) -> None:
    """A step of 6 000 spans: for each parameter some work, a meeting and an exchange. A quarter is sent."""
    one = lap(*[("compute", 0.002), ("wait", 0.001), ("send", 0.001)] * (spans // 3))
    picture = rank_timeline([one] * ranks)
    assert len(picture.html) < 100_000
    assert_readable(picture)
    drawn = bars(picture)
    assert max(map(len, drawn)) <= MOST_SPANS
    for row, share in zip(drawn[:3], (2, 1, 1), strict=True):
        assert sum(end - begin for begin, end in row) == pytest.approx(WIDTH * share / 4, rel=0.05)
    note = [line for line in texts(picture) if line.startswith("Within")]
    assert len(note) == (spans > min(MOST_SPANS, 2000 // ranks))


def test_short_spans_beside_a_long_one_are_sorted_and_it_is_not() -> None:
    """200 spans of 1 ms, of which every other one is sent, then a second of work: 100 pixels, then 500."""
    picture = rank_timeline([lap(*[("send", 0.001), ("compute", 0.001)] * 100, ("compute", 1.0))])
    computed, sent = bars(picture)
    assert computed[-1] == pytest.approx((100, 600), abs=0.2)
    assert len(sent) <= 50
    assert sum(end - begin for begin, end in sent) == pytest.approx(50, rel=0.05)


def test_of_very_many_ranks_those_that_compute_longest_are_drawn() -> None:
    """Rank r of 200 computes for 1 ms, and r modulo 10 ms more: of 20 each with 9, 8 and 7, and 4 of those with 6."""
    picture = rank_timeline([step(0.001 * (1 + rank % 10), 0.01) for rank in range(200)])
    shown = [int(line.removeprefix("rank ")) for line in texts(picture) if re.fullmatch(r"rank \d+", line)]
    assert shown == sorted(shown)
    assert len(shown) == MOST_ROWS
    assert {rank % 10 for rank in shown} == {9, 8, 7, 6}
    assert [rank for rank in shown if rank % 10 == 6] == [6, 16, 26, 36]
    assert f"These {MOST_ROWS} ranks compute longest; the text has all." in texts(picture)
    assert len(picture.text.splitlines()) == 201
    assert len(picture.html) < 100_000
    assert_readable(picture)


# Errors


SPAN = Span("compute", "", 0.0, 1.0, 0)


@pytest.mark.parametrize(
    "laps",
    [
        *(None, 3, "laps", [], (), [()], [SPAN], [[SPAN], []], [[SPAN], None], SPAN, [["compute"]]),
        *([[(*SPAN,)]], [[SPAN._replace(doing="sleep")]], [[SPAN._replace(bytes=-1)]], {0: [SPAN]}),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_laps(laps: Any) -> None:
    with pytest.raises(ForeignCall, match=r"no laps, one for each rank[\s\S]*comm\.gather\('laps', comm\.lap\(\)\)"):
        rank_timeline(laps)


@pytest.mark.parametrize(
    ("start", "stop"), [(math.nan, 1.0), (0.0, math.inf), (-1.0, 1.0), (2.0, 1.0), (0.0, 1e13), ("0", 1.0), (0.0, None)]
)
def test_what_are_no_seconds(start: Any, stop: Any) -> None:
    with pytest.raises(ForeignCall, match=r"rank 1 has a span from .* to .*, and these are no seconds"):
        rank_timeline([[SPAN], [Span("compute", "", start, stop, 0)]])  # type: ignore[list-item]


def test_every_reason_is_said() -> None:
    laps = [step(1.0, 1.0), lap(("compute", 1.0), ("send", -1.0)), step(1.0, 1.0), lap(("wait", 1.0))]
    with pytest.raises(ForeignCall) as caught:
        rank_timeline(laps)
    reasons = [line for line in str(caught.value).splitlines() if line.startswith("  because ")]
    assert reasons == [
        "  because rank 1 has a span from 1.0 to 0.0, and these are no seconds",
        "  because rank 1 has done something else than rank 0, so these laps are not of the same step",
        "  because rank 3 has done something else than rank 0, so these laps are not of the same step",
    ]


_SCRIPT = """
from tests.viz.test_rank_timeline import even_and_slow
from tinyburn import viz
picture = viz.rank_timeline(even_and_slow())
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
