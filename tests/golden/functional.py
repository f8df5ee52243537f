"""Makes functional.json: what torch.func gives for the derivatives of some functions, in float64.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.functional``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("functional.json")
Values = np.ndarray[Any, Any]


def wave(shape: tuple[int, ...], phase: float) -> Values:
    """Numbers away from 0 and from each other."""
    return np.asarray(0.9 * np.sin(1.7 * np.arange(np.prod(shape)) + phase) + 0.05).reshape(shape)


INPUTS: dict[str, list[Values]] = {
    "a layer": [wave((2, 3), 0.3), wave((3, 4), 0.9), wave((1, 4), 2.1)],
    "softmax": [wave((2, 3), 0.5)],
    "a product": [wave((4,), 0.2), wave((4,), 1.2)],
    "an energy": [wave((3,), 0.4)],
}


def directions(name: str) -> list[Values]:
    """One for each input."""
    return [wave(x.shape, 3.0 + at) for at, x in enumerate(INPUTS[name])]


def weights(shape: tuple[int, ...]) -> Values:
    """A weight for each element of a result."""
    return np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)


def main() -> None:
    import torch

    functions: dict[str, Callable[..., Any]] = {
        "a layer": lambda x, w, b: torch.tanh(x @ w + b),
        "softmax": lambda x: torch.softmax(x, 1),
        "a product": lambda x, y: torch.exp(x) * torch.sin(y) / (1 + y * y),
        "an energy": lambda x: (x * x).sum(0, keepdim=True) * x + torch.sigmoid(x),
    }
    golden: dict[str, Any] = {}
    for name, function in functions.items():
        inputs = tuple(map(torch.from_numpy, INPUTS[name]))
        along = tuple(map(torch.from_numpy, directions(name)))
        weighed = lambda *x, f=function: (f(*x) * torch.from_numpy(weights(tuple(f(*x).shape)))).sum()  # noqa: E731
        value, forward = torch.func.jvp(function, inputs, along)
        _, pull = torch.func.vjp(function, *inputs)
        every = tuple(range(len(inputs)))
        found = {
            "value": value,
            "jvp": forward,
            "vjp": pull(torch.from_numpy(weights(tuple(value.shape)))),
            "grad": torch.func.grad(weighed, argnums=every)(*inputs),
            "jacobian": torch.func.jacrev(function, argnums=every)(*inputs),
        }
        if len(inputs) == 1:
            found["hvp"] = torch.func.jvp(torch.func.grad(weighed), inputs, along)[1]
        golden[name] = {
            key: [part.tolist() for part in one] if isinstance(one, tuple) else one.tolist()
            for key, one in found.items()
        }
    FILE.write_text(json.dumps(golden) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
