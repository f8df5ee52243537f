"""Random numbers that are counted, not remembered: Philox 4x32-10, of Salmon et al. 2011.

A usual generator walks from state to state, one number after the other, which thousands of threads cannot do together.
Philox is a function of a counter: ten rounds of multiplying and mixing turn each whole number into four random ones.
So every element draws for itself, and all that a device remembers is its seed and how far it has counted. The draws do
not depend on the GPU, and go straight into the result, in its own format.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution, Distribution
from tinyburn.base.shape import Shape

from .find import cp
from .kernels import CudaKernel, compiled

_PHILOX = """
struct Four { unsigned int a, b, c, d; };

__device__ Four philox(unsigned long long counter, unsigned long long key) {
    Four x = {(unsigned int)counter, (unsigned int)(counter >> 32), 0, 0};
    unsigned int key_low = key, key_high = key >> 32;
    for (int round = 0; round < 10; ++round) {
        unsigned long long p = 0xD2511F53ull * x.a, q = 0xCD9E8D57ull * x.c;
        x = {(unsigned int)(q >> 32) ^ x.b ^ key_low, (unsigned int)q,
             (unsigned int)(p >> 32) ^ x.d ^ key_high, (unsigned int)p};
        key_low += 0x9E3779B9u;
        key_high += 0xBB67AE85u;
    }
    return x;
}

// A number of [0, 1), with as many random bits as its format can tell apart. A float16 is drawn as a float.
__device__ float unit(unsigned int a, unsigned int b, float) { return (a >> 8) * (1.0f / 16777216.0f); }
__device__ double unit(unsigned int a, unsigned int b, double) {
    return ((((unsigned long long)a << 32) | b) >> 11) * (1.0 / 9007199254740992.0);
}
"""

# Each kernel begins so: four random words for element i, and u in [0, 1) in the result's format, or float for float16.
# What follows declares more numbers of that type.
_BITS = "Four x = philox(first + i, key); auto u = unit(x.a, x.b, T(0)); decltype(u) "

DRAWS = {
    "uniform": CudaKernel(
        "uint64 key, uint64 first, float64 low, float64 width",
        "T y",
        _BITS + "w = width, l = low; y = l + w * u;",
        _PHILOX,
    ),
    # Box and Muller 1958: a random angle, and a length that makes both coordinates normal. One of them is used.
    "normal": CudaKernel(
        "uint64 key, uint64 first, float64 mean, float64 std",
        "T y",
        _BITS + "v = unit(x.c, x.d, T(0)), m = mean, s = std; y = m + s * sqrt(-2 * log(1 - u)) * cospi(2 * v);",
        _PHILOX,
    ),
    "bernoulli": CudaKernel(
        "uint64 key, uint64 first, float64 probability",
        "T y",
        _BITS + "p = probability; y = u < p ? 1.0f : 0.0f;",
        _PHILOX,
    ),
}


@dataclass
class Generator:
    """A device's random numbers.

    Attributes:
        key: 64 bits that choose one of 2^64 sequences.
        count: how many of the sequence have been drawn.
    """

    key: int
    count: int = 0

    @classmethod
    def from_seed(cls, seed: int | None) -> Generator:
        """The start of a sequence. Seeds that are close give keys that are not; None is a seed of the system."""
        return cls(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))

    def draw(self, shape: Shape, distribution: AnyDistribution, dtype: np.dtype[Any]) -> Any:
        """Independent draws, on the current GPU."""
        parameters: tuple[float, ...]
        if isinstance(distribution, Distribution.Normal):
            name, parameters = "normal", (distribution.mean, distribution.std)
        elif isinstance(distribution, Distribution.Bernoulli):
            name, parameters = "bernoulli", (distribution.probability,)
        else:
            name, parameters = "uniform", (distribution.low, distribution.high - distribution.low)
        out = cp.empty(shape, dtype)
        compiled(name, DRAWS[name])(np.uint64(self.key), np.uint64(self.count), *parameters, out)
        self.count += prod(shape)
        return out
