"""The byte ladder: each amount with how it is known, and no 0 where nobody measured."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.memory.jobs import train_mlp, training_step
from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, NdArray
from tinyburn.base.text import amount
from tinyburn.memory import MemoryReport, Row, measure, plan, simulate
from tinyburn.viz import byte_ladder
from tinyburn.viz.byte_ladder import RUNGS, rungs


def measured(count_nodes: bool = True) -> MemoryReport:
    return measure(training_step, Autodiff[NdArray].device(), 16, count_nodes=count_nodes)


def test_two_backends() -> None:
    """NumPy pads nothing and cannot tell what it keeps. On shapes there is no allocator at all."""
    picture = byte_ladder({"NdArray": measured(), "Meta": plan(training_step, 16, count_nodes=True)})
    table = columns(picture, "kind", "bytes", "how")
    real, simulated = table[: len(RUNGS)], table[len(RUNGS) :]
    assert [row[0] for row in real] == [row[0] for row in simulated] == list(RUNGS)
    metadata = real[3][1]
    assert int(metadata.replace(" ", "")) > 0
    assert [row[1:] for row in real] == [
        *[("1 432", "measured"), ("0", "measured"), ("", "not measured"), (metadata, "measured")],
        *[("144", "measured"), ("0", "measured"), ("", "not measured")],
    ]
    assert [row[1:] for row in simulated] == [
        *[("1 432", "simulated"), ("", "not measured"), ("", "not measured"), (metadata, "simulated")],
        *[("144", "simulated"), ("0", "simulated"), ("", "not measured")],
    ]
    assert picture.title == "Payload 1 432 B on every backend; 5 of 14 amounts are not known"
    assert_readable(picture)


def test_what_was_not_measured_has_an_outline_and_no_number() -> None:
    picture = byte_ladder({"NdArray": measured(), "Meta": plan(training_step, 16, count_nodes=True)})
    outlines = len(re.findall(r'<rect [^>]*class="line" style="fill:url\(#unknown\)"', picture.svg))
    assert outlines == texts(picture).count("not measured") == 5
    assert texts(picture).count("0 B") == 3, "padding of NumPy, and staging of both"
    assert texts(picture).count("simulated") == 4


def test_reserved_is_the_sum_of_three() -> None:
    """A pool that keeps 300 bytes and rounds up by 12, as a GPU's would."""
    report = measured()
    rows = (Row("padding", 12, "measured"), Row("cached", 300, "measured"), *report.rows[2:])
    found = {row.name: row for row in rungs(replace(report, rows=rows))}
    assert found["reserved"] == Row("reserved", 1432 + 12 + 300, "measured")
    assert found["payload"] == Row("payload", 1432, "measured")


def test_a_reserve_that_was_measured_is_taken_as_it_is() -> None:
    report = measured()
    told = Row("reserved", 4096, "measured")
    assert rungs(replace(report, rows=(*report.rows, told)))[-1] == told


def test_measured_and_simulated_side_by_side() -> None:
    """NumPy measured; the pools of Wgpu and CuPy simulated from its log: dashed bars, and every rung but metadata.

    By hand: four buffers of 128, 16, 4 and 4 bytes are rounded to 256 each on Wgpu; on CuPy to 512, as are the three
    of 256. No buffer of the step is made after the peak for which there is no room.
    """
    real = measured(count_nodes=False)
    ladders = {"ndarray": real, "wgpu": simulate(real, "wgpu"), "cuda": simulate(real, "cuda")}
    picture = byte_ladder(ladders)
    title = "Payload 1 432 B on every backend, reserved 2 304 B on wgpu, 4 096 B on cuda; 5 of 21 amounts are not known"
    assert picture.title == title
    rows = {name: {row.name: row for row in rungs(report)} for name, report in ladders.items()}
    assert [rows["wgpu"][name].bytes for name in ("padding", "cached", "reserved")] == [872, 0, 1432 + 872]
    assert [rows["cuda"][name].bytes for name in ("padding", "cached", "reserved")] == [2664, 0, 1432 + 2664]
    assert 4 * 512 - (128 + 16 + 4 + 4) + 3 * 256 == 2664
    assert {row.how for row in rows["ndarray"].values()} == {"measured", "not measured"}
    assert {row.how for row in rows["cuda"].values()} == {"simulated", "not measured"}
    dashed = re.findall(r'<rect [^>]*height="16"[^>]*class="ghost"', picture.svg)
    assert len(dashed) == texts(picture).count("simulated") == 2 * 6
    assert_readable(picture)


def test_one_report_and_titles() -> None:
    picture = byte_ladder(measured())
    assert picture.title == "Payload 1 432 B; 2 of 7 amounts are not known"
    assert byte_ladder(measured(count_nodes=False)).title == "Payload 1 432 B; 3 of 7 amounts are not known"
    full = replace(measured(), rows=tuple(Row(name, 1, "measured") for name in RUNGS[1:]))
    assert byte_ladder(full).title == "Payload 1 432 B, reserved 1 B; all 7 amounts are known"


def test_payloads_that_differ_are_all_told() -> None:
    other = measure(train_mlp, Autodiff[NdArray].device(), 16)
    title = byte_ladder({"a": measured(), "b": other}).title
    assert title.startswith(f"Payload 1 432 B on a, {amount(other.peak_bytes)} on b; ")


def test_no_report() -> None:
    picture = byte_ladder({})
    assert (picture.title, picture.text) == ("No backend to show", "No report was given.")
    assert_readable(picture)


def test_many_backends_stay_small() -> None:
    report = measured()
    picture = byte_ladder({f"backend {number}": report for number in range(12)})
    assert len(picture.html) < 100_000
    assert_readable(picture)


_SCRIPT = """
from tests.memory.jobs import training_step
from tinyburn import memory, viz
picture = viz.byte_ladder({"Meta": memory.plan(training_step, 16)})
"""


def test_same_bytes_in_two_processes() -> None:
    first, second = outputs_of_two_processes(_SCRIPT)
    assert first == second
