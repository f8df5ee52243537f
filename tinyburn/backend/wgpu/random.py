"""Random numbers that a GPU draws: each thread works out its own, from the seed and the number of its element.

A generator that goes on from its last number would make thousands of threads wait for one another. Threefry has no
such state. It is a function that scrambles a counter with a key, so well that what comes out cannot be told from
chance. The key is the seed. The counter is the number of the element and the number of the draw. So the same seed
gives the same numbers on every GPU and in workgroups of any size, and drawing a part again gives that part.

The scrambling is our own WGSL, in ``random.wgsl``, and so are the sine and the logarithm: the same everywhere.
"""

from __future__ import annotations

import re
from dataclasses import astuple
from functools import cache

from tinyburn.base.distribution import AnyDistribution

from ..strided import StridedArray
from .commands import Kernel
from .gpu import gpu_of, halves
from .kernel import as_scalar, build, pack, wgsl_text

_WORD = 0xFFFFFFFF  # the largest u32

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
    return build(f"random {kind}", [], "f32", parameters, wgsl_text("random"), body)


def _numbers(kind: str) -> list[str]:
    """The names of a distribution's numbers in its WGSL, where `std` is a reserved word."""
    return re.findall(r"params\.(\w+)", DISTRIBUTIONS[kind])


def draw_into(
    result: StridedArray, distribution: AnyDistribution, seed: int, draw: int, counter_start: int = 0
) -> StridedArray:
    """Fills a row-major float32 array. ``draw`` is how many draws there were before with this seed.

    Only the last 64 bits of the seed and the last 32 bits of the draw count.
    """
    gpu = gpu_of(result)
    if not gpu.can_bind(result):  # in two halves, the second with the counters that follow
        first, second = halves(result.view((result.size,), (1,)), 0)
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
