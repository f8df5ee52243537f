"""What is only Cuda's: finding CuPy, transfers, the pool, deterministic sums, the numbers behind random draws.

What all backends have in common is tested on Cuda too, by the conformance suite. Everything with an array is skipped
where there is no NVIDIA GPU; the messages about what is missing are tested everywhere.
"""

from __future__ import annotations

import importlib.machinery
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.backend.threefry import KNOWN
from tests.support import const, ints
from tinyburn import Autodiff, BackendUnavailable, Distribution, NdArray, OutOfMemory, ShapeError, Tensor, Traced
from tinyburn.backend.cuda import Cuda, find
from tinyburn.backend.cuda.kernels import KERNELS
from tinyburn.backend.cuda.random import DRAWS
from tinyburn.backend.cuda.scans import SCANS, STEPS, scan_kernel
from tinyburn.backend.operations import OPERATIONS

WHY_NOT = Cuda.why_unavailable()
needs_gpu = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
needs_two = pytest.mark.skipif(len(Cuda.devices()) < 2, reason=WHY_NOT or "there is one NVIDIA GPU, and two are needed")


# Everywhere: what is found


def test_cuda_can_be_decorated_before_cupy_is_loaded() -> None:
    script = (
        "import sys\nfrom tinyburn import Autodiff, Traced\nfrom tinyburn.backend.cuda import Cuda\n"
        "print(Autodiff[Traced[Cuda]].__name__, 'cupy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "Autodiff[Traced[Cuda]] False\n"


def test_cuda_has_its_own_form_of_just_what_ndarray_has() -> None:
    assert [name for name in OPERATIONS if Cuda.composes(name)] == [
        name for name in OPERATIONS if NdArray.composes(name)
    ]


class FakeCuPy(types.ModuleType):
    """As much of CuPy as is asked before a GPU is found: a tool to see each message, not a run of Cuda."""

    class Error(RuntimeError):
        pass

    def __init__(self, version: str = "14.2.0", gpus: int | str = 1, built_for: int = 12090) -> None:
        super().__init__("cupy")
        self.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
        self.__version__ = version
        self._gpus = gpus
        self.cuda = types.SimpleNamespace(
            runtime=types.SimpleNamespace(
                getDeviceCount=self._count, runtimeGetVersion=lambda: built_for, CUDARuntimeError=self.Error
            )
        )

    def _count(self) -> int:
        if isinstance(self._gpus, str):
            raise self.Error(self._gpus)
        return self._gpus


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes this machine look like another: with that CuPy, and with a driver for that CUDA."""

    def look(cupy: FakeCuPy | None, driver: int | None = None) -> None:
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setattr(find, "cp", find._CuPy())
        monkeypatch.setattr(find, "driver_version", lambda: driver)
        find.missing.cache_clear()

    yield look
    monkeypatch.undo()
    find.missing.cache_clear()


NO_GPU = "cudaErrorNoDevice: no CUDA-capable device is detected"
TOO_OLD = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"


@pytest.mark.parametrize(
    ("cupy", "driver", "found", "way_out"),
    [
        (None, None, "CuPy is not installed (and there is no NVIDIA driver)", "install NVIDIA's driver"),
        (None, 11040, "CuPy is not installed (the driver can run CUDA 11.4)", "update the driver"),
        (None, 12080, "CuPy is not installed (the driver can run CUDA 12.8)", 'pip install "tinyburn[cuda12]"'),
        (None, 13010, "CuPy is not installed (the driver can run CUDA 13.1)", 'pip install "tinyburn[cuda13]"'),
        (FakeCuPy("13.6.0"), 12080, "CuPy 13.6.0 is installed, and 14 or newer is needed", "tinyburn[cuda12]"),
        (
            FakeCuPy(gpus=TOO_OLD),
            None,
            "for CUDA 12.9 is installed, but finds no GPU: cudaErrorInsuf",
            "NVIDIA's driver",
        ),
        (FakeCuPy(gpus=TOO_OLD, built_for=13000), 12080, "(the driver can run CUDA 12.8)", "tinyburn[cuda12]"),
        (FakeCuPy(gpus=NO_GPU), 12090, "no CUDA-capable device is detected", "CUDA_VISIBLE_DEVICES"),
        (FakeCuPy(gpus=0), 12090, "it counts 0 GPUs", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_what_is_missing_and_the_way_out(
    machine: Callable[..., None], cupy: Any, driver: int | None, found: str, way_out: str
) -> None:
    machine(cupy, driver)
    missing = Cuda.why_unavailable()
    assert missing is not None
    reason, _, hint = missing.partition("\n  hint: ")
    assert found in reason
    assert way_out in hint
    assert Cuda.devices() == []
    with pytest.raises(BackendUnavailable) as caught:
        Cuda.device()
    assert str(caught.value) == f"Cuda.device\n  because {reason}\n  hint: {hint}"


def test_a_cupy_that_cannot_be_imported_says_why(machine: Callable[..., None]) -> None:
    class Broken(FakeCuPy):
        def __getattribute__(self, name: str) -> Any:
            if name == "__version__":
                raise ImportError("libnvrtc.so.12: cannot open shared object file\nand more")
            return super().__getattribute__(name)

    machine(Broken(), 12080)
    assert "cannot be imported (libnvrtc.so.12: cannot open shared object file)" in str(Cuda.why_unavailable())


@pytest.mark.parametrize("which", ["cuda:2", "cuda", "cpu", "cuda:01", 2, -1, True, 0.5])
def test_a_gpu_that_is_not_there_is_refused_with_those_that_are(machine: Callable[..., None], which: Any) -> None:
    machine(FakeCuPy(gpus=2), 12080)
    assert Cuda.devices() == ["cuda:0", "cuda:1"]
    with pytest.raises(BackendUnavailable, match="there is cuda:0, cuda:1"):
        Cuda.device(which)


def test_gpus_have_names_and_numbers(machine: Callable[..., None]) -> None:
    machine(FakeCuPy(gpus=2), 12080)
    assert [find.find_gpu(which) for which in (None, 0, 1, "cuda:0", "cuda:1")] == [0, 0, 1, 0, 1]


def test_each_kernel_is_text_that_can_be_read_without_a_gpu() -> None:
    scans = [scan_kernel(name, step) for name in SCANS for step in STEPS]
    for row in (*KERNELS.values(), *DRAWS.values(), *scans):
        assert row.output.split()[-1] == "y"
        assert "y" in row.code


# On an NVIDIA GPU


@contextmanager
def no_copies() -> Iterator[list[int]]:
    """Counts copies from the host, and raises for a copy to it or a wait.

    CuPy stages each array that comes from the host in pinned memory, which is counted; and it has a switch that makes
    every wait for the GPU an error, which a copy to the host is.
    """
    import cupy
    import cupyx

    sizes: list[int] = []

    def counted(size: int) -> Any:
        sizes.append(size)
        return pool.malloc(size)

    pool = cupy.cuda.PinnedMemoryPool()
    cupy.cuda.set_pinned_memory_allocator(counted)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with cupyx.allow_synchronize(False):
                yield sizes
    finally:
        cupy.cuda.set_pinned_memory_allocator(cupy.get_default_pinned_memory_pool().malloc)


@needs_gpu
def test_the_counter_itself_sees_both_directions() -> None:
    import cupyx

    device = Cuda.device()
    x = Tensor.ones((3,), device)
    with no_copies() as from_host:
        Cuda.from_numpy(np.ones(3), device)
        assert len(from_host) == 1
        with pytest.raises(cupyx.DeviceSynchronized):
            Cuda.to_numpy(x.primitive)


@needs_gpu
def test_a_step_copies_nothing_to_or_from_the_host() -> None:
    device = Autodiff[Cuda].device()
    device.seed(0)
    values = np.random.default_rng(0)
    x = const(values.standard_normal((16, 8)), device)
    y = const(values.standard_normal((16, 4)), device)
    weight = const(values.standard_normal((8, 4)), device).require_grad()
    index = ints([[3, 1, 0, 1]] * 16, device)
    with no_copies() as from_host:
        drawn = Tensor.random((16, 4), Distribution.Bernoulli(0.5), device)
        error = (x @ weight - y) * drawn
        error = error.gather(0, index).scatter(0, index, error).select(1, index[0].reshape((4,)))
        loss = (error.tanh() ** 2).mean() + error.erf().std(0).sum() + error.mask_fill(error > 0.0, 1.0).sum()
        gradient = weight.grad(loss.backward())
        assert from_host == []
    assert gradient is not None
    assert np.isfinite(gradient.to_numpy()).all()


@needs_gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_thousand_hits_on_one_index_sum_exactly_and_the_same_each_time(dtype: str) -> None:
    """1 000 ones are exact in each format. For the bits of other numbers, the order decides: it is the indices' own."""
    device = Cuda.device(float_dtype=dtype)
    here = ints([7] * 1000, device)
    ones = Tensor.ones((1000,), device)
    assert Tensor.zeros((10,), device).select_assign(0, here, ones).to_numpy()[7] == 1000
    values = np.random.default_rng(1).standard_normal((1000, 3)).astype(dtype)
    spread = np.random.default_rng(2).integers(0, 5, 1000)
    runs = [
        Tensor.zeros((5, 3), device).select_assign(0, ints(spread, device), const(values, device)) for _ in range(3)
    ]
    in_order = np.zeros((5, 3), dtype)
    for row, value in zip(spread, values, strict=True):
        in_order[row] += value
    assert {run.to_numpy().tobytes() for run in runs} == {in_order.tobytes()}


@needs_gpu
def test_scatter_with_many_parts_and_lines_equals_numpy() -> None:
    """Whole numbers, whose sums are exact: a line cut into parts, many short lines, more indices than places."""
    device, draw = Cuda.device(int_dtype="int64"), np.random.default_rng(4)
    for shape, dim, count in (((100_003,), 0, 5000), ((7, 20_000), 0, 50), ((3, 300, 5), 1, 1000)):
        sizes = (*shape[:dim], count, *shape[dim + 1 :])
        indices, values = draw.integers(0, shape[dim], sizes), draw.integers(-9, 9, sizes)
        expected = NdArray.scatter(np.zeros(shape, "int64"), dim, indices, values)
        found = Tensor.zeros(shape, device, "int64").scatter(dim, ints(indices, device), ints(values, device))
        assert found.to_numpy().tolist() == expected.tolist()


@needs_gpu
def test_an_index_outside_wraps_around() -> None:
    device = Cuda.device()
    x = Tensor.arange(0, 4, device)
    outside = ints([4, -1, 9], device)
    assert x.select(0, outside).to_numpy().tolist() == [0, 3, 1]
    assert x.gather(0, outside).to_numpy().tolist() == [0, 3, 1]
    assert x.scatter(0, outside, Tensor.full((3,), 10, device, "int64")).to_numpy().tolist() == [10, 11, 2, 13]


@needs_gpu
def test_an_index_into_a_dim_without_entries_is_refused() -> None:
    device = Cuda.device()
    nothing, index, value = Tensor.zeros((0,), device), ints([0], device), Tensor.ones((1,), device)
    calls: list[Callable[[], Any]] = [
        lambda: nothing.select(0, index),
        lambda: nothing.gather(0, index),
        lambda: nothing.scatter(0, index, value),
        lambda: nothing.select_assign(0, index, value),
    ]
    for call in calls:
        with pytest.raises(ShapeError, match="size 0"):
            call()


@needs_gpu
def test_threefry_gives_the_published_numbers() -> None:
    import cupy

    words = cupy.ElementwiseKernel(
        "uint32 key_low, uint32 key_high, uint32 block, uint32 draw",
        "uint32 a, uint32 b",
        "Words x = threefry(key_low, key_high, block, draw); a = x.first; b = x.second;",
        "threefry_words",
        preamble=DRAWS["uniform"].before,
    )
    for key, counter, result in KNOWN:
        found = words(*[cupy.full(1, word, "uint32") for word in (*key, *counter)])
        assert tuple(int(word[0]) for word in found) == result


@needs_gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "distribution",
    [Distribution.Uniform(-1.3, 2.7), Distribution.Normal(0.5, 2), Distribution.Bernoulli(0.3)],
    ids=repr,
)
def test_draws_are_those_of_the_cpu(distribution: Any, dtype: str) -> None:
    """Uniform and Bernoulli numbers bit for bit."""
    within = {"float16": 8e-3, "float32": 4e-6, "float64": 1e-14}[dtype] * isinstance(distribution, Distribution.Normal)
    devices = NdArray.device(float_dtype=dtype), Cuda.device(float_dtype=dtype)
    for device in devices:
        device.seed(9)
    for shape in ((3, 5), (401, 250)):
        expected, found = (Tensor.random(shape, distribution, device).to_numpy() for device in devices)
        np.testing.assert_allclose(found, expected, rtol=0, atol=within)


@needs_gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("distribution", "mean", "std"),
    [
        (Distribution.Normal(1.0, 2.0), 1.0, 2.0),
        (Distribution.Uniform(-1.0, 3.0), 1.0, 4 / 12**0.5),
        (Distribution.Bernoulli(0.25), 0.25, (0.25 * 0.75) ** 0.5),
    ],
    ids=repr,
)
def test_draws_have_their_mean_and_spread(distribution: Any, mean: float, std: float, dtype: str) -> None:
    """From 200 000 draws; five standard errors off is no accident."""
    device = Cuda.device(float_dtype=dtype)
    device.seed(3)
    values = Tensor.random((200, 1000), distribution, device).to_numpy().astype("float64")
    assert abs(values.mean() - mean) < 5 * std / 200_000**0.5 + 1e-3 * (dtype == "float16")
    assert abs(values.std() - std) < 0.02 * std


@needs_gpu
def test_draws_go_on_where_they_stood_and_depend_on_nothing_but_the_seed() -> None:
    device, other = Cuda.device(), Cuda.device()
    for each in (device, other):
        each.seed(5)
    draw = lambda size, on: Tensor.random((size,), Distribution.Default, on).to_numpy().tolist()  # noqa: E731
    together = draw(100, device)
    assert draw(30, other) == together[:30]
    state = device.random_state()
    after = draw(10, device)
    assert after != together[:10]
    device.set_random_state(state)
    assert draw(10, device) == after


@needs_gpu
def test_the_pool_is_counted_to_the_byte() -> None:
    device = Cuda.device()
    device.memory_cleanup()
    before = device.memory_usage()
    kept = [Tensor.zeros((100,), device), Tensor.zeros((129,), device), Tensor.zeros((0,), device)]
    now = device.memory_usage()
    assert now.number_allocs == before.number_allocs + 2
    assert now.bytes_in_use == before.bytes_in_use + 400 + 516
    assert now.bytes_padding == before.bytes_padding + (512 - 400) + (1024 - 516)
    assert now.bytes_reserved >= now.bytes_in_use + now.bytes_padding
    del kept
    after = device.memory_usage()
    assert (after.number_allocs, after.bytes_in_use) == (before.number_allocs, before.bytes_in_use)
    assert after.bytes_reserved == now.bytes_reserved
    device.memory_cleanup()
    assert device.memory_usage().bytes_reserved < now.bytes_reserved


@needs_gpu
def test_ten_thousand_allocations_leave_the_pool_where_it_was() -> None:
    device = Cuda.device()
    x = Tensor.zeros((1000,), device)
    x = x + 1.0
    before = device.memory_usage()
    for _ in range(10_000):
        x = x + 1.0
    assert device.memory_usage() == before
    assert x.to_numpy()[0] == 10_001


@pytest.fixture
def small() -> Iterator[Any]:
    """A device that may hold a mebibyte more than it does."""
    device = Cuda.device()
    device.memory_cleanup()
    device.limit_memory((device.memory_usage().bytes_reserved or 0) + 2**20)
    yield device
    device.limit_memory(None)


@needs_gpu
def test_out_of_memory_is_one_clear_error_and_the_next_small_step_works(small: Any) -> None:
    with pytest.raises(OutOfMemory) as caught:
        Tensor.zeros((2**20,), small)
    message = str(caught.value)
    for part in ("asked for : 4 194 304 B", "in use", "limit", "max_batch_size", "del"):
        assert part in message
    assert Tensor.ones((1000,), small).sum().into_scalar() == 1000


@needs_gpu
def test_steps_that_raised_are_not_in_the_way(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One holds 0.8 MB of the last error that nobody caught; the others are in cycles."""
    with pytest.raises(ZeroDivisionError) as kept:
        _fails(small)
    monkeypatch.setattr(sys, "last_value", kept.value, raising=False)
    for _ in range(2):
        cycle: list[Any] = [Tensor.ones((50_000,), small)]
        cycle.append(cycle)
        del cycle
        assert Tensor.ones((200_000,), small).to_numpy().sum() == 200_000


def _fails(device: Any) -> float:
    x = Tensor.ones((200_000,), device)
    return x.shape[0] / 0


@needs_gpu
def test_what_is_cached_makes_room_before_anything_fails(small: Any) -> None:
    for size in (200_000, 100_000, 240_000, 50_000):  # each fits alone, and not beside what the last one left
        assert Tensor.ones((size,), small).to_numpy().sum() == size


@needs_gpu
def test_a_limit_can_be_lifted(small: Any) -> None:
    small.limit_memory(None)
    assert Tensor.zeros((2**20,), small).shape == (2**20,)


@needs_gpu
def test_results_are_new_buffers_and_need_no_other() -> None:
    """The most that is in use during an operation is its result: the pool, emptied before, has taken just that."""
    device = Cuda.device()
    side = 1024
    a = Tensor.full((side, side), 1.5, device).primitive
    mask = Cuda.greater(a, 1.0)
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: Cuda.add(a, a),
        "multiply_no_nan": lambda: Cuda.multiply_no_nan(a, a),
        "scaled_mul": lambda: Cuda.scaled_mul(a, a, 2.0),
        "relu_backward": lambda: Cuda.relu_backward(a, a),
        "mask_where": lambda: Cuda.mask_where(a, mask, a),
        "reshape": lambda: Cuda.reshape(Cuda.permute(a, (1, 0)), (side * side,)),
        "random": lambda: Cuda.random((side, side), Distribution.Normal(), device.float_dtype, device),
    }
    for name, call in calls.items():
        call()  # compiles, and sets up what CuPy keeps
        device.memory_cleanup()
        before = device.memory_usage().bytes_reserved or 0
        result = call()
        assert (device.memory_usage().bytes_reserved or 0) - before == 4 * side * side, name
        del result


@needs_gpu
def test_operations_go_into_the_current_stream() -> None:
    import cupy

    device = Cuda.device()
    with cupy.cuda.Stream() as stream:
        x = Tensor.ones((1000,), device) * 2.0
        stream.synchronize()
        assert x.sum().into_scalar() == 2000
    device.sync()


@needs_gpu
def test_traced_counts_what_the_pool_counts() -> None:
    device: Any = Traced[Cuda].device()
    before = device.inner.memory_usage()
    x = Tensor.ones((100,), device)
    y = x * 2.0
    counted, pool = device.memory_usage(), device.inner.memory_usage()
    assert counted.bytes_in_use == 800
    assert pool.bytes_in_use - before.bytes_in_use == 800
    assert y.shape == x.shape


@needs_two
def test_operations_run_where_their_arrays_lie() -> None:
    """The current GPU is the first; CuPy by itself would read the second's memory from there."""
    first, second = Cuda.device(0), Cuda.device(1)
    second.seed(0)
    x = Tensor.random((10, 10), Distribution.Normal(), second)
    product = x @ x.transpose() + Tensor.ones((10, 10), second)
    assert product.primitive.data.device_id == 1
    moved = product.to_device(first)
    assert moved.primitive.data.device_id == 0
    assert moved.to_numpy().tolist() == product.to_numpy().tolist()
    assert first != second
