"""The pool: what it rounds, keeps, counts and refuses. The device's own count of its buffers is the witness."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import AnyTensor
from tinyburn import BackendMismatch, ConfigError, OutOfMemory, Tensor, Wgpu, memory
from tinyburn.backend import MemoryUsage
from tinyburn.backend.wgpu import pool


def used(device: Any, before: MemoryUsage) -> list[int]:
    """What has been added to each number of the usage since ``before``."""
    after = dataclasses.astuple(device.memory_usage())
    return [now - then for now, then in zip(after, dataclasses.astuple(before), strict=True)]


@pytest.mark.parametrize(
    ("shape", "dtype", "payload", "padding"),
    [
        ((16, 8), "float32", 512, 0),  # a multiple of 256
        ((3,), "float32", 12, 244),
        ((65,), "int32", 260, 252),
        ((100,), "bool", 100, 412),  # stored in 400 bytes, rounded up to 512
        ((0, 4), "float32", 0, 0),
    ],
)
def test_a_buffer_is_rounded_up_to_256_bytes(
    gpu_device: Any, shape: tuple[int, ...], dtype: str, payload: int, padding: int
):
    before = gpu_device.memory_usage()
    tensor = Tensor.zeros(shape, gpu_device, dtype)
    assert used(gpu_device, before)[:3] == [1, payload, padding]
    del tensor
    assert used(gpu_device, before)[:3] == [0, 0, 0]


def test_a_freed_buffer_goes_to_the_next_of_its_size(gpu_device: Any):
    first = Tensor.zeros((64,), gpu_device)
    buffer = first.primitive.storage.buffer
    reserved = gpu_device.memory_usage().bytes_reserved
    del first
    assert gpu_device.memory_usage().bytes_reserved == reserved
    again = Tensor.ones((2, 32), gpu_device)
    assert again.primitive.storage.buffer is buffer
    assert gpu_device.memory_usage().bytes_reserved == reserved


def test_a_tensor_in_a_collected_cycle_gives_its_buffer_back_unharmed(gpu_device: Any):
    """The collector ends all objects of a cycle, also a buffer that nobody else holds: it could not be reused."""
    x = Tensor.ones((77,), gpu_device)
    buffer = x.primitive.storage.buffer
    gpu_device.memory_cleanup()  # now no command that could be bound again holds it either
    cycle: list[Any] = [x]
    cycle.append(cycle)
    del x, cycle
    gc.collect()
    again = Tensor.full((77,), 3.0, gpu_device)
    assert again.primitive.storage.buffer is buffer
    assert again.to_numpy().tolist() == [3.0] * 77


def test_a_view_keeps_the_buffer_and_adds_none(gpu_device: Any):
    before = gpu_device.memory_usage()
    view = Tensor.zeros((8, 8), gpu_device)[2:4].transpose()
    assert used(gpu_device, before)[:2] == [1, 256]
    del view
    assert used(gpu_device, before)[:2] == [0, 0]


def test_ten_thousand_allocations_leave_the_pool_where_it_was(gpu_device: Any):
    x = Tensor.ones((16, 16), gpu_device)
    y = x + x
    created, before = gpu_device.gpu.pool.created, gpu_device.memory_usage()
    for _ in range(10_000):
        y = x + x
    assert used(gpu_device, before)[:3] == [0, 0, 0]
    assert gpu_device.gpu.pool.created - created == 1  # for a moment there is a new result beside the old one
    assert y.to_numpy().sum() == 512


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=30))
def test_the_count_is_that_of_the_device(steps: list[tuple[bool, int]]):
    """Reserved bytes are the sizes of the buffers that WebGPU has handed out and not got back."""
    if Wgpu.why_unavailable() is not None:
        pytest.skip(str(Wgpu.why_unavailable()))
    device: Any = Wgpu.device()
    device.gpu.pool.clear()
    before, alive = device.memory_usage(), []
    for is_new, size in steps:
        if is_new or not alive:
            alive.append(Tensor.zeros((size,), device))
        else:
            alive.pop(size % len(alive))
    number, in_use, padding, reserved = used(device, before)
    assert number == len(alive)
    assert in_use == sum(4 * tensor.shape[0] for tensor in alive)
    buffers = [tensor.primitive.storage.buffer for tensor in alive if tensor.shape[0]]
    assert len(set(map(id, buffers))) == len(buffers)  # no two tensors ever share one
    assert in_use + padding == sum(buffer.size for buffer in buffers)
    device.gpu.pool.clear()
    assert used(device, before)[3] == in_use + padding <= reserved


def step(device: Any, rows: int) -> AnyTensor:
    """A product that every row needs memory for."""
    x = Tensor.ones((rows, 64), device)
    return (x @ Tensor.ones((64, 64), device)).sum()


def test_a_step_that_needs_too_much_fails_once_and_the_next_small_one_works(gpu_device: Any):
    gpu_device.limit_memory(256 * 1024)
    assert step(gpu_device, 100).into_scalar() == 100 * 64 * 64
    message = refusal(gpu_device, 1000)
    for part in ("asked for : 16 384 B", "in use    : 256 000 B", "limit     : 262 144 B", "memory.max_batch_size"):
        assert part in message  # the rows fit, 1000 x 64 x 4 bytes, but then the matrix does not
    assert step(gpu_device, 100).into_scalar() == 100 * 64 * 64


def refusal(device: Any, rows: int) -> str:
    """The message of a step that needs too much. It keeps no traceback, whose frames would hold the tensors."""
    try:
        step(device, rows)
    except MemoryError as error:  # Python's own class for it, which OutOfMemory is too
        return str(error)
    pytest.fail("it did not run out of memory")


def test_the_error_that_a_notebook_keeps_is_not_in_the_way(gpu_device: Any, monkeypatch: pytest.MonkeyPatch):
    """Python keeps the last uncaught error in ``sys.last_value``, and its traceback keeps the tensors of the step."""
    gpu_device.limit_memory(256 * 1024)
    with pytest.raises(OutOfMemory) as kept:
        step(gpu_device, 1000)
    monkeypatch.setattr(sys, "last_value", kept.value, raising=False)
    frames = [frame for frame, _ in traceback.walk_tb(kept.value.__traceback__)]
    assert any("x" in frame.f_locals for frame in frames)  # IPython reads them too; before 3.13 that made a copy
    assert gpu_device.memory_usage().bytes_in_use == 256_000
    assert step(gpu_device, 100).into_scalar() == 100 * 64 * 64


CELLS = """
from tinyburn import Tensor, Wgpu
gpu = Wgpu.device()
gpu.limit_memory(40_000_000)

def step(wrong):
    x = Tensor.ones((4000, 1000), gpu)  # 16 MB
    x = x + 1.0
    if wrong:
        raise wrong("not today")
    return x.sum().into_scalar()
"""


@pytest.mark.parametrize("error", ["ValueError", "KeyboardInterrupt", "MemoryError"])
def test_cells_that_raise_do_not_fill_the_gpu(gpu_device: Any, error: str):
    """What IPython keeps: the last error, its traceback, and the results of cells, in cycles that none collects."""
    pytest.importorskip("IPython")
    script = f"""
import gc
from IPython.core.interactiveshell import InteractiveShell
gc.disable()
shell = InteractiveShell.instance(history_length=0, colors="NoColor")
shell.run_cell({CELLS!r})
for _ in range(3):
    assert not shell.run_cell("step({error})").success
result = shell.run_cell("step(None)")
print("RESULT", result.result, result.error_in_exec)
shell.run_cell("gpu.limit_memory(None)")
assert not shell.run_cell("step({error})").success
shell.run_cell("gpu.memory_cleanup()")
print("HELD", shell.user_ns["gpu"].memory_usage().bytes_in_use)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert "RESULT 8000000.0 None" in lines
    assert "HELD 0" in lines


def test_a_smaller_step_inside_the_except_has_room(gpu_device: Any):
    """The usual way to find a batch that fits. The error in hand keeps the larger step's tensors."""
    gpu_device.limit_memory(256 * 1024)
    try:
        step(gpu_device, 1000)
    except OutOfMemory:
        assert step(gpu_device, 100).into_scalar() == 100 * 64 * 64
    else:
        pytest.fail("it did not run out of memory")


@pytest.mark.parametrize("line", range(1, 12))
def test_an_interrupt_in_any_line_leaves_a_pool_that_counts_right(gpu_device: Any, line: int):
    """Jupyter's stop button between two lines of `Pool.take`: later calls work, and the next cleanup counts anew."""
    before = gpu_device.memory_usage()
    lines = 0
    source, first = inspect.getsourcelines(pool.Pool.take)
    guard = first + next(index for index, text in enumerate(source) if "with self._lock" in text)

    def interrupt(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code is not pool.Pool.take.__code__:
            return None
        # Not in the line of the lock, where a trace can come between the body and the release; a signal cannot.
        lines += event == "line" and frame.f_lineno > guard
        if lines == line:
            raise KeyboardInterrupt
        return interrupt

    sys.settrace(interrupt)
    try:
        Tensor.zeros((1000,), gpu_device)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    assert (Tensor.ones((1000,), gpu_device) + 1.0).sum().into_scalar() == 2000
    gpu_device.memory_cleanup()
    assert gpu_device.memory_usage() == before
    with ThreadPoolExecutor(1) as other:  # the lock is free for other threads, too
        assert other.submit(gpu_device.memory_usage).result(timeout=60) == before


def test_a_limit_holds_for_what_is_on_the_shelves(gpu_device: Any):
    Tensor.zeros((1 << 20,), gpu_device)  # 4 MiB, and gone
    gpu_device.limit_memory(1 << 20)
    assert gpu_device.memory_usage().bytes_reserved <= 1 << 20
    with pytest.raises(OutOfMemory):
        Tensor.zeros((1 << 20,), gpu_device)


@pytest.mark.parametrize("limit", ["4MB", -5, 1e6, True])
def test_a_limit_that_is_no_number_of_bytes_is_refused(gpu_device: Any, limit: Any):
    with pytest.raises(ConfigError, match="not a whole number"):
        gpu_device.limit_memory(limit)
    assert Tensor.ones((4,), gpu_device).sum().into_scalar() == 4


def test_shelves_with_ever_new_sizes_do_not_grow_without_end(gpu_device: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "WGPU_SHELF_BYTES", 1 << 20)
    for size in range(1, 2000):
        Tensor.zeros((64 * size,), gpu_device)
    assert gpu_device.memory_usage().bytes_reserved < 3 << 20


def test_a_copy_shares_the_buffer_and_a_pickle_takes_the_values_along(gpu_device: Any):
    """Values never change, so a copy needs no buffer of its own."""
    x = Tensor.ones((4,), gpu_device)
    twin = copy.deepcopy({"x": x})["x"]
    assert twin.device is x.device
    assert (twin + x).to_numpy().tolist() == [2, 2, 2, 2]
    loaded = pickle.loads(pickle.dumps(x))
    assert loaded.device == gpu_device
    assert (loaded + x).to_numpy().tolist() == [2, 2, 2, 2]
    with pytest.raises(BackendMismatch, match="pickle the tensor"):
        pickle.dumps(x.primitive)


def test_shelves_are_cleared_before_anything_is_refused(gpu_device: Any):
    gpu_device.limit_memory(100_000)
    held = Tensor.ones((10_000,), gpu_device)
    del held
    other = Tensor.ones((20_000,), gpu_device)
    assert other.sum().into_scalar() == 20_000


def test_cleanup_while_commands_wait_does_not_break_them(gpu_device: Any):
    x = Tensor.ones((1000,), gpu_device)
    y = (x + 1.0) * 2.0  # the sum is on a shelf already, and the commands still wait
    gpu_device.memory_cleanup()
    assert y.to_numpy().tolist() == [4.0] * 1000


def test_one_tensor_larger_than_any_buffer_is_refused(gpu_device: Any):
    largest = gpu_device.gpu.device.limits["max-buffer-size"]
    with pytest.raises(OutOfMemory, match="one buffer of this device has at most"):
        Tensor.zeros((largest // 4 + 1,), gpu_device)


def test_the_largest_batch_that_was_planned_fits_and_one_more_step_up_does_not(gpu_device: Any):
    """The plan counts payload; with rows of 256 bytes nothing is padded, so the limit can be met to the byte."""

    def job(device: Any, batch_size: int) -> AnyTensor:
        return step(device, batch_size)

    plan = memory.max_batch_size(job, 300_000)
    gpu_device.memory_cleanup()
    start = gpu_device.memory_usage().bytes_reserved
    gpu_device.limit_memory(start + 300_000 + 512)  # and a line for the two small sums
    assert job(gpu_device, plan.batch_size).into_scalar() == plan.batch_size * 64 * 64
    with pytest.raises(OutOfMemory):
        job(gpu_device, 2 * plan.batch_size)


def test_every_dtype_comes_back_bit_for_bit(gpu_device: Any):
    bits = np.array([0x7FC00001, 0xFF800000, 0x7F800000, 0x80000000, 0x00000001], "uint32")
    values = bits.view("float32")
    assert Tensor.from_data(values, gpu_device).to_numpy().tobytes() == values.tobytes()
    whole = np.array([-(2**31), 2**31 - 1, 0], "int32")
    assert Tensor.from_data(whole, gpu_device).to_numpy().tobytes() == whole.tobytes()
    truths = np.array([True, False, True])
    assert Tensor.from_data(truths, gpu_device).to_numpy().tobytes() == truths.tobytes()
