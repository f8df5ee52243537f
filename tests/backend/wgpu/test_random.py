"""The random numbers of Wgpu against those of the CPU, and the words of its kernel against published ones."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.backend.threefry import KNOWN, threefry, units
from tests.backend.wgpu.raw import compute, evaluate, gpu
from tinyburn.backend.device import RandomState
from tinyburn.backend.random import draw_into, numbers_of
from tinyburn.backend.wgpu.adapter import find_adapter
from tinyburn.backend.wgpu.gpu import open_gpu
from tinyburn.backend.wgpu.kernel import THREADS, grid, wgsl_text
from tinyburn.backend.wgpu.random import draw_on_gpu, random_kernel
from tinyburn.base.distribution import Distribution

Array = np.ndarray[Any, Any]

SEED = 0x0123_4567_89AB_CDEF


def raw_draw(distribution: Any, size: int, draw: int = 0, threads: int = THREADS, start: int = 0) -> Array:
    """One draw on plain `wgpu`, with workgroups of any size."""
    kind = type(distribution).__name__
    source = random_kernel(kind).source.replace(f"@workgroup_size({THREADS})", f"@workgroup_size({threads})")
    numbers, state = numbers_of(distribution), RandomState(SEED, draw)
    rows = grid(size)[1] * THREADS // threads + 1
    row = -(-size // (rows * threads)) * threads
    integers = (size, row, 0, start, *state.key, state.draw, 0)
    params = struct.pack(f"<8I{len(numbers)}f", *integers, *numbers)
    out = np.zeros(size, "float32")
    compute(source, [out, np.array(params + bytes(-len(params) % 16))], (row // threads, rows))
    return out


def gpu_draw(distribution: Any, size: int, draw: int = 0) -> Array:
    """One draw as the backend makes it."""
    gpu()  # skips the test if there is none
    opened = open_gpu(find_adapter(None))
    result = draw_on_gpu(opened.new((size,), np.dtype("float32")), distribution, RandomState(SEED, draw))
    return np.frombuffer(opened.commands.read(result.storage.buffer, 0, size * 4), "float32").copy()


def on_the_cpu(distribution: Any, size: int, draw: int = 0) -> Array:
    """The same draw as NdArray makes it."""
    out = np.empty(size, "float32")
    draw_into(out, distribution, RandomState(SEED, draw))
    return out


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN)
def test_known_answers(key: tuple[int, int], counter: tuple[int, int], result: tuple[int, int]) -> None:
    assert tuple(map(int, threefry(key, counter))) == result
    a, b = (np.array([word], "uint32") for word in counter)
    for axis, word in zip("xy", result, strict=True):
        expression = f"threefry(vec2<u32>({key[0]}u, {key[1]}u), vec2<u32>(a, b)).{axis}"
        assert evaluate(only_threefry(), expression, a, b, dtype="uint32")[0] == word


def only_threefry() -> str:
    """The generator without the functions that turn words into numbers."""
    return wgsl_text("random").partition("// A whole number of 2^-24")[0]


def test_the_generator_is_the_one_in_numpy(rng: np.random.Generator) -> None:
    a, b = rng.integers(0, 2**32, (2, 10_000), dtype="uint32")
    for key in ((1, 0), (0, 1), (0xDEADBEEF, 0x12345678)):
        for axis, expected in zip("xy", threefry(key, (a, b)), strict=True):
            expression = f"threefry(vec2<u32>({key[0]}u, {key[1]}u), vec2<u32>(a, b)).{axis}"
            np.testing.assert_array_equal(evaluate(only_threefry(), expression, a, b, dtype="uint32"), expected)


@pytest.mark.parametrize("size", [1, 127, 128, 129, 10_007])
def test_uniform_numbers_are_the_first_24_bits(size: int) -> None:
    for draw in (0, 1, 2**32 - 1):
        expected = units(SEED, size, draws=draw)
        np.testing.assert_array_equal(raw_draw(Distribution.Uniform(), size, draw), expected)
        np.testing.assert_array_equal(gpu_draw(Distribution.Uniform(), size, draw), expected)


def test_uniform_never_reaches_high() -> None:
    above_1 = float(np.nextafter(np.float32(1), np.float32(2)))
    for low, high in ((-3.0, 5.0), (1.0, 2.0), (1.0, above_1), (-1.0, 0.0)):
        drawn = raw_draw(Distribution.Uniform(low, high), 100_000)
        assert low <= drawn.min()
        assert drawn.max() < high
        np.testing.assert_array_equal(drawn, on_the_cpu(Distribution.Uniform(low, high), 100_000))
    np.testing.assert_array_equal(raw_draw(Distribution.Uniform(3, 3), 100), np.full(100, 3))


def test_normal_numbers_are_those_of_the_cpu() -> None:
    for distribution in (Distribution.Normal(), Distribution.Normal(-3, 0.25)):
        expected = on_the_cpu(distribution, 100_001, draw=5)
        np.testing.assert_allclose(raw_draw(distribution, 100_001, 5), expected, rtol=0, atol=2e-6 * distribution.std)
        np.testing.assert_allclose(gpu_draw(distribution, 100_001, 5), expected, rtol=0, atol=2e-6 * distribution.std)
    np.testing.assert_array_equal(raw_draw(Distribution.Normal(7, 0), 100), np.full(100, 7))


@pytest.mark.parametrize("probability", [0, 1e-3, 0.5, 0.9, 1])
def test_bernoulli_numbers(probability: float) -> None:
    expected = units(SEED, 100_000) < np.float32(probability)
    np.testing.assert_array_equal(raw_draw(Distribution.Bernoulli(probability), 100_000), expected)
    np.testing.assert_array_equal(gpu_draw(Distribution.Bernoulli(probability), 100_000), expected)


@pytest.mark.parametrize(
    "distribution", [Distribution.Uniform(-1, 1), Distribution.Normal(), Distribution.Bernoulli(0.3)], ids=repr
)
def test_workgroups_of_any_size_draw_the_same_bits(distribution: Any) -> None:
    expected = raw_draw(distribution, 5000, 3).tobytes()
    for threads in (1, 32, 256):
        assert raw_draw(distribution, 5000, 3, threads).tobytes() == expected
    assert gpu_draw(distribution, 5000, 3).tobytes() == expected
    assert gpu_draw(distribution, 5000, 4).tobytes() != expected


def test_a_part_is_drawn_alone_as_in_the_whole() -> None:
    whole = raw_draw(Distribution.Normal(), 5000)
    for start in (3000, 3001):
        np.testing.assert_array_equal(raw_draw(Distribution.Normal(), 1234, start=start), whole[start : start + 1234])


def test_an_array_that_no_kernel_sees_at_once_has_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gpu_draw(Distribution.Normal(), 10_007)
    monkeypatch.setattr(open_gpu(find_adapter(None)), "max_binding_bytes", 4096)
    np.testing.assert_array_equal(gpu_draw(Distribution.Normal(), 10_007), whole)
