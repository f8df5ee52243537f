"""The random numbers of ``backend/random.py`` on a GPU: each thread works out its own, in one kernel.

A generator that goes on from its last number would make thousands of threads wait for one another. These numbers are a
function of the seed and of their place, so workgroups of any size draw the same, and drawing a part again gives that
part. All of it is our own WGSL, in ``random.wgsl``, and so are the sine and the logarithm: the same on every GPU.
"""

from __future__ import annotations

import re
from functools import cache

from tinyburn.base.distribution import AnyDistribution

from ..device import RandomState
from ..random import numbers_of
from ..strided import StridedArray
from .commands import Kernel
from .gpu import gpu_of, halves
from .kernel import as_scalar, build, pack, wgsl_text

DISTRIBUTIONS: dict[str, str] = {
    "Uniform": "uniform_of(u, params.low, params.width, params.high, params.nothing)",
    "Normal": "params.mean + params.deviation * normal_of(words, element & 1u)",
    "Bernoulli": "select(0.0, 1.0, u < params.probability)",
}
"""What each distribution makes of two random words, of which ``u`` is the number of this element. Its parameters are
those of `numbers_of`, in their order."""


@cache
def random_kernel(kind: str) -> Kernel:
    """Draws one number a thread.

    Parameters: where to write, the number of the first element, the key, the draw, a zero, the distribution's numbers.
    """
    words = ["result_start", "first", "key_low", "key_high", "draw", "nothing"]
    parameters = [(name, "u32") for name in words] + [(name, "f32") for name in _numbers(kind)]
    body = f"""    let element = params.first + i;
    let words = threefry(vec2<u32>(params.key_low, params.key_high), vec2<u32>(element / 2u, params.draw));
    let u = unit_of(words[element & 1u]);
    result[params.result_start + i] = {DISTRIBUTIONS[kind]};"""
    return build(f"random {kind}", [], "f32", parameters, wgsl_text("random"), body)


def _numbers(kind: str) -> list[str]:
    """The names of a distribution's numbers in its WGSL, where `std` is a reserved word."""
    return [name for name in re.findall(r"params\.(\w+)", DISTRIBUTIONS[kind]) if name != "nothing"]


def draw_on_gpu(
    result: StridedArray, distribution: AnyDistribution, state: RandomState, first: int = 0
) -> StridedArray:
    """Fills a row-major float32 array with the numbers of a draw, from number ``first`` on."""
    gpu = gpu_of(result)
    if not gpu.can_bind(result):  # in two halves, the second with the numbers that follow
        low, high = halves(result.view((result.size,), (1,)), 0)
        draw_on_gpu(low, distribution, state, first)
        draw_on_gpu(high, distribution, state, first + low.size)
    elif result.size:
        kernel = random_kernel(type(distribution).__name__)
        binding, result_start = gpu.bind(result)
        numbers = [as_scalar(value, "f32") for value in numbers_of(distribution)]
        words = [result_start, first, *state.key, state.draw, 0]
        parameters, groups = pack(kernel, result.size, [*words, *numbers])
        gpu.commands.run(kernel, (binding,), parameters, groups)
    return result
