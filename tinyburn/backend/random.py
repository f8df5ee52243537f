"""Random numbers that are counted, not remembered: the same seed draws the same numbers on every backend.

A usual generator walks: each number comes from the one before, which thousands of threads cannot do together. Here a
number is a function of its place. *Threefry* scrambles a counter with a key, so well that what comes out cannot be told
from chance. The key is the seed of the device. The counter is made of two words of 32 bits: which block, and which
draw. Two random words come out. So element ``i`` of a draw depends on the seed, on the number of the draw and on ``i``,
and on nothing else: not on the backend, nor on the order, nor on how many threads share the work.

What a draw makes of the words, on every backend:

1. ``u[i]``, a number of [0, 1). As float32 it is the first 24 bits of word ``i % 2`` of block ``i // 2``. As float64 it
   is the first 53 bits of block ``i``. A float16 is drawn as float32, and rounded at the end.
2. Uniform: ``low + u[i] * (high - low)``; what was rounded up to ``high`` becomes ``low``. Bernoulli: 1 where ``u[i]``
   is below the probability. Both are the same bit for bit everywhere.
3. Normal, by Box and Muller: two numbers make a random point of the plane, whose coordinates are both normal. Its
   distance is ``r = sqrt(-2 log(1 - u[2j]))`` and its angle ``t = 2 pi (u[2j + 1] - 1/2)``. Element ``2j`` is
   ``r cos(t)``, and ``2j + 1`` is ``r sin(t)``. Backends compute log, cos and sin in their own way, so the last digits
   may differ: in float32 by 2e-6 standard deviations at most. No number lies beyond 5.8 of them, in float64 beyond 8.6.

Sources: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), for Threefry-2x32 with 20
rounds; Box and Muller, "A note on the generation of random normal deviates" (1958).

What a device remembers of them is in ``device.py``. This file computes with NumPy; ``cuda/random.py`` and
``wgpu/random.wgsl`` are the same in other languages.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution, Distribution

from .blocks import BLOCK_BYTES, NumPyArray, Scratch, scratch
from .device import WORD, RandomState

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
"""By how many bits each round of Threefry rotates; after eight rounds they start again."""
ROUNDS = 20
PARITY = 0x1BD11BDA
"""What makes the third word of a key from the two others, so that no key is all zeros."""

_WHOLE = np.dtype("uint32")


# The words


def threefry(s: Scratch, key: tuple[int, int]) -> None:
    """Scrambles the counters in ``s.y`` and ``s.z``, word by word and in place; ``s.x`` is overwritten.

    A round adds the second word to the first, rotates the second, and mixes the sum into it. After every fourth round
    two of the three words of the key are added, and the number of the step.
    """
    first, second, other = s.y, s.z, s.x
    keys = (*key, key[0] ^ key[1] ^ PARITY)
    np.add(first, keys[0], first)
    np.add(second, keys[1], second)
    for step in range(1, ROUNDS // 4 + 1):
        for left, right in _SHIFTS[4 - step % 2 * 4 :][:4]:
            np.add(first, second, first)
            np.left_shift(second, left, other)
            np.right_shift(second, right, second)
            np.bitwise_or(second, other, second)
            np.bitwise_xor(second, first, second)
        np.add(first, keys[step % 3], first)
        np.add(second, (keys[(step + 1) % 3] + step) & WORD, second)


_SHIFTS = [(np.array(by, _WHOLE), np.array(32 - by, _WHOLE)) for by in ROTATIONS]
"""What is rotated by n bits is shifted by n to the left and by 32 - n to the right."""
_COUNTING = np.arange(BLOCK_BYTES // 8, dtype=_WHOLE)
"""0, 1, 2 and so on, for as many numbers as one block of memory has."""


def _words(first_block: int, blocks: int, state: RandomState) -> Scratch:
    """The random words of some blocks, in ``y`` and ``z`` of the scratch memory."""
    s = scratch((blocks,), _WHOLE)
    np.add(_COUNTING[:blocks], first_block & WORD, s.y)
    s.z.fill(state.draw)
    threefry(s, state.key)
    return s


# The numbers


def _units(start: int, count: int, dtype: np.dtype[Any], state: RandomState) -> Scratch:
    """``u[start]`` and an even number of others, in ``x`` of the scratch memory. A start is even."""
    f = scratch((count,), dtype)
    if dtype.itemsize == 4:
        words = _words(start // 2, count // 2, state)
        for at, word in enumerate((words.y, words.z)):
            np.right_shift(word, 8, word)
            f.x[at::2] = word.view("int32")  # which NumPy converts faster
        np.multiply(f.x, 2.0**-24, f.x)
    else:
        words = _words(start, count, state)
        np.right_shift(words.z, 11, words.z)
        f.x[...] = words.y
        f.w[...] = words.z
        np.multiply(f.x, 2.0**-32, f.x)
        np.multiply(f.w, 2.0**-53, f.w)
        np.add(f.x, f.w, f.x)
    return f


def _to_normal(f: Scratch) -> None:
    """Makes two normal numbers of each two of ``f.x``.

    By the tangent of half the angle, ``T``: the cosine is ``(1 - T^2) / (1 + T^2)`` and the sine ``2T / (1 + T^2)``.
    NumPy has a fast tangent in both formats, and no fast cosine in float64.
    """
    pairs = f.x.size // 2
    lengths, tangents, others = f.y[:pairs], f.z[:pairs], f.w[:pairs]
    np.subtract(1.0, f.x[0::2], lengths)
    np.log(lengths, lengths)
    np.multiply(lengths, -2.0, lengths)
    np.sqrt(lengths, lengths)
    np.subtract(f.x[1::2], 0.5, tangents)
    np.multiply(tangents, math.pi, tangents)
    np.tan(tangents, tangents)
    np.multiply(tangents, tangents, others)
    np.add(others, 1.0, others)
    np.divide(lengths, others, lengths)
    np.subtract(2.0, others, others)
    np.multiply(lengths, others, f.x[0::2])
    np.add(tangents, tangents, tangents)
    np.multiply(lengths, tangents, f.x[1::2])


def numbers_of(distribution: AnyDistribution) -> tuple[float, ...]:
    """The numbers that a distribution is computed with.

    Of a uniform one they are low, width and high: to be the same on every backend, the width is worked out here.
    """
    if isinstance(distribution, Distribution.Uniform):
        return distribution.low, distribution.high - distribution.low, distribution.high
    if isinstance(distribution, Distribution.Normal):
        return distribution.mean, distribution.std
    return (distribution.probability,)


def _draw_block(out: NumPyArray, start: int, distribution: AnyDistribution, state: RandomState) -> None:
    """The numbers from ``start`` on, in NumPy's own dtypes. Where ``out`` ends amid a pair, one number is left over."""
    size, dtype = out.size, np.dtype("float32") if out.dtype == "float16" else out.dtype
    f = _units(start, size + size % 2, dtype, state)
    numbers = numbers_of(distribution)
    if isinstance(distribution, Distribution.Bernoulli):
        np.less(f.x, numbers[0], f.truth)
        out[...] = f.truth[:size]
        return
    offset, scale = numbers[:2]
    if isinstance(distribution, Distribution.Normal):
        _to_normal(f)
    np.multiply(f.x, scale, f.x)
    np.add(f.x, offset, f.x)
    out[...] = f.x[:size]
    if isinstance(distribution, Distribution.Uniform):
        np.greater_equal(out, distribution.high, f.truth[:size])
        np.copyto(out, distribution.low, where=f.truth[:size])


def draw_into(out: NumPyArray, distribution: AnyDistribution, state: RandomState) -> None:
    """Fills a row-major array of floats, block by block: the array itself is all the memory that it takes."""
    line = out.reshape(-1)
    step = BLOCK_BYTES // max(out.itemsize, 4)
    for start in range(0, line.size, step):
        _draw_block(line[start : start + step], start, distribution, state)
