"""What one operation on a (16, 4) float32 tensor costs over NumPy's own call: the price of the checks and the graph.

The targets are ratios, as microseconds are those of one machine. About the same price comes on top of each operation,
so the ratio is largest where NumPy's own call is quickest. Under Autodiff the operands are tracked, so each call leaves
a node with its rules and what they save.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from race import race, timed_row, timer
from result import Row, Target

from tinyburn import Autodiff, Device, NdArray, Tensor

ROUNDS = 100

# name: (tinyburn's spelling, NumPy's). Both see the same four names.
OPS = {
    "add": ("a + b", "a + b"),
    "mul": ("a * b", "a * b"),
    "matmul 16x8 8x4": ("x @ w", "x @ w"),
    "exp": ("a.exp()", "np.exp(a)"),
    "sum": ("a.sum()", "a.sum()"),
}
# name: (the target of NdArray, that of Autodiff)
MOST = {
    "add": (5.0, 9.0),
    "mul": (5.0, 9.0),
    "matmul 16x8 8x4": (2.0, 3.0),
    "exp": (4.0, 8.0),
    "sum": (3.0, 4.0),
}
SHAPES = {"a": (16, 4), "b": (16, 4), "x": (16, 8), "w": (8, 4)}


def make_arrays() -> dict[str, Any]:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(shape, "float32") for name, shape in SHAPES.items()}


def make_tensors(device: Device[Any]) -> dict[str, Any]:
    """The same numbers as tensors; leaves where the backend tracks them."""
    tensors = {name: Tensor.from_data(array, device) for name, array in make_arrays().items()}
    if device.backend.is_autodiff:
        tensors = {name: tensor.require_grad() for name, tensor in tensors.items()}
    return tensors


def run() -> list[Row]:
    arrays = {"np": np, **make_arrays()}
    plain = make_tensors(NdArray.device())
    tracked = make_tensors(Autodiff[NdArray].device())
    rows = []
    for name, (ours, numpys) in OPS.items():
        contenders = {
            "NdArray": timer(ours, plain),
            "Autodiff": timer(ours, tracked),
            "NumPy": timer(numpys, arrays),
        }
        times = race(contenders, ROUNDS)
        for mine, limit in zip(("NdArray", "Autodiff"), MOST[name], strict=True):
            rows.append(timed_row("small_ops", f"{name}, {mine}", times, mine, "NumPy", "us", Target("ratio", limit)))
    return rows
