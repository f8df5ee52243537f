"""`Timed`: with a clock that the test moves, every span is counted by hand; and real ranks compute the same with it."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel import laps, learners
from tests.parallel.ranks import answers, needs_mpi
from tinyburn import Autodiff, BackendMismatch, ConfigError, Meta, NdArray, RanksDiffer, Tensor, nn, optim, parallel
from tinyburn.parallel import Lap, Span, Timed

PROGRAM = Path(laps.__file__)
PARAMETERS = 4 * 6 + 6 + 6 * 3 + 3
"""Of `learners.Net`, each of them 8 bytes in float64."""
STEPS = 2 * 5
"""Two epochs of 22 items in batches of 5."""


class Clock:
    """It stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(parallel.Pretend):
    """Rank 0 of 2, with another one that has the same values: a meeting takes 3 seconds, and an exchange 2."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(0, 2)
        self.clock = clock

    def meet(self, place: str, *numbers: float) -> list[tuple[float, ...]]:
        self.clock.now += 3
        if place == "nowhere":
            raise RanksDiffer("the ranks are at different places", "the other one is elsewhere")
        return super().meet(place, *numbers)

    def gather(self, place: str, value: Any) -> list[Any]:
        self.meet(place)
        return super().gather(place, value)

    def _exchanged_in_2_seconds(self, a: Any) -> Any:
        self.clock.now += 2
        return a

    def _send(self, root: int, device: Any, a: Any, may_overwrite: bool) -> Any:
        return self._exchanged_in_2_seconds(a)

    def _sum(self, device: Any, a: Any, may_overwrite: bool) -> Any:
        return self._exchanged_in_2_seconds(np.add(a, a))

    def _sum_part(self, device: Any, a: Any, may_overwrite: bool) -> Any:
        return self._exchanged_in_2_seconds(np.add(a, a)[: -(-len(a) // 2)])

    def _join(self, count: int, device: Any, a: Any, may_overwrite: bool) -> Any:
        return self._exchanged_in_2_seconds(np.concatenate([a, a])[:count])


def slow() -> tuple[Timed, Clock]:
    clock = Clock()
    return Timed(Slow(clock), clock=clock), clock


def check_touching(lap: Lap) -> None:
    """From 0 on, each span begins where the one before ends; so their lengths are that of the lap."""
    assert lap[0].start == 0
    assert all(one.stop == other.start for one, other in pairwise(lap))
    assert sum(span.seconds for span in lap) == pytest.approx(lap[-1].stop)


def done(lap: Lap) -> list[tuple[str, str, int]]:
    return [(span.doing, span.name, span.bytes) for span in lap if span.doing != "compute"]


# By hand


def test_a_lap_by_hand() -> None:
    """5 s of work, a meeting of 3 s, 1 s of work, and an all_reduce that meets first."""
    comm, clock = slow()
    clock.now += 5
    assert comm.meet("here\nand all that has to be the same", 7) == [(7,), (7,)]
    clock.now += 1
    total = comm.all_reduce(Tensor.from_data([1.0, 2.0, 3.0], NdArray.device()))
    assert total.to_numpy().tolist() == [2.0, 4.0, 6.0]
    lap = comm.lap()
    assert lap == (
        Span("compute", "", 0, 5, 0),
        Span("wait", "here", 5, 8, 0),
        Span("compute", "", 8, 9, 0),
        Span("wait", "all_reduce of (3,) float32", 9, 12, 0),
        Span("compute", "", 12, 12, 0),
        Span("send", "all_reduce", 12, 14, 12),
        Span("compute", "", 14, 14, 0),
    )
    check_touching(lap)


def test_each_exchange_is_a_span_with_the_bytes_of_its_tensor() -> None:
    """float64 has 8 bytes. Of 5 numbers rank 0 has 3. A sum of float16 is done in float32, unless the library can."""
    comm, _ = slow()
    device = NdArray.device(float_dtype="float64")
    row, half = Tensor.ones((5,), device), Tensor.ones((5,), device, dtype="float16")
    comm.broadcast(row, is_met=True)
    part = comm.reduce_scatter(row, is_met=True)
    comm.all_gather(part, 5, is_met=True)
    comm.all_reduce(half, is_met=True)
    comm.gather("words", "any")
    assert done(comm.lap()) == [
        ("send", "broadcast", 40),
        ("send", "reduce_scatter", 40),
        ("send", "all_gather", 24),
        ("send", "all_reduce", 20),
        ("wait", "words", 0),
    ]
    inner = Slow(Clock())
    inner.sums_half = True
    exact = Timed(inner)
    exact.all_reduce(half, is_met=True)
    assert done(exact.lap()) == [("send", "all_reduce", 10)]


def test_a_lap_begins_where_the_one_before_ends() -> None:
    comm, clock = slow()
    clock.now += 5
    comm.meet("here")
    assert len(comm.lap()) == 3
    assert comm.lap() == (Span("compute", "", 0, 0, 0),)
    clock.now += 2
    assert comm.lap() == (Span("compute", "", 0, 2, 0),)


def test_a_meeting_that_fails_has_taken_its_time() -> None:
    comm, clock = slow()
    with pytest.raises(RanksDiffer):
        comm.meet("nowhere")
    clock.now += 4
    assert comm.lap() == (
        Span("compute", "", 0, 0, 0),
        Span("wait", "nowhere", 0, 3, 0),
        Span("compute", "", 3, 7, 0),
    )


def test_what_a_gpu_still_computes_is_no_waiting() -> None:
    """A device that is 4 s behind: they pass before the meeting begins."""

    class Behind:
        float_dtype = "float32"
        seconds = 4

        def sync(self) -> None:
            clock.now += self.seconds
            self.seconds = 0

    clock, device = Clock(), Behind()
    device.seconds = 0
    comm = Timed(Slow(clock), device, clock)  # type: ignore[arg-type]
    device.seconds = 4
    comm.meet("here")
    assert [span.seconds for span in comm.lap()] == [4, 3, 0]


# In place of a communicator


def test_it_stands_for_the_communicator_inside() -> None:
    comm, _ = slow()
    assert (comm.rank, comm.size) == (0, 2)
    assert repr(comm) == "Timed(Slow(rank=0, size=2))"
    assert copy.deepcopy(parallel.Sharded(optim.AdamConfig().init(), comm)).comm is comm


def test_one_process_by_itself_sends_nothing() -> None:
    comm = Timed(parallel.Alone())
    tensor = Tensor.ones((3,), NdArray.device())
    assert comm.all_reduce(tensor) is tensor
    assert comm.meet("here", 1.5) == [(1.5,)]
    assert comm.gather("there", "a") == ["a"]
    lap = comm.lap()
    assert done(lap) == [("wait", "here", 0), ("wait", "there", 0)]
    check_touching(lap)


def test_on_shapes_nothing_is_sent_and_meetings_are_there() -> None:
    comm = Timed(parallel.Pretend(1, 4))
    assert comm.reduce_scatter(Tensor.ones((10,), Meta.device())).shape == (3,)
    assert done(comm.lap()) == [("wait", "reduce_scatter of (10,) float32", 0)]


@pytest.mark.parametrize("optimizer", ["whole", "sharded"])
def test_a_learner_plans_with_it_as_without(optimizer: str) -> None:
    def planned(comm: parallel.Communicator) -> int:
        config = optim.AdamConfig()
        inner = parallel.Sharded(config.init(), comm) if optimizer == "sharded" else config.init()
        made, batches, _ = learners.learner(comm, inner, metrics=[])
        return made.plan(next(iter(batches))).report.peak_bytes

    clock = Clock()
    comm = Timed(Slow(clock), clock=clock)
    assert planned(comm) == planned(Slow(clock))


def test_a_plan_is_no_part_of_a_lap() -> None:
    comm, _ = slow()
    made, batches, _ = learners.learner(comm, metrics=[])
    comm.lap()
    made.plan(next(iter(batches)))
    assert done(comm.lap()) == []


def test_only_a_communicator_is_timed() -> None:
    for wrong in (None, 3, "mpi", parallel.Mpi, optim.AdamConfig()):
        with pytest.raises(ConfigError, match=r"should be a communicator[\s\S]*parallel\.Mpi\(\)"):
            Timed(wrong)  # type: ignore[arg-type]
    with pytest.raises(BackendMismatch, match="NdArray is not a device"):
        Timed(parallel.Alone(), NdArray)  # type: ignore[arg-type]


def test_a_step_of_gradients_by_hand() -> None:
    """One bucket for all: 3 * 2 + 2 numbers in float32, after one meeting."""
    comm, clock = slow()
    device = Autodiff[NdArray].device()
    layer = nn.LinearConfig(3, 2).init(device)
    grads = layer(Tensor.ones((4, 3), device)).sum().backward()
    comm.lap()
    clock.now += 6
    parallel.all_reduce(grads, layer, comm, 4)
    lap = comm.lap()
    assert [doing for doing, _, _ in done(lap)] == ["wait", "send"]
    assert sum(span.bytes for span in lap) == 4 * (3 * 2 + 2)
    assert [span.seconds for span in lap] == [6, 3, 0, 2, 0]


# Real ranks


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, 2, tmp_path_factory.mktemp("laps"))


def laps_of(rank: Any, optimizer: str) -> list[Lap]:
    """As they were before they were JSON."""
    return [tuple(Span(*row) for row in lap) for lap in rank[optimizer]["laps"]]


@needs_mpi
@pytest.mark.parametrize("optimizer", laps.OPTIMIZERS)
def test_training_has_the_same_bits_with_and_without_it(ranks: list[Any], optimizer: str) -> None:
    found = [rank[optimizer] for rank in ranks]
    assert len({bits for rank in found for bits in (rank["plain"], rank["timed"])}) == 1


@needs_mpi
@pytest.mark.parametrize("optimizer", laps.OPTIMIZERS)
def test_all_ranks_wait_and_send_in_one_order(ranks: list[Any], optimizer: str) -> None:
    first, second = (laps_of(rank, optimizer) for rank in ranks)
    assert len(first) == len(second) == STEPS
    for one, other in zip(first, second, strict=True):
        check_touching(one)
        check_touching(other)
        assert [call[:2] for call in done(one)] == [call[:2] for call in done(other)]
        assert {"wait", "send"} == {doing for doing, _, _ in done(one)}
    assert [rank[optimizer]["rows"] for rank in ranks] == [2, 2]


@needs_mpi
def test_the_bytes_are_those_of_the_gradients(ranks: list[Any]) -> None:
    """A sharded step sums all gradients, and each rank then hands out its share of the new parameters."""
    for rank in ranks:
        for lap in laps_of(rank, "whole"):
            assert sent(lap) == {"all_reduce": 8 * PARAMETERS}
    for one, other in zip(*(laps_of(rank, "sharded") for rank in ranks), strict=True):
        assert sent(one)["reduce_scatter"] == sent(other)["reduce_scatter"] == 8 * PARAMETERS
        assert sent(one)["all_gather"] + sent(other)["all_gather"] == 8 * PARAMETERS


def sent(lap: Lap) -> dict[str, int]:
    names = [span.name for span in lap if span.doing == "send"]
    return {name: sum(span.bytes for span in lap if span.name == name) for name in names}
