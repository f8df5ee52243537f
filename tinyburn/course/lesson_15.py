"""Exercises of lesson 15: rounded sizes, batches that keep the pool small, what travels, out of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyburn import OutOfMemory, RunConfig, ShapeError, Tensor, memory

from .exercises import exercise

ROUNDING = 256


@exercise(
    "15.1",
    hints=(
        "Each tensor has a buffer of its own.",
        "Round each payload up to a multiple of 256, and then add.",
    ),
    solution="answer = 512 + 256 + 256",
    wrong=("answer = 400 + 256 + 4", "answer = 768", "answer = 3 * 512"),
)
def rounded_and_added(answer: int) -> bool:
    """The payloads are 400, 256 and 4 bytes."""
    return answer == sum(-(-payload // ROUNDING) * ROUNDING for payload in (400, 256, 4))


@exercise(
    "15.2",
    hints=(
        "When does a step need a buffer that the first step has not made?",
        "The last batch must be as large as all others: nothing may be left over.",
    ),
    solution="answer = 50",
    wrong=("answer = 32", "answer = 60", "answer = 25", "answer = 100"),
)
def nothing_is_left_over(answer: int) -> bool:
    """1 000 is a multiple of it."""
    return 30 <= answer <= 60 and 1000 % answer == 0


@exercise(
    "15.3",
    hints=(
        "Which of the two lines in the loop brings the same values in again and again?",
        "Make x before the loop, begin with a tensor of zeros, add on the device, and read one number at the end.",
    ),
    solution="""
def answer(device, batch):
    x = tb.Tensor.from_data([[1.0] * 8] * batch, device)
    total = tb.Tensor.zeros((1,), device)
    for _ in range(100):
        total = total + (x * 2).mean()
    return x, total.into_scalar()
""",
    wrong=(
        """
def answer(device, batch):
    x = tb.Tensor.from_data([[1.0] * 8] * batch, device)
    return x, sum((x * 2).mean().into_scalar() for _ in range(100))
""",
        """
def answer(device, batch):
    x = tb.Tensor.from_data([[1.0] * 8] * batch, device)
    return x, (x * 2).mean().into_scalar()
""",
        "answer = lambda device, batch: (tb.Tensor.ones((16, 8), device), 200.0)",
    ),
)
def travels_once(job: Callable[..., Any]) -> bool:
    """For several batches: x and the total are those of the careless job, and x goes in once."""
    for batch in (16, 5):
        results: list[Any] = []
        report = memory.measure(_kept(job, results), RunConfig().init(), batch)
        staging = next(row.bytes for row in report.rows if row.name == "staging")
        ((x, total),) = results
        if x.shape != (batch, 8) or not isinstance(total, float) or abs(total - 200) > 0.01:
            return False
        if staging is None or staging > batch * 8 * 4 + 4:
            return False
    return bool((x.to_numpy() == 1).all())


def _kept(job: Callable[..., Any], results: list[Any]) -> Callable[..., Any]:
    """The same job, whose results can be looked at afterwards."""

    def run(device: Any, batch: int) -> Any:
        results.append(job(device, batch))
        return results[-1][0]

    return run


@exercise(
    "15.4",
    hints=(
        "Catch tb.OutOfMemory, and no other error.",
        "while True: try the job and return the batch; in the except, batch = batch // 2. With 0 left, raise it.",
    ),
    solution="""
def answer(job, device, batch):
    while True:
        try:
            job(device, batch)
            return batch
        except tb.OutOfMemory:
            if batch == 1:
                raise
            batch //= 2
""",
    wrong=(
        """
def answer(job, device, batch):
    try:
        job(device, batch)
        return batch
    except tb.OutOfMemory:
        return batch // 2
""",
        """
def answer(job, device, batch):
    while True:
        try:
            job(device, batch)
            return batch
        except Exception:
            batch //= 2
            if batch == 0:
                return 0
""",
        """
def answer(job, device, batch):
    while True:
        try:
            job(device, batch)
            return batch
        except tb.OutOfMemory:
            batch -= 1
""",
    ),
)
def halves_until_it_fits(function: Callable[..., int]) -> bool:
    """For jobs with room for some samples; another error has to come through."""
    device = RunConfig().init()
    for room, batch, expected in ((100, 64, 64), (100, 1000, 62), (1, 7, 1)):
        if function(_with_room(room), device, batch) != expected:
            return False
    try:
        function(_broken, device, 8)
    except ShapeError:
        return True
    return False


def _with_room(room: int) -> Callable[[Any, int], Any]:
    """A job that is out of memory for more samples than that."""

    def job(device: Any, batch: int) -> Any:
        if batch > room:
            raise OutOfMemory("a new buffer", f"there is room for {room} samples")
        return Tensor.ones((batch, 2), device)

    return job


def _broken(device: Any, batch: int) -> Any:
    """A job that fails for another reason."""
    raise ShapeError("matmul", "the inner dims differ")
