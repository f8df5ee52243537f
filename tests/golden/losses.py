"""Makes losses.json: what PyTorch's losses give, and the gradients of the predictions, in float32.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.losses``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.files import Values, numbers, write

FILE = Path(__file__).with_name("losses.json")
DTYPE = "float32"


def _wave(shape: tuple[int, ...], phase: float) -> Values:
    count = np.arange(np.prod(shape))
    values: Values = (1.5 * np.sin(1.7 * count + phase)).reshape(shape).astype(DTYPE)
    return values


def _shares(shape: tuple[int, ...], phase: float) -> Values:
    values = np.exp(_wave(shape, phase))
    return (values / values.sum(-1, keepdims=True)).astype(DTYPE)


PREDICTION = _wave((4, 3), 0.3)
TARGET = _wave((4, 3), 1.1)
SHARES, WITH_ZERO = _shares((4, 3), 0.7), np.array([[0.0, 0.4, 0.6], [1.0, 0.0, 0.0]], DTYPE)
CLASSES, PADDED = np.array([2, 0, 1, 1]), np.array([2, -100, 1, 0])
YES_OR_NO = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]])
SIGNS = np.array([1, -1, -1, 1])
WEIGHTS = (0.5, 2.0, 1.25)
COUNTS = np.array([[0.0, 1.0, 2.0], [3.0, 5.0, 1.0], [0.0, 0.0, 4.0], [2.0, 7.0, 1.0]], DTYPE)
LARGE = np.array([[1000.0, 1001.0, 1002.0], [-500.0, 0.0, 500.0]], DTYPE)

# Each case: the predictions (one, or two for a pair of vectors), and the labels.
CASES: dict[str, tuple[tuple[Values, ...], Values]] = {
    **dict.fromkeys(
        ("mse", "mse sum", "l1", "huber(0.8)", "huber(0.8) sum", "smooth_l1", "smooth_l1(0.5)"), ((PREDICTION,), TARGET)
    ),
    "l1 at no difference": ((TARGET,), TARGET),
    **dict.fromkeys(
        (
            "cross_entropy",
            "cross_entropy sum",
            "cross_entropy weights",
            "cross_entropy smoothing",
            "cross_entropy weights smoothing",
        ),
        ((PREDICTION,), CLASSES),
    ),
    "cross_entropy of large logits": ((LARGE,), np.array([0, 2])),
    **dict.fromkeys(
        ("cross_entropy padded", "cross_entropy padded weights smoothing", "cross_entropy padded sum"),
        ((PREDICTION,), PADDED),
    ),
    **dict.fromkeys(
        ("cross_entropy soft", "cross_entropy soft weights", "cross_entropy soft smoothing"), ((PREDICTION,), SHARES)
    ),
    "cross_entropy of probabilities": ((SHARES,), CLASSES),
    **dict.fromkeys(("bce logits", "bce logits weights"), ((PREDICTION,), YES_OR_NO)),
    "bce of large logits": ((LARGE,), np.array([[1, 0, 1], [1, 1, 0]])),
    "bce of probabilities": ((SHARES,), YES_OR_NO),
    "bce soft": ((PREDICTION,), SHARES),
    "bce of a vector": ((PREDICTION[0],), YES_OR_NO[0]),
    **dict.fromkeys(("kl", "kl mean", "kl sum"), ((np.log(SHARES),), _shares((4, 3), 2.0))),
    "kl log_target": ((np.log(SHARES),), np.log(_shares((4, 3), 2.0))),
    "kl with zeros": ((np.log(SHARES[:2]),), WITH_ZERO),
    **dict.fromkeys(("cosine", "cosine margin", "cosine sum"), ((PREDICTION, TARGET), SIGNS)),
    **dict.fromkeys(("poisson", "poisson full"), ((PREDICTION,), COUNTS)),
    "poisson of rates": ((np.exp(PREDICTION),), COUNTS),
}


def pytorchs(name: str) -> Any:
    """A case in PyTorch: a function of the predictions and the labels."""
    import torch
    from torch.nn import functional as f

    kind, *options = name.split()
    how = "sum" if "sum" in options else "mean"
    weights = torch.tensor(WEIGHTS) if "weights" in options else None
    if kind == "cross_entropy" and "probabilities" not in options:
        smoothing = 0.1 if "smoothing" in options else 0.0
        return lambda x, t: f.cross_entropy(x, t, weights, reduction=how, label_smoothing=smoothing)
    if kind == "kl":
        reduction = how if {"sum", "mean"} & set(options) else "batchmean"
        return lambda x, t: f.kl_div(x, t, reduction=reduction, log_target="log_target" in options)
    return {
        "mse": lambda x, t: f.mse_loss(x, t, reduction=how),
        "l1": lambda x, t: f.l1_loss(x, t, reduction=how),
        "huber(0.8)": lambda x, t: f.huber_loss(x, t, delta=0.8, reduction=how),
        "smooth_l1": lambda x, t: f.smooth_l1_loss(x, t),
        "smooth_l1(0.5)": lambda x, t: f.smooth_l1_loss(x, t, beta=0.5),
        "cross_entropy": lambda x, t: f.nll_loss(x.log(), t),
        "bce": lambda x, t: (f.binary_cross_entropy if "probabilities" in options else _on_logits)(
            x, t.float(), weights
        ),
        "cosine": lambda x, y, t: f.cosine_embedding_loss(x, y, t, 0.2 if "margin" in options else 0.0, reduction=how),
        "poisson": lambda x, t: f.poisson_nll_loss(x, t, "rates" not in options, "full" in options),
    }[kind]


def _on_logits(x: Any, t: Any, weights: Any) -> Any:
    from torch.nn import functional

    return functional.binary_cross_entropy_with_logits(x, t, weights)


def _made(name: str) -> dict[str, Any]:
    import torch

    predictions, labels = CASES[name]
    inputs = [torch.tensor(values).requires_grad_() for values in predictions]
    loss = pytorchs(name)(*inputs, torch.tensor(labels))
    loss.backward()
    return {"value": float(str(loss.detach().numpy())), "gradients": [numbers(x.grad.numpy()) for x in inputs]}


def main() -> None:
    """Writes the file."""
    write(FILE, {name: _made(name) for name in CASES})


if __name__ == "__main__":
    main()
