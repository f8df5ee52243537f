"""What recomputing saves and what it costs: activation bytes, exact, and the time of a step, model and data ready.

Two deep models. A tanh MLP of 50 layers keeps only what goes into each of its seven segments (`autodiff.checkpoint`).
20 blocks of Linear, normalize and GELU, in primitive operations, run under `BalancedCheckpointing`. Each is compared
with itself when it keeps everything. The gradients must be the same, bit for bit, before anything is timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from race import race, timed_row, timer
from result import Row, Target, exact_row

from tinyburn import Autodiff, BalancedCheckpointing, Device, Distribution, NdArray, Tensor, memory, nn
from tinyburn.autodiff import checkpoint
from tinyburn.backend import Category
from tinyburn.memory.timeline import walk

Step: TypeAlias = Callable[[], list[Any]]
"""Forward and backward; returns the gradient of each parameter."""

Maker: TypeAlias = Callable[[Device[Any], int, int], Step]
"""Makes the model and its input on a device, for a batch size and a width."""

NAME = "checkpointing"
LAYERS, SEGMENTS, BLOCKS = 50, 7, 20

KEEP_ALL: Any = Autodiff[NdArray]
BALANCED: Any = Autodiff[NdArray, BalancedCheckpointing]

# batch x width: (batch, width, rounds). The first is mostly Python, the second mostly arithmetic.
SIZES = {"64x16": (64, 16, 40), "512x256": (512, 256, 15)}


def tanh_mlp(segments: int, device: Device[Any], batch: int, width: int) -> Step:
    """A deep MLP, in that many checkpointed segments; 0 keeps everything."""
    layers, x = _layers_and_input(LAYERS, device, batch, width)

    def part(start: int, stop: int, h: Any) -> Any:
        for layer in layers[start:stop]:
            h = layer(h).tanh()
        return h

    bounds = [LAYERS * place // segments for place in range(segments + 1)] if segments else []

    def forward(h: Any) -> Any:
        if not segments:
            return part(0, LAYERS, h)
        for start, stop in pairwise(bounds):
            h = checkpoint(partial(part, start, stop), h)
        return h

    return _step(forward, x, layers)


def blocks(device: Device[Any], batch: int, width: int) -> Step:
    """Linear, normalize and GELU, again and again."""
    layers, x = _layers_and_input(BLOCKS, device, batch, width)

    def forward(h: Any) -> Any:
        for layer in layers:
            h = gelu(normalize(layer(h)))
        return h

    return _step(forward, x, layers)


def normalize(x: Any) -> Any:
    centred = x - x.mean_dim(0)
    return centred / ((centred * centred).mean_dim(0) + 1e-6).sqrt()


def gelu(x: Any) -> Any:
    """The tanh form of Hendrycks and Gimpel 2016."""
    return x * 0.5 * (1.0 + ((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)).tanh())


def _layers_and_input(depth: int, device: Device[Any], batch: int, width: int) -> tuple[list[nn.Linear], Any]:
    device.seed(0)
    layers = [nn.LinearConfig(width, width).init(device) for _ in range(depth)]
    return layers, Tensor.random((batch, width), Distribution.Normal(), device)


def _step(forward: Callable[[Any], Any], x: Any, layers: list[nn.Linear]) -> Step:
    def step() -> list[Any]:
        grads = (forward(x) ** 2).mean().backward()
        return [grads.get(param.val()) for layer in layers for _, param in layer.named_params()]

    return step


def count_bytes(maker: Maker, backend: Any, batch: int, width: int) -> tuple[int, int]:
    """The most bytes of activations that were alive at once, wherever that was; and the peak of all bytes.

    Results that a rule has computed again are temporaries, not activations: the peak has them.
    """
    report = memory.measure(lambda device, size: maker(device, size, width)(), backend.device(), batch)
    activations = max(totals[Category.ACTIVATION] for _, _, totals in walk(report.events))
    return activations, report.peak_bytes


def check_same_bits(first: Step, second: Step) -> None:
    for a, b in zip(first(), second(), strict=True):
        np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())


def compare(case: str, saving: tuple[Maker, Any], size: str, fewer: float, slower: float | None) -> list[Row]:
    """Activations, peak and time, against the same model under `KEEP_ALL`.

    Args:
        case: what is compared.
        saving: the model that saves memory, and its backend.
        size: one of `SIZES`.
        fewer: the target for the activations, as a ratio.
        slower: the target for the time, as a ratio; None for none.
    """
    batch, width, rounds = SIZES[size]
    maker, backend = saving
    plain: Maker = blocks if maker is blocks else partial(tanh_mlp, 0)
    name = f"{case}, {size}"
    activations, peak = count_bytes(maker, backend, batch, width)
    all_activations, all_peak = count_bytes(plain, KEEP_ALL, batch, width)
    steps = {
        "saving": maker(backend.device(), batch, width),
        "keep all": plain(KEEP_ALL.device(), batch, width),
    }
    check_same_bits(steps["saving"], steps["keep all"])
    times = race({key: timer(step) for key, step in steps.items()}, rounds)
    limits = [] if slower is None else [Target("ratio", slower)]
    return [
        exact_row(NAME, f"{name}, activations", activations, "keep all", all_activations, Target("ratio", fewer)),
        exact_row(NAME, f"{name}, peak", peak, "keep all", all_peak),
        timed_row(NAME, f"{name}, time", times, "saving", "keep all", "ms", *limits),
    ]


def run() -> list[Row]:
    rows = []
    for size in SIZES:
        segmented: Maker = partial(tanh_mlp, SEGMENTS)
        rows += compare(f"{LAYERS} tanh layers in {SEGMENTS} segments", (segmented, KEEP_ALL), size, 0.40, 1.40)
        rows += compare(f"{BLOCKS} blocks, balanced", (blocks, BALANCED), size, 0.60, None)
    return rows
