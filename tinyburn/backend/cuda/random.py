"""The random numbers of ``backend/random.py`` in CUDA C++: each element draws for itself.

They go straight into the result, in its own format, and do not depend on the GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.backend.device import SeededDevice
from tinyburn.backend.random import numbers_of
from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.shape import Shape

from .find import cp
from .kernels import CudaKernel, compiled

_THREEFRY = """
struct Words { unsigned int first, second; };

// Threefry-2x32 with 20 rounds. A round adds the second word to the first, rotates the second, and mixes the sum into
// it. After every fourth round two of the three words of the key are added, and the number of the step.
__device__ Words threefry(unsigned int key_low, unsigned int key_high, unsigned int block, unsigned int draw) {
    const int by[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const unsigned int keys[3] = {key_low, key_high, key_low ^ key_high ^ 0x1BD11BDAu};
    Words x = {block + keys[0], draw + keys[1]};
    for (int round = 0; round < 20; ++round) {
        x.first += x.second;
        x.second = (x.second << by[round % 8] | x.second >> (32 - by[round % 8])) ^ x.first;
        if (round % 4 == 3) {
            int step = round / 4 + 1;
            x.first += keys[step % 3];
            x.second += keys[(step + 1) % 3] + step;
        }
    }
    return x;
}

// Number i of [0, 1) of a draw: 24 bits of a word, two numbers a block, or 53 bits of a block. The last argument only
// tells the format. A float16 is drawn as a float.
__device__ float unit(unsigned int low, unsigned int high, unsigned int draw, unsigned int i, float) {
    Words x = threefry(low, high, i / 2, draw);
    return ((i % 2 ? x.second : x.first) >> 8) * (1.0f / 16777216.0f);
}
__device__ double unit(unsigned int low, unsigned int high, unsigned int draw, unsigned int i, double) {
    Words x = threefry(low, high, i, draw);
    return x.first * (1.0 / 4294967296.0) + (x.second >> 11) * (1.0 / 9007199254740992.0);
}

// low + width * u in two steps. The compiler would take them in one, which rounds once instead of twice.
__device__ float between(float low, float width, float u) { return __fadd_rn(low, __fmul_rn(width, u)); }
__device__ double between(double low, double width, double u) { return __dadd_rn(low, __dmul_rn(width, u)); }
"""

_STATE = "uint32 key_low, uint32 key_high, uint32 draw, "
_UNIT = "unit(key_low, key_high, draw, {at}, T(0))"
# Each kernel but the normal one begins so: u in [0, 1) in the result's format, or float for float16. What follows
# declares more numbers of that type.
_U = f"auto u = {_UNIT.format(at='i')}; decltype(u) "

DRAWS = {
    "uniform": CudaKernel(
        _STATE + "float64 low, float64 width, float64 high",
        "T y",
        _U + "l = low, w = width, h = high; y = T(between(l, w, u)); if (y >= T(h)) y = T(l);",
        _THREEFRY,
    ),
    # Two neighbours share a random point of the plane: the first takes its one coordinate, the second the other.
    "normal": CudaKernel(
        _STATE + "float64 mean, float64 std",
        "T y",
        f"auto u = {_UNIT.format(at='i & ~1')}; "
        f"decltype(u) v = {_UNIT.format(at='i | 1')}, m = mean, s = std, angle = 2 * v - 1; "
        "y = T(m + s * sqrt(-2 * log(1 - u)) * (i % 2 ? sinpi(angle) : cospi(angle)));",
        _THREEFRY,
    ),
    "bernoulli": CudaKernel(
        _STATE + "float64 probability",
        "T y",
        _U + "p = probability; y = T(u < p ? 1.0f : 0.0f);",
        _THREEFRY,
    ),
}


def draw(shape: Shape, distribution: AnyDistribution, dtype: np.dtype[Any], device: SeededDevice[Any]) -> Any:
    """The next draw of a device, on the current GPU. Where there is no room for it, none was made."""
    name = type(distribution).__name__.lower()
    out = cp.empty(shape, dtype)
    state = device.next_draw()
    words = [np.uint32(word) for word in (*state.key, state.draw)]
    compiled(name, DRAWS[name])(*words, *numbers_of(distribution), out)
    return out
