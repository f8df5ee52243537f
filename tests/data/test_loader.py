"""The loader: orders, last batches, resumption bit for bit, and what becomes of items of every kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import BASES, UnderTest
from tinyburn import ConfigError, DataError, NdArray, Tensor, data

from . import worker_programs
from .worker_programs import numbers

DEVICE = NdArray.device()


def batches(loader: data.DataLoader[Any]) -> list[list[float]]:
    return [batch.to_numpy().tolist() for batch in loader]


@given(st.integers(0, 40), st.integers(1, 9), st.booleans(), st.booleans())
def test_an_epoch_has_each_item_once(count: int, size: int, shuffle: bool, drop_last: bool) -> None:
    loader = data.DataLoader(numbers(count), size, DEVICE, shuffle=shuffle, drop_last=drop_last)
    epoch = batches(loader)
    assert len(loader) == len(epoch) == (count // size if drop_last else -(-count // size))
    seen = sorted(item for batch in epoch for item in batch)
    assert len(seen) == (count // size * size if drop_last else count)
    assert len({*seen}) == len(seen)
    assert all(len(batch) == size for batch in epoch[:-1])


def test_each_epoch_has_an_order_of_its_own_and_a_seed_gives_all_of_them() -> None:
    first, second = (data.DataLoader(numbers(30), 30, DEVICE, shuffle=True, seed=4) for _ in range(2))
    epochs = [batches(first) for _ in range(3)]
    assert epochs == [batches(second) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 7), st.integers(0, 40), st.booleans())
def test_a_state_goes_on_with_the_next_batch(count: int, size: int, taken: int, drop_last: bool) -> None:
    """After any number of batches, over the ends of epochs too."""

    def endless(loader: data.DataLoader[Any]) -> Any:
        while len(loader):
            yield from loader

    options: Any = {"shuffle": True, "seed": 2, "drop_last": drop_last}
    first, second = (data.DataLoader(numbers(count), size, DEVICE, **options) for _ in range(2))
    stream = endless(first)
    for _, _ in zip(range(taken), stream, strict=False):
        pass
    second.load_state(first.state())
    assert second.state() == first.state()
    for mine, other, _ in zip(stream, endless(second), range(12), strict=False):
        np.testing.assert_array_equal(mine.to_numpy(), other.to_numpy())


def test_a_loop_that_was_left_is_not_gone_on_with() -> None:
    loader = data.DataLoader(numbers(10), 2, DEVICE)
    next(iter(loader))
    assert loader.state()["batch"] == 1
    assert len(batches(loader)) == 5
    assert (loader.state()["epoch"], loader.state()["batch"]) == (2, 0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"items": 9}, "its items is 9"),
        ({"seed": 3}, "its seed is 3"),
        ({"epoch": -1}, "epoch is -1"),
        ({"batch": 5}, "batch is 5, and an epoch has 5"),
        ({"batch": True}, "batch is True"),
        ({"other": 1}, "'other' is unknown"),
    ],
)
def test_a_state_of_other_batches_is_refused(change: dict[str, Any], reason: str) -> None:
    loader = data.DataLoader(numbers(10), 2, DEVICE)
    before = loader.state()
    for state in ({**before, **change}, {}, None):
        with pytest.raises(ConfigError, match="load_state") as caught:
            loader.load_state(state)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        loader.load_state({**before, **change})
    assert reason in str(caught.value)
    assert loader.state() == before


def test_every_wrong_argument_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        data.DataLoader([1, 2], 0, "cpu", 3, seed=-1, workers=1.5)  # type: ignore[call-overload]
    for reason in (
        "batch_size is 0",
        "list is no Dataset",
        "str is no device",
        "batcher 3",
        "seed is -1",
        "workers is 1.5",
    ):
        assert reason in str(caught.value)


# What items become


@dataclass(frozen=True)
class Example:
    x: Any
    label: int


class Pair(NamedTuple):
    x: Any
    label: int


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_tuples_dicts_and_dataclasses_become_tensors(base: UnderTest) -> None:
    if base.why_not:
        pytest.skip(base.why_not)
    device = base.device()
    x = np.arange(6, dtype="float32").reshape(3, 2)
    kinds: dict[str, Any] = {
        "tuple": [(row, number) for number, row in enumerate(x)],
        "named": [Pair(row, number) for number, row in enumerate(x)],
        "dict": [{"x": row, "label": number} for number, row in enumerate(x)],
        "dataclass": [Example(row, number) for number, row in enumerate(x)],
    }
    for kind, items in kinds.items():
        (batch,) = data.DataLoader(data.InMemory(items), 3, device)
        found, labels = (
            (batch["x"], batch["label"]) if kind == "dict" else batch if kind == "tuple" else (batch.x, batch.label)
        )
        assert type(batch) is type(items[0])
        np.testing.assert_array_equal(found.to_numpy(), x)
        assert (found.dtype, labels.dtype, labels.shape) == ("float32", device.int_dtype, (3,))


def test_numbers_of_python_get_the_formats_of_the_device_and_arrays_keep_theirs() -> None:
    device = NdArray.device(float_dtype="float64", int_dtype="int32")
    item = (1, 2.0, True, np.float32(3), np.array([4], np.int8), [5.0, 6.0], "text", np.bool_(True))
    (batch,) = data.DataLoader(data.InMemory([item, item]), 2, device)
    formats = [part.dtype if isinstance(part, Tensor) else part for part in batch]
    assert formats == ["int32", "float64", "bool", "float32", "int8", "float64", ["text", "text"], "bool"]
    (mixed,) = data.DataLoader(data.InMemory([1, 2.5]), 2, device)
    assert mixed.to_numpy().tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([np.ones(2), np.ones(3)], r"item 0 and item 1 differ in shape: \(2,\) and \(3,\)"),
        ([np.ones(2), np.ones(2, "float32")], "differ in dtype: float64 and float32"),
        ([{"a": 1}, {"b": 1}], r"differ in names: \['a'\] and \['b'\]"),
        ([(1, 2), (1,)], "differ in length: 2 and 1"),
        ([(1, "a"), (1, 2)], r"differ in type at item\[1\]: str and int"),
        ([1, True], "differ in type: int and bool"),
        ([{"a": [1]}, {"a": [1, 2]}], r"differ in shape at item\['a'\]"),
        ([[1, [2]]], "no array of numbers"),
        ([1, 2**70], f"item 1 has {2**70}, too large for int64"),
    ],
)
def test_items_that_do_not_fit_together_are_named(items: list[Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        next(iter(data.DataLoader(data.InMemory(items), 4, DEVICE)))


def test_a_batcher_gets_the_items_and_its_errors_say_which() -> None:
    def summed(items: list[int], device: Any) -> int:
        return 1 // (7 - items[0])

    loader = data.DataLoader(numbers(8), 1, DEVICE, summed)
    assert next(iter(loader)) == 0
    with pytest.raises(ZeroDivisionError) as caught:
        list(loader)
    assert caught.value.__notes__ == ["in batch 7 of epoch 1, with the items 7"]


def test_a_batch_cut_from_arrays_is_the_stack_of_its_items() -> None:
    columns = data.InMemory.from_arrays(np.arange(12.0).reshape(6, 2), [5, 4, 3, 2, 1, 0])
    for dataset in (columns, columns.shuffle(1), columns.subset([4, 4, 0])):
        (batch,) = data.DataLoader(dataset, 6, DEVICE)
        (other,) = data.DataLoader(data.InMemory([*dataset]), 6, DEVICE)
        for mine, wanted in zip(batch, other, strict=True):
            np.testing.assert_array_equal(mine.to_numpy(), wanted.to_numpy())
            assert mine.dtype == wanted.dtype


def test_a_report_counts_and_prints_nothing_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    loader = data.DataLoader(numbers(10), 4, DEVICE)
    batches(loader)
    assert capsys.readouterr().out == ""
    report = loader.report()
    assert (report.batches, report.items, report.workers, report.waiting) == (3, 10, 0, 0.0)
    assert min(report.reading, report.batching, report.using) > 0
    assert 0 < report.waited_share < 1
    assert "ms a batch" in str(report)


# Workers


def test_workers_give_the_same_batches_resume_and_name_the_item_of_an_error() -> None:
    """In one test, since two processes take a second to start."""
    options: Any = {"shuffle": True, "seed": 3}
    alone = data.DataLoader(numbers(50), 4, DEVICE, **options)
    with data.DataLoader(numbers(50), 4, DEVICE, workers=2, **options) as loader:
        wanted = [batches(alone) for _ in range(3)]
        assert batches(loader) == wanted[0]
        iterator = iter(loader)
        assert [next(iterator).to_numpy().tolist() for _ in range(5)] == wanted[1][:5]
        loader.load_state(loader.state())
        assert batches(loader) == wanted[1][5:]
        assert batches(loader) == wanted[2]
        processes = list(loader._pool.processes)  # type: ignore[union-attr]
        assert loader.report().reading > 0
    assert not any(process.is_alive() for process in processes)


def test_the_first_error_of_a_worker_names_its_item_and_leaves_no_process() -> None:
    loader = data.DataLoader(numbers(50).map(worker_programs.broken_at_seven), 2, DEVICE, workers=1)
    stream = iter(loader)
    assert [next(stream).to_numpy().tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(DataError, match="item 7 raised ValueError: it is seven") as caught:
        next(stream)
    assert "broken_at_seven" in "".join(caught.value.__notes__)
    assert loader._pool is None


def test_a_worker_that_dies_is_an_error_and_no_hang() -> None:
    loader = data.DataLoader(numbers(50).map(worker_programs.deadly), 2, DEVICE, workers=1)
    with pytest.raises(DataError, match="worker 0 has ended, with exit code 3"):
        batches(loader)


def test_a_data_set_that_no_process_can_be_sent_is_refused_before_one_starts() -> None:
    loader = data.DataLoader(numbers(5).map(lambda item: item), 2, DEVICE, workers=1)
    with pytest.raises(ConfigError, match="no lambda"):
        batches(loader)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a group of processes are of POSIX")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_nothing_is_left_behind(how: str) -> None:
    """Ctrl-C reaches every process of a terminal; a kill only the loop's own."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.data.worker_programs"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    workers = [int(word) for word in program.stdout.readline().split()]
    assert len(workers) == 2
    if how == "SIGINT":
        os.killpg(program.pid, signal.SIGINT)
    else:
        program.kill()
    _, errors = program.communicate(timeout=20)
    limit = time.monotonic() + 10
    while any(map(_is_running, workers)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(map(_is_running, workers))
    if how == "SIGINT":
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1
        assert "resource_tracker" not in errors


def test_a_function_that_only_the_first_process_has_is_an_error_with_a_hint() -> None:
    """As one of a notebook's cells is."""
    program = (
        "from tinyburn import NdArray, data\n"
        "def double(item): return 2 * item\n"
        "for batch in data.DataLoader(data.InMemory([1]).map(double), 1, NdArray.device(), workers=1): pass\n"
    )
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 1
    assert "worker 0 could not take the data set: AttributeError" in answer.stderr
    assert "hint: define what the data set uses in a module" in answer.stderr
