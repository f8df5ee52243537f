"""On large tensors the framework must not show: 4 million elements beside NumPy by hand, 1 million beside PyTorch.

By hand means two things, and each has a row. With new buffers it is the same work: the same results, each in memory of
its own. With ``out=`` every result is written over a buffer that is ready and warm. Values that never change cannot
have that, so this row shows what they cost. Both read the very same arrays as tinyburn: how 16 MB lie in memory changes
the time of ``exp`` by 40 %, which is more than we want to see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from million_ops import million_rows
from race import race, timed_row, timer
from result import Row, Target

from tinyburn import NdArray, Tensor

SHAPE = (2000, 2000)
MATRIX = (2048, 2048)
TARGET = Target("ratio", 1.05)
NEW_BUFFERS, READY_BUFFERS = "NumPy by hand", "NumPy, out="

Calls = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]


def chain_by_hand(x: Any) -> Any:
    """Written as one expression, NumPy would reuse a large temporary for the next result; a name keeps it from that."""
    t = np.multiply(x, np.float32(2))
    t = np.add(t, np.float32(1))
    t = np.tanh(t)
    return t.mean(keepdims=True)


def chain_into(x: Any, out: Any) -> Any:
    np.multiply(x, np.float32(2), out=out)
    np.add(out, np.float32(1), out=out)
    np.tanh(out, out=out)
    return out.mean(keepdims=True)


def make_calls() -> dict[str, Calls]:
    """For each case tinyburn's call, NumPy's with new buffers and NumPy's with ready ones."""
    draw = np.random.default_rng(0).standard_normal
    device = NdArray.device()
    tensors = [Tensor.from_data(draw(shape, "float32"), device) for shape in (SHAPE, SHAPE, MATRIX, MATRIX)]
    x, y, p, q = tensors
    a, b, c, d = (tensor.primitive for tensor in tensors)
    out, product = np.empty_like(a), np.empty_like(c)
    one = np.empty((1, 1), "float32")
    return {
        "add": (lambda: x + y, lambda: a + b, lambda: np.add(a, b, out=out)),
        "mul": (lambda: x * y, lambda: a * b, lambda: np.multiply(a, b, out=out)),
        "exp": (lambda: x.exp(), lambda: np.exp(a), lambda: np.exp(a, out=out)),
        "sum": (lambda: x.sum(), lambda: a.sum(), lambda: a.sum(keepdims=True, out=one)),
        "matmul 2048": (lambda: p @ q, lambda: c @ d, lambda: np.matmul(c, d, out=product)),
        "(x * 2 + 1).tanh().mean()": (
            lambda: (x * 2 + 1).tanh().mean(),
            lambda: chain_by_hand(a),
            lambda: chain_into(a, out),
        ),
    }


def compare(name: str, calls: Calls) -> list[Row]:
    ours, by_hand, into = calls
    for other in (by_hand, into):
        np.testing.assert_allclose(ours().to_numpy().squeeze(), np.squeeze(other()), rtol=1e-5, err_msg=name)
    rounds = 15 if name.startswith("matmul") else 101
    contenders = {"tinyburn": ours, NEW_BUFFERS: by_hand, READY_BUFFERS: into}
    times = race({key: timer(call) for key, call in contenders.items()}, rounds)
    case = f"{name}, 4 M" if "matmul" not in name else name
    return [
        timed_row("large_ops", case, times, "tinyburn", NEW_BUFFERS, "ms", TARGET),
        timed_row("large_ops", case, times, "tinyburn", READY_BUFFERS, "ms", TARGET),
    ]


def run() -> list[Row]:
    return [row for name, calls in make_calls().items() for row in compare(name, calls)] + million_rows()
