"""Makes operations.json: what PyTorch gives for each operation, and for its first derivatives, in float32 and float64.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.operations``.
The gradients are those of the sum of the result times `weights`, so that no two places can be exchanged unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.files import Values, numbers, write

FILE = Path(__file__).with_name("operations.json")
DTYPES = ("float32", "float64")
SHAPES = ((2, 3), (1, 3), (2, 1), (0, 3))
FULL = SHAPES[:3]
"""For what has no value for no elements."""


def operands(names: str, shape: tuple[int, ...], dtype: str) -> list[Values]:
    """The operands of a case: waves, away from kinks and ties."""
    count = np.arange(np.prod(shape, dtype=int))
    waves = {
        "x": 1.5 * np.sin(1.7 * count + 0.3),
        "y": 1.2 * np.cos(2.3 * count + 0.5) + 0.1,
        "p": 0.4 + np.abs(1.5 * np.sin(1.7 * count + 0.3)),
    }
    return [waves[name].reshape(shape).astype(dtype) for name in names]


def weights(shape: tuple[int, ...], dtype: str) -> Values:
    """A weight for each element of a result."""
    return np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype(dtype)


# Each case: its operands, by the names above, and the shapes that it is asked for.
CASES: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum", "mask_where"), ("xy", SHAPES)),
    **dict.fromkeys(("div", "remainder"), ("xp", SHAPES)),
    **dict.fromkeys(("powf",), ("py", SHAPES)),
    **dict.fromkeys(("a tensor with itself",), ("xx", SHAPES)),
    **dict.fromkeys(("neg", "abs", "sign", "exp", "sin", "cos", "sinh", "cosh", "tanh", "erf"), ("x", SHAPES)),
    **dict.fromkeys(("floor", "ceil", "round"), ("x", SHAPES)),
    **dict.fromkeys(("log", "log1p", "sqrt", "recip", "x ** 1.5", "x ** -2"), ("p", SHAPES)),
    **dict.fromkeys(("x ** 2", "x ** 3", "2 ** x", "1 - x", "x % 0.7", "clamp", "clamp_min"), ("x", SHAPES)),
    **dict.fromkeys(("relu", "leaky_relu", "sigmoid", "silu", "gelu", "softplus", "softplus(2)"), ("x", SHAPES)),
    **dict.fromkeys(("softmax(-1)", "softmax(0)", "log_softmax(-1)", "log_softmax(0)"), ("x", FULL)),
    **dict.fromkeys(("sum", "sum_dim(-1)", "sum_dim(0)", "sum_dims(0, -1)", "prod", "prod_dim(-2)"), ("x", SHAPES)),
    **dict.fromkeys(("mean", "mean_dim(-1)", "max", "max_dim(-1)", "min", "min_dim(0)", "norm"), ("x", FULL)),
    **dict.fromkeys(("var(-1)", "var_bias(0)", "std(0)", "std_bias(-1)"), ("x", ((2, 3),))),
    **dict.fromkeys(("x @ y.mT", "x.mT @ y"), ("xy", SHAPES)),
    **dict.fromkeys(("reshape", "transpose", "expand", "flip(-1)", "x[:, ::2]", "x[:, ::-2]"), ("x", SHAPES)),
    **dict.fromkeys(("cat(0)", "cat(-1)", "stack(1)"), ("xy", SHAPES)),
    **dict.fromkeys(("select(-1)", "gather(-1)"), ("x", FULL)),
    **dict.fromkeys(("scatter(-1)",), ("xy", FULL)),
}


def _theirs() -> dict[str, Callable[..., Any]]:
    import torch  # type: ignore[import-not-found]  # only the benchmarks' environment has it
    from torch.nn import functional  # type: ignore[import-not-found]

    return {
        "add": torch.add,
        "sub": torch.sub,
        "mul": torch.mul,
        "div": torch.div,
        "remainder": torch.remainder,
        "powf": torch.pow,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "mask_where": lambda x, y: torch.where(x > 0, y, x),
        "a tensor with itself": lambda x, y: x * y + y * y,
        **{name: getattr(torch, name) for name in ("neg", "abs", "sign", "exp", "sin", "cos", "sinh", "cosh", "tanh")},
        **{name: getattr(torch, name) for name in ("erf", "floor", "ceil", "round", "log", "log1p", "sqrt", "norm")},
        "recip": torch.reciprocal,
        "x ** 1.5": lambda x: x**1.5,
        "x ** -2": lambda x: x**-2,
        "x ** 2": lambda x: x**2,
        "x ** 3": lambda x: x**3,
        "2 ** x": lambda x: 2.0**x,
        "1 - x": lambda x: 1.0 - x,
        "x % 0.7": lambda x: x % 0.7,
        "clamp": lambda x: x.clamp(-0.6, 0.7),
        "clamp_min": lambda x: x.clamp(min=-0.6),
        **{name: getattr(functional, name) for name in ("relu", "leaky_relu", "sigmoid", "silu", "gelu", "softplus")},
        "softplus(2)": lambda x: functional.softplus(x, beta=2),
        "softmax(-1)": lambda x: x.softmax(-1),
        "softmax(0)": lambda x: x.softmax(0),
        "log_softmax(-1)": lambda x: x.log_softmax(-1),
        "log_softmax(0)": lambda x: x.log_softmax(0),
        "sum": lambda x: x.sum(),
        "sum_dim(-1)": lambda x: x.sum(-1, keepdim=True),
        "sum_dim(0)": lambda x: x.sum(0, keepdim=True),
        "sum_dims(0, -1)": lambda x: x.sum((0, -1), keepdim=True),
        "prod": lambda x: x.prod(),
        "prod_dim(-2)": lambda x: x.prod(-2, keepdim=True),
        "mean": lambda x: x.mean(),
        "mean_dim(-1)": lambda x: x.mean(-1, keepdim=True),
        "max": lambda x: x.max(),
        "max_dim(-1)": lambda x: x.amax(-1, keepdim=True),
        "min": lambda x: x.min(),
        "min_dim(0)": lambda x: x.amin(0, keepdim=True),
        "var(-1)": lambda x: x.var(-1, keepdim=True),
        "var_bias(0)": lambda x: x.var(0, unbiased=False, keepdim=True),
        "std(0)": lambda x: x.std(0, keepdim=True),
        "std_bias(-1)": lambda x: x.std(-1, unbiased=False, keepdim=True),
        "x @ y.mT": lambda x, y: x @ y.mT,
        "x.mT @ y": lambda x, y: x.mT @ y,
        "reshape": lambda x: x.reshape(-1) ** 2,
        "transpose": lambda x: x.mT**2,
        "expand": lambda x: x.unsqueeze(0).expand(2, *x.shape) ** 2,
        "flip(-1)": lambda x: x.flip(-1) ** 2,
        "x[:, ::2]": lambda x: x[:, ::2] ** 2,
        "x[:, ::-2]": lambda x: x.flip(-1)[:, ::2] ** 2,
        "cat(0)": lambda x, y: torch.cat([x, y, x], 0) ** 2,
        "cat(-1)": lambda x, y: torch.cat([x, y, x], -1) ** 2,
        "stack(1)": lambda x, y: torch.stack([x, y], 1) ** 2,
        "select(-1)": lambda x: x.index_select(-1, torch.tensor([0, 0])) ** 2,
        "gather(-1)": lambda x: x.gather(-1, torch.zeros((x.shape[0], 2), dtype=torch.int64)) ** 2,
        "scatter(-1)": lambda x, y: x.scatter_add(-1, torch.zeros(y.shape, dtype=torch.int64), y) ** 2,
    }


def made_by(function: Callable[..., Any], values: list[Values]) -> dict[str, Any]:
    import torch

    inputs = [torch.tensor(value, requires_grad=True) for value in values]
    result = torch.atleast_1d(function(*inputs))
    scaled = result * torch.tensor(weights(tuple(result.shape), str(values[0].dtype)))
    scaled.sum().backward()
    gradients = [x.grad if x.grad is not None else torch.zeros_like(x) for x in inputs]
    return {
        "shape": list(result.shape),
        "value": numbers(result.detach().numpy()),
        "gradients": [numbers(gradient.numpy()) for gradient in gradients],
    }


def main() -> None:
    """Writes the file."""
    theirs, made = _theirs(), {}
    for name, (names, shapes) in CASES.items():
        for shape in shapes:
            for dtype in DTYPES:
                made[f"{name} {shape} {dtype}"] = made_by(theirs[name], operands(names, shape, dtype))
    write(FILE, made)


if __name__ == "__main__":
    main()
