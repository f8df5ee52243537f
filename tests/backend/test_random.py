"""Random numbers: Threefry's published words, what a draw makes of them, and that nothing else matters."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.backend.threefry import KNOWN, threefry, units
from tests.support import BASES, NDARRAY, UnderTest, params
from tinyburn import Autodiff, Distribution, NdArray, Tensor, Traced
from tinyburn.backend.blocks import scratch
from tinyburn.backend.device import RandomState
from tinyburn.backend.random import draw_into
from tinyburn.backend.random import threefry as ours
from tinyburn.base.errors import ConfigError

Array = np.ndarray[Any, Any]

SEED = 0x0123_4567_89AB_CDEF
FORMATS = ("float16", "float32", "float64")
SIZES = (0, 1, 2, 3, 16_383, 16_384, 16_385, 32_768, 32_769, 70_001)
"""Around the ends of the blocks that NumPy draws in: 32 768 numbers of float32, 16 384 of float64."""
DISTRIBUTIONS = (Distribution.Uniform(-1.3, 2.7), Distribution.Normal(0.5, 2), Distribution.Bernoulli(0.3))
WITHIN = 2e-6
"""By how many standard deviations a normal number may differ between backends."""


def drawn(distribution: Any, size: int, dtype: str = "float32", draws: int = 0, seed: int = SEED) -> Array:
    """One draw as NdArray makes it."""
    out = np.empty(size, dtype)
    draw_into(out, distribution, RandomState(seed, draws))
    return out


# The words


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN)
def test_known_answers(key: tuple[int, int], counter: tuple[int, int], result: tuple[int, int]) -> None:
    s = scratch((3,), np.dtype("uint32"))
    s.y.fill(counter[0])
    s.z.fill(counter[1])
    ours(s, key)
    assert (s.y.tolist(), s.z.tolist()) == ([result[0]] * 3, [result[1]] * 3)
    assert tuple(map(int, threefry(key, counter))) == result


def test_the_key_is_the_last_64_bits_of_a_seed() -> None:
    assert RandomState(SEED).key == (0x89ABCDEF, 0x01234567)
    assert RandomState(7).key == (7, 0)
    assert RandomState(2**64 + 5).key == (5, 0)
    assert RandomState(0, 2**32 + 3).draw == 3


# What a draw makes of them


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_uniform_numbers_are_the_first_bits(size: int, dtype: str) -> None:
    """24 bits of a word for float32, 53 of a block for float64. A float16 that rounds up to 1 becomes 0."""
    for draws in (0, 1, 2**32 - 1):
        expected = units(SEED, size, dtype, draws).astype(dtype)
        expected[expected == 1] = 0
        np.testing.assert_array_equal(drawn(Distribution.Uniform(), size, dtype, draws), expected)


@pytest.mark.parametrize("dtype", FORMATS)
def test_uniform_never_reaches_high(dtype: str) -> None:
    above_1 = float(np.nextafter(np.array(1, dtype), np.array(2, dtype)))
    for low, high in ((-3.0, 5.0), (1.0, 2.0), (1.0, above_1), (-1.0, 0.0)):
        numbers = drawn(Distribution.Uniform(low, high), 100_000, dtype)
        assert low <= numbers.min()
        assert numbers.max() < high
    np.testing.assert_array_equal(drawn(Distribution.Uniform(3, 3), 100, dtype), np.full(100, 3))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("probability", [0, 1e-3, 0.5, 0.9, 1])
def test_bernoulli_numbers(probability: float, dtype: str) -> None:
    u = units(SEED, 70_001, dtype)
    numbers = drawn(Distribution.Bernoulli(probability), 70_001, dtype)
    np.testing.assert_array_equal(numbers, u < u.dtype.type(probability))


@pytest.mark.parametrize(("dtype", "within"), [("float16", 3e-3), ("float32", WITHIN), ("float64", 4e-15)])
@pytest.mark.parametrize("size", [1, 2, 32_769, 70_001])
def test_normal_numbers_are_those_of_box_and_muller(size: int, dtype: str, within: float) -> None:
    u = units(SEED, size + size % 2, dtype).astype("float64")
    length, angle = np.sqrt(-2 * np.log(1 - u[0::2])), 2 * np.pi * (u[1::2] - 0.5)
    expected = np.stack([length * np.cos(angle), length * np.sin(angle)], 1).reshape(-1)[:size]
    np.testing.assert_allclose(drawn(Distribution.Normal(), size, dtype), expected, rtol=0, atol=within)
    moved = drawn(Distribution.Normal(-3, 0.25), size, dtype)
    np.testing.assert_allclose(moved, -3 + 0.25 * expected, rtol=0, atol=within)
    np.testing.assert_array_equal(drawn(Distribution.Normal(7, 0), size, dtype), np.full(size, 7))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_have_their_moments(dtype: str) -> None:
    """Each within five standard errors, and the share within one, two and three deviations as the bell curve has."""
    size = 400_000
    numbers = drawn(Distribution.Normal(), size, dtype, draws=5).astype("float64")
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((numbers**power).mean() - moment) < 5 * np.sqrt(variance / size)
    for deviations, share in ((1, 0.682689492), (2, 0.954499736), (3, 0.997300204)):
        assert abs((np.abs(numbers) < deviations).mean() - share) < 5 * np.sqrt(share * (1 - share) / size)


def test_neighbours_draws_and_seeds_are_independent() -> None:
    """No correlation beyond five standard errors, also of seeds that are close."""
    size = 400_000
    first, second, other = (
        drawn(Distribution.Uniform(-0.5, 0.5), size, "float64", draws, seed) for draws, seed in ((0, 3), (1, 3), (0, 4))
    )
    for a, b in ((first[1:], first[:-1]), (first[2:], first[:-2]), (first, second), (first, other)):
        assert abs((a * b).mean() * 12) < 5 / np.sqrt(size)
    normal = drawn(Distribution.Normal(), size)
    assert abs((normal[0::2] * normal[1::2]).mean()) < 5 / np.sqrt(size / 2)


# Nothing else matters


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_an_element_depends_on_its_place_alone(distribution: Any, dtype: str) -> None:
    """Not on how many are drawn with it."""
    whole = drawn(distribution, SIZES[-1], dtype)
    for size in SIZES:
        assert drawn(distribution, size, dtype).tobytes() == whole[:size].tobytes()
    assert drawn(distribution, 100, dtype, draws=1).tobytes() != whole[:100].tobytes()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize("base", params([base for base in BASES if base is not NDARRAY]))
def test_every_backend_draws_the_same(base: UnderTest, distribution: Any) -> None:
    """Uniform and Bernoulli numbers bit for bit, normal ones nearly; the second and the third draw as the first."""
    devices = NDARRAY.device("float32"), base.device("float32")
    for device in devices:
        device.seed(SEED)
    for shape in ((3, 5), (1,), (401, 250)):
        expected, found = (Tensor.random(shape, distribution, device).to_numpy() for device in devices)
        if isinstance(distribution, Distribution.Normal):
            np.testing.assert_allclose(found, expected, rtol=0, atol=WITHIN * distribution.std)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("base", params([UnderTest(NdArray), *BASES]))
def test_a_state_is_small_and_brings_a_device_back(base: UnderTest) -> None:
    plain = base.device("float32")
    for device in (plain, base.inside(Autodiff).inside(Traced).device("float32")):
        device.seed(4)
        draw = lambda at=device: Tensor.random((5,), Distribution.Normal(), at).to_numpy().tolist()  # noqa: E731
        first = draw()
        state = device.random_state()
        assert state == RandomState(seed=4, draws=1)
        assert len(pickle.dumps(state)) < 100
        second = draw()
        assert second != first
        device.set_random_state(pickle.loads(pickle.dumps(state)))
        assert draw() == second
        device.set_random_state((4, 0))
        assert draw() == first


def test_devices_without_a_seed_differ() -> None:
    states = {NdArray.device().random_state() for _ in range(100)}
    assert len(states) == 100


@pytest.mark.parametrize("state", [None, 3, (1,), (1, -2), (1.0, 2), {"seed": 1, "draws": 2}, [1, 2]])
def test_what_is_no_state_is_refused(state: Any) -> None:
    device: Any = NdArray.device()
    before = device.random_state()
    with pytest.raises(ConfigError, match=r"is no state of random numbers\n  hint: .*random_state"):
        device.set_random_state(state)
    assert device.random_state() == before
