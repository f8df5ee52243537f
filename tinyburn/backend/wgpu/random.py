"""Random numbers that a GPU draws: each thread works out its own, from the seed and its place alone.

A generator that goes on from its last number would make thousands of threads wait for one another. Threefry has no
such state. It is a function that scrambles a counter with a key, so well that what comes out cannot be told from
chance. The key is the seed. The counter is the number of the element and the number of the draw. So the same seed
gives the same numbers on every GPU and in workgroups of any size, and drawing a part again gives that part.

The sine, the logarithm and the scrambling are our own WGSL, the same everywhere.
"""

from __future__ import annotations

import re
from dataclasses import astuple
from functools import cache

from tinyburn.base.distribution import AnyDistribution

from ..strided import StridedArray
from .commands import Kernel
from .gpu import gpu_of
from .kernel import as_scalar, build, pack

_WORD = 0xFFFFFFFF  # the largest u32

THREEFRY = """
// One round: the first word becomes the sum of both; the second has its bits rotated, and is mixed with that sum.
fn threefry_round(x: vec2<u32>, by: u32) -> vec2<u32> {
    let sum = x.x + x.y;
    return vec2<u32>(sum, ((x.y << by) | (x.y >> (32u - by))) ^ sum);
}

// Threefry-2x32 with 20 rounds, by Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (2011). After every fourth round, the next two of three key words are added, and the number of the step.
fn threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
    var keys = vec3<u32>(key, key.x ^ key.y ^ 0x1bd11bdau);
    var x = counter + key;
    for (var step = 1u; step <= 5u; step += 1u) {
        let by = select(vec4<u32>(17u, 29u, 16u, 24u), vec4<u32>(13u, 15u, 26u, 6u), (step & 1u) == 1u);
        x = threefry_round(threefry_round(threefry_round(threefry_round(x, by.x), by.y), by.z), by.w);
        keys = keys.yzx;
        x += vec2<u32>(keys.x, keys.y + step);
    }
    return x;
}

// A whole number of 2^-24 in [0, 1): as many digits as a float32 has, so that nothing is rounded.
fn unit_of(word: u32) -> f32 {
    return f32(word >> 8u) * 0x1p-24;
}

// A number of [low, high). A sum that rounds up to `high` becomes `low`.
fn uniform_of(word: u32, low: f32, high: f32) -> f32 {
    let value = low + unit_of(word) * (high - low);
    return select(value, low, value >= high);
}

// A standard normal number, by Box and Muller: a random point of the plane has the angle of a random turn and the
// distance sqrt(-2 log u). The u in (0, 1] keeps the logarithm finite, and the result within 5.8. The point's
// other coordinate is not used: so each element depends on its own counter only.
fn normal_of(words: vec2<u32>) -> f32 {
    let distance = sqrt_of(-2.0 * log_of(1.0 - unit_of(words.x)));
    return distance * cos_of_turn(words.y);
}
"""

DISTRIBUTIONS: dict[str, str] = {
    "Uniform": "uniform_of(words.x, params.low, params.high)",
    "Normal": "params.mean + params.deviation * normal_of(words)",
    "Bernoulli": "select(0.0, 1.0, unit_of(words.x) < params.probability)",
}
"""What each distribution makes of two random words. Its parameters are its attributes, in their order."""


@cache
def random_kernel(kind: str) -> Kernel:
    """Draws one number a thread. Parameters: where to write, the first counter, the key, the draw, the numbers."""
    words = ["result_start", "counter_start", "seed_low", "seed_high", "draw"]
    parameters = [(name, "u32") for name in words] + [(name, "f32") for name in _numbers(kind)]
    body = f"""    let key = vec2<u32>(params.seed_low, params.seed_high);
    let words = threefry(key, vec2<u32>(params.counter_start + i, params.draw));
    result[params.result_start + i] = {DISTRIBUTIONS[kind]};"""
    return build(f"random {kind}", [], "f32", parameters, THREEFRY, body)


def _numbers(kind: str) -> list[str]:
    """The names of a distribution's numbers in its WGSL, where `std` is a reserved word."""
    return re.findall(r"params\.(\w+)", DISTRIBUTIONS[kind])


def draw_into(
    result: StridedArray, distribution: AnyDistribution, seed: int, draw: int, counter_start: int = 0
) -> StridedArray:
    """Fills a row-major float32 array. ``draw`` is how many draws there were before with this seed.

    Of both numbers the last bits count: 64 of the seed, 32 of the draw.
    """
    gpu = gpu_of(result)
    if not gpu.can_bind(result):  # in two halves, the second with the counters that follow
        first, second = result.view((result.size,), (1,)).halves(0)
        draw_into(first, distribution, seed, draw, counter_start)
        draw_into(second, distribution, seed, draw, counter_start + first.size)
    elif result.size:
        kernel = random_kernel(type(distribution).__name__)
        binding, result_start = gpu.bind(result)
        numbers = [as_scalar(value, "f32") for value in astuple(distribution)]
        words = [result_start, counter_start, *split_seed(seed), draw & _WORD]
        parameters, groups = pack(kernel, result.size, [*words, *numbers])
        gpu.commands.run(kernel, (binding,), parameters, groups)
    return result


def split_seed(seed: int) -> tuple[int, int]:
    """The two words of a key: the last 32 bits of a seed, and the 32 before."""
    return seed & _WORD, (seed >> 32) & _WORD
