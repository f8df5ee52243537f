"""On 4 million elements the framework must not show: at most 5 % over NumPy by hand.

By hand means the same results in the same memory: one new buffer for each operation. Written as one expression,
NumPy would reuse a large temporary for the next result; ``np.add(t, 1)`` on a named array does not. Both read the
very same arrays: how 16 MB lie in memory changes the time of ``exp`` by 40 %, which is more than we want to see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from race import race, timed_row, timer
from result import Row, Target

from tinyburn import NdArray, Tensor

SHAPE = (2000, 2000)
MATRIX = (2048, 2048)
TARGET = Target("ratio", 1.05)

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def chain_by_hand(x: Any) -> Any:
    t = np.multiply(x, np.float32(2))
    t = np.add(t, np.float32(1))
    t = np.tanh(t)
    return t.mean(keepdims=True)


def make_pairs() -> dict[str, Pair]:
    """For each case tinyburn's call and NumPy's."""
    draw = np.random.default_rng(0).standard_normal
    device = NdArray.device()
    tensors = [Tensor.from_data(draw(shape, "float32"), device) for shape in (SHAPE, SHAPE, MATRIX, MATRIX)]
    x, y, p, q = tensors
    a, b, c, d = (tensor.primitive for tensor in tensors)
    return {
        "add": (lambda: x + y, lambda: a + b),
        "mul": (lambda: x * y, lambda: a * b),
        "exp": (lambda: x.exp(), lambda: np.exp(a)),
        "sum": (lambda: x.sum(), lambda: a.sum()),
        "matmul 2048": (lambda: p @ q, lambda: c @ d),
        "(x * 2 + 1).tanh().mean()": (lambda: (x * 2 + 1).tanh().mean(), lambda: chain_by_hand(a)),
    }


def run() -> list[Row]:
    rows = []
    for name, (ours, by_hand) in make_pairs().items():
        np.testing.assert_allclose(ours().to_numpy().squeeze(), np.squeeze(by_hand()), rtol=1e-5)
        rounds = 15 if name.startswith("matmul") else 101
        times = race({"tinyburn": timer(ours), "NumPy by hand": timer(by_hand)}, rounds)
        rows.append(timed_row("large_ops", name, times, "tinyburn", "NumPy by hand", "ms", TARGET))
    return rows
