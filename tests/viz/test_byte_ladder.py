"""The byte ladder: each amount with how it is known, and no 0 where nobody measured."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.memory.jobs import train_mlp, training_step
from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import Autodiff, NdArray
from tinyburn.memory import MemoryReport, Row, measure, plan
from tinyburn.text import amount
from tinyburn.viz import byte_ladder
from tinyburn.viz.byte_ladder import RUNGS, rungs


def measured(count_nodes: bool = True) -> MemoryReport:
    return measure(training_step, Autodiff[NdArray].device(), 16, count_nodes=count_nodes)


def test_two_backends() -> None:
    """NumPy pads nothing and cannot tell what it keeps. On shapes there is no allocator at all."""
    picture = byte_ladder({"NdArray": measured(), "Meta": plan(training_step, 16)})
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
    assert picture.title == "Payload 1 432 B on every backend; 5 of 14 amounts were not measured"
    assert_readable(picture)


def test_what_was_not_measured_has_an_outline_and_no_number() -> None:
    picture = byte_ladder({"NdArray": measured(), "Meta": plan(training_step, 16)})
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


def test_one_report_and_titles() -> None:
    picture = byte_ladder(measured())
    assert picture.title == "Payload 1 432 B; 2 of 7 amounts were not measured"
    assert byte_ladder(measured(count_nodes=False)).title == "Payload 1 432 B; 3 of 7 amounts were not measured"
    full = replace(measured(), rows=tuple(Row(name, 1, "measured") for name in RUNGS[1:]))
    assert byte_ladder(full).title == "Payload 1 432 B; all 7 amounts are known"


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
