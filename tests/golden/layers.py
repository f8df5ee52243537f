"""Makes layers.json: what PyTorch's layers and activations give, and their gradients, in float32.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.layers``.
The gradients are those of the sum of the result times `weights`, so that no two places can be exchanged unseen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.golden.files import Values, numbers, write
from tests.golden.operations import weights

FILE = Path(__file__).with_name("layers.json")
DTYPE = "float32"


class Case(NamedTuple):
    """The shape of the input, and those of the parameters by their names here, in PyTorch's order."""

    shape: tuple[int, ...]
    params: dict[str, tuple[int, ...]]


def both(size: int) -> dict[str, tuple[int, ...]]:
    """The parameters of a normalisation."""
    return {"gamma": (size,), "beta": (size,)}


ACTIVATIONS = (
    "leaky_relu",
    "celu",
    "elu",
    "elu(0.5)",
    "selu",
    "gelu_approximate",
    "hard_sigmoid",
    "hard_swish",
    "log_sigmoid",
    "mish",
    "softplus(2)",
    "softsign",
    "tanhshrink",
    "hard_shrink",
    "soft_shrink",
    "thresholded_relu",
    "glu(-1)",
    "glu(1)",
    "softmax(1)",
    "log_softmax(0)",
    "softmin(1)",
)

CASES = {
    "layer_norm": Case((3, 5), both(5)),
    "layer_norm of rank 3": Case((2, 3, 5), both(5)),
    "layer_norm without beta": Case((2, 5), {"gamma": (5,)}),
    "layer_norm of small numbers": Case((2, 5), both(5)),
    "embedding": Case((2, 3), {"weight": (4, 3)}),
    "rms_norm": Case((2, 3, 5), {"gamma": (5,)}),
    "batch_norm": Case((6, 3), both(3)),
    "batch_norm of images": Case((4, 3, 2, 2), both(3)),
    "group_norm": Case((2, 6, 3), both(6)),
    "group_norm of images": Case((2, 4, 2, 3), both(4)),
    "group_norm without affine": Case((2, 4, 3), {}),
    "instance_norm": Case((2, 3, 4), both(3)),
    "instance_norm of images": Case((2, 3, 2, 3), both(3)),
    "prelu": Case((3, 4), {"alpha": (1,)}),
    "prelu by channel": Case((2, 3, 4), {"alpha": (3,)}),
    "swiglu": Case((3, 4), {"linear_inner.weight": (4, 2), "linear_outer.weight": (4, 2)}),
    **{name: Case((3, 4), {}) for name in ACTIVATIONS},
}


def wave(shape: tuple[int, ...], phase: float, scale: float = 1.5) -> Values:
    """Numbers away from kinks and ties."""
    count = np.arange(np.prod(shape, dtype=int))
    values: Values = (scale * np.sin(1.7 * count + phase)).reshape(shape).astype(DTYPE)
    return values


def input_of(name: str) -> Values:
    """The input of a case: indices of an embedding, or a wave."""
    if name == "embedding":
        return np.array([[0, 3, 3], [1, 3, 0]])
    return wave(CASES[name].shape, 0.3, 1e-3 if "small" in name else 1.5)


def params_of(name: str) -> dict[str, Values]:
    """The parameters of a case."""
    return {param: wave(shape, 0.4 + at) for at, (param, shape) in enumerate(CASES[name].params.items())}


def pytorchs() -> dict[str, Any]:
    """Each case in PyTorch: a function of the input and the parameters."""
    import torch
    from torch.nn import functional

    def layer_norm(x: Any, gamma: Any, beta: Any = None) -> Any:
        return functional.layer_norm(x, (5,), gamma, beta, 1e-2 if x.abs().max() < 0.1 else 1e-5)

    return {
        **dict.fromkeys([name for name in CASES if name.startswith("layer_norm")], layer_norm),
        "embedding": lambda x, weight: functional.embedding(torch.as_tensor(x), weight),
        "rms_norm": lambda x, gamma: functional.rms_norm(x, (5,), gamma, 1e-5),
        **dict.fromkeys(
            ("batch_norm", "batch_norm of images"),
            lambda x, gamma, beta: functional.batch_norm(x, None, None, gamma, beta, training=True),
        ),
        "group_norm": lambda x, gamma, beta: functional.group_norm(x, 3, gamma, beta),
        "group_norm of images": lambda x, gamma, beta: functional.group_norm(x, 2, gamma, beta),
        "group_norm without affine": lambda x: functional.group_norm(x, 2),
        **dict.fromkeys(
            ("instance_norm", "instance_norm of images"),
            lambda x, gamma, beta: functional.instance_norm(x, weight=gamma, bias=beta),
        ),
        **dict.fromkeys(("prelu", "prelu by channel"), lambda x, alpha: functional.prelu(x, alpha)),
        "swiglu": lambda x, **weights: (
            functional.silu(x @ weights["linear_inner.weight"]) * (x @ weights["linear_outer.weight"])
        ),
        **_activations(functional),
    }


def _activations(functional: Any) -> dict[str, Any]:
    named = {
        "elu": "elu",
        "celu": "celu",
        "selu": "selu",
        "leaky_relu": "leaky_relu",
        "hard_swish": "hardswish",
        "log_sigmoid": "logsigmoid",
        "mish": "mish",
        "softsign": "softsign",
        "tanhshrink": "tanhshrink",
        "hard_shrink": "hardshrink",
        "soft_shrink": "softshrink",
    }
    return {
        **{ours: getattr(functional, theirs) for ours, theirs in named.items()},
        "elu(0.5)": lambda x: functional.elu(x, 0.5),
        "gelu_approximate": lambda x: functional.gelu(x, approximate="tanh"),
        "hard_sigmoid": functional.hardsigmoid,
        "softplus(2)": lambda x: functional.softplus(x, 2.0),
        "thresholded_relu": lambda x: functional.threshold(x, 1.0, 0.0),
        "glu(-1)": functional.glu,
        "glu(1)": lambda x: functional.glu(x, 1),
        "softmax(1)": lambda x: x.softmax(1),
        "log_softmax(0)": lambda x: x.log_softmax(0),
        "softmin(1)": lambda x: functional.softmin(x, 1),
    }


def _made(function: Any, name: str) -> dict[str, Any]:
    import torch

    x = torch.tensor(input_of(name))
    leaves = {param: torch.tensor(values).requires_grad_() for param, values in params_of(name).items()}
    result = function(x.requires_grad_(x.is_floating_point()), **leaves)
    (result * torch.tensor(weights(tuple(result.shape), DTYPE))).sum().backward()
    gradients = {key: leaf.grad for key, leaf in {"x": x, **leaves}.items() if leaf.grad is not None}
    return {
        "shape": list(result.shape),
        "value": numbers(result.detach().numpy()),
        "gradients": {key: numbers(gradient.numpy()) for key, gradient in gradients.items()},
    }


def main() -> None:
    """Writes the file."""
    theirs = pytorchs()
    write(FILE, {name: _made(theirs[name], name) for name in CASES})


if __name__ == "__main__":
    main()
