"""The random numbers of Wgpu, bit for bit against the same generator in NumPy, and against published vectors."""

from __future__ import annotations

import struct
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from tests.backend.wgpu.raw import compute, evaluate, gpu
from tinyburn.backend.wgpu.adapter import find_adapter
from tinyburn.backend.wgpu.gpu import open_gpu
from tinyburn.backend.wgpu.kernel import THREADS, grid, wgsl_text
from tinyburn.backend.wgpu.random import draw_into, random_kernel, split_seed
from tinyburn.base.distribution import Distribution

Array = np.ndarray[Any, Any]

SEED = 0x0123_4567_89AB_CDEF

# Key, counter and result of Threefry-2x32 with 20 rounds, as Random123 publishes them: 0, all ones, digits of pi.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def threefry(key: tuple[int, int], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Threefry-2x32 with 20 rounds, in NumPy."""
    keys = [*map(np.uint32, key), np.uint32(key[0] ^ key[1] ^ 0x1BD11BDA)]
    with np.errstate(over="ignore"):
        x, y = np.uint32(counter[0]) + keys[0], np.uint32(counter[1]) + keys[1]
        for number in range(20):
            by = (13, 15, 26, 6, 17, 29, 16, 24)[number % 8]
            x = x + y
            y = (y << np.uint32(by) | y >> np.uint32(32 - by)) ^ x
            if number % 4 == 3:
                step = number // 4 + 1
                x, y = x + keys[step % 3], y + keys[(step + 1) % 3] + np.uint32(step)
    return x, y


def words(size: int, draw: int = 0, start: int = 0) -> tuple[Any, Any]:
    """The two random words of each element."""
    return threefry(split_seed(SEED), (np.arange(start, start + size, dtype="uint32"), draw))


def raw_draw(distribution: Any, size: int, draw: int = 0, threads: int = THREADS, start: int = 0) -> Array:
    """One draw on plain `wgpu`, with workgroups of any size."""
    kind = type(distribution).__name__
    source = random_kernel(kind).source.replace(f"@workgroup_size({THREADS})", f"@workgroup_size({threads})")
    numbers = astuple(distribution)
    rows = grid(size)[1] * THREADS // threads + 1
    row = -(-size // (rows * threads)) * threads
    integers = (size, row, 0, start, *split_seed(SEED), draw)
    params = struct.pack(f"<7I{len(numbers)}f", *integers, *numbers)
    out = np.zeros(size, "float32")
    compute(source, [out, np.array(params + bytes(-len(params) % 16))], (row // threads, rows))
    return out


def gpu_draw(distribution: Any, size: int, draw: int = 0) -> Array:
    """One draw as the backend makes it."""
    gpu()  # skips the test if there is none
    opened = open_gpu(find_adapter(None))
    result = draw_into(opened.new((size,), np.dtype("float32")), distribution, SEED, draw)
    return np.frombuffer(opened.commands.read(result.storage.buffer, 0, size * 4), "float32").copy()


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
        expected = (words(size, draw)[0] >> 8) * 2.0**-24
        np.testing.assert_array_equal(raw_draw(Distribution.Uniform(), size, draw), expected)
        np.testing.assert_array_equal(gpu_draw(Distribution.Uniform(), size, draw), expected)


def test_uniform_never_reaches_high() -> None:
    above_1 = float(np.nextafter(np.float32(1), np.float32(2)))
    for low, high in ((-3.0, 5.0), (1.0, 2.0), (1.0, above_1), (-1.0, 0.0)):
        drawn = raw_draw(Distribution.Uniform(low, high), 100_000)
        assert low <= drawn.min()
        assert drawn.max() < high
        u = words(100_000)[0] >> 8
        np.testing.assert_allclose(drawn, low + u * 2.0**-24 * (high - low), atol=3e-7 * (high - low) + 6e-8 * high)
    np.testing.assert_array_equal(raw_draw(Distribution.Uniform(3, 3), 100), np.full(100, 3))


def test_normal_numbers_are_those_of_box_and_muller() -> None:
    first, second = (x.astype("float64") for x in words(100_000))
    distance = np.sqrt(-2 * np.log(1 - np.floor(first / 256) / 2**24))
    expected = distance * np.cos(2 * np.pi * second / 2**32)
    np.testing.assert_allclose(raw_draw(Distribution.Normal(), 100_000), expected, rtol=3e-6, atol=1e-6)
    np.testing.assert_allclose(
        gpu_draw(Distribution.Normal(-3, 0.25), 100_000), -3 + 0.25 * expected, rtol=3e-6, atol=1e-6
    )
    np.testing.assert_array_equal(raw_draw(Distribution.Normal(7, 0), 100), np.full(100, 7))


def test_normal_numbers_have_their_moments() -> None:
    """Each within five standard errors, and the share within one, two and three deviations as the bell curve has."""
    size = 400_000
    drawn = raw_draw(Distribution.Normal(), size, draw=5).astype("float64")
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((drawn**power).mean() - moment) < 5 * np.sqrt(variance / size)
    for deviations, share in ((1, 0.682689492), (2, 0.954499736), (3, 0.997300204)):
        assert abs((np.abs(drawn) < deviations).mean() - share) < 5 * np.sqrt(share * (1 - share) / size)


def test_neighbours_and_draws_are_independent() -> None:
    """No correlation beyond five standard errors: of neighbours, of draws, of the two words that make a normal."""
    size = 400_000
    first, second = (raw_draw(Distribution.Uniform(), size, draw).astype("float64") - 0.5 for draw in (0, 1))
    words_of = [word / 2**32 - 0.5 for word in words(size)]
    for a, b in ((first[1:], first[:-1]), (first, second), (words_of[0], words_of[1])):
        assert abs((a * b).mean() * 12) < 5 / np.sqrt(size)


@pytest.mark.parametrize("probability", [0, 1e-3, 0.5, 0.9, 1])
def test_bernoulli_numbers(probability: float) -> None:
    u = ((words(100_000)[0] >> 8) * 2.0**-24).astype("float32")
    expected = (u < np.float32(probability)).astype("float32")
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
    np.testing.assert_array_equal(raw_draw(Distribution.Normal(), 1234, start=3000), whole[3000:4234])


def test_an_array_that_no_kernel_sees_at_once_has_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gpu_draw(Distribution.Normal(), 10_007)
    monkeypatch.setattr(open_gpu(find_adapter(None)), "max_binding_bytes", 4096)
    np.testing.assert_array_equal(gpu_draw(Distribution.Normal(), 10_007), whole)


def test_a_seed_has_64_bits() -> None:
    assert split_seed(SEED) == (0x89ABCDEF, 0x01234567)
    assert split_seed(7) == (7, 0)
    assert split_seed(-1) == (0xFFFFFFFF, 0xFFFFFFFF)
    assert split_seed(2**64 + 5) == (5, 0)
