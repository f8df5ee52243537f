"""What an operation on Wgpu costs: a tiny one, and one on 4 million elements beside NumPy's; pages of commands.

On a machine without a GPU this runs on Mesa's lavapipe, a driver on the CPU: NumPy is then the faster of two ways to
use the same processor, and the numbers say how far a plain shader is from it. The clock is the wall clock here, since
a GPU's work is no processor time of ours; run it on a quiet machine.

Measured with Mesa 22.3.6 on two cores, no GPU:

    llvmpipe (LLVM 15.0.6, 256 bits) (Vulkan)          Wgpu      NumPy    ratio
    add, 16x4                                         32 us     0.4 us       88
    add, 4 M                                         6.1 ms     1.5 ms      4.7
    chain (x * 2 + 1).exp() - x, 4 M                  21 ms      13 ms      1.7
    sum, 4 M                                           9 ms     0.8 ms       10
    step of 10 commands, with 1, 4, 16, 64 commands a submit:    1220, 570, 370, 320 us

So an operation costs some 30 us whatever its size, and half of that is Python; and a page of 64 is enough: from 16 to
64 commands a submit, little is left to gain.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from timeit import Timer
from typing import Any

import numpy as np
from race import Times, race, timed_row, timer
from result import Row

from tinyburn import Autodiff, Tensor, Wgpu

LENGTH = 4_000_000
BATCH = 200
PAGES = (1, 4, 16, 64)


def on_device(call: Callable[[], Any], device: Any, repeat: int = 1) -> Timer:
    """``repeat`` calls, and then the wait until the device has done them."""

    def calls() -> None:
        for _ in range(repeat):
            call()
        device.sync()

    return timer(calls, clock=perf_counter)


def by_hand(call: Callable[[], Any], repeat: int = 1) -> Timer:
    return timer(lambda: [call() for _ in range(repeat)], clock=perf_counter)


def large_pairs(device: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """For each case Wgpu's call and NumPy's, with a new buffer for each result in both."""
    a = np.random.default_rng(0).standard_normal(LENGTH, "float32")
    x = Tensor.from_data(a, device)
    return {
        "add, 4 M": (lambda: x + x, lambda: np.add(a, a)),
        "chain (x * 2 + 1).exp() - x, 4 M": (
            lambda: (x * 2.0 + 1.0).exp() - x,
            lambda: np.subtract(np.exp(np.add(np.multiply(a, np.float32(2)), np.float32(1))), a),
        ),
        "sum, 4 M": (lambda: x.sum(), lambda: a.sum(keepdims=True)),
    }


def run_large(device: Any) -> list[Row]:
    rows = []
    for name, (ours, numpys) in large_pairs(device).items():
        np.testing.assert_allclose(ours().to_numpy(), numpys(), rtol=1e-4, atol=0.1)
        times = race({"Wgpu": on_device(ours, device), "NumPy": by_hand(numpys)}, 21)
        rows.append(timed_row("wgpu_ops", name, times, "Wgpu", "NumPy", "ms"))
    return rows


def run_tiny(device: Any) -> list[Row]:
    """One addition of (16, 4), as one of many: the device never waits for the next command."""
    a = np.ones((16, 4), "float32")
    x = Tensor.ones((16, 4), device)
    times = race({"Wgpu": on_device(lambda: x + x, device, BATCH), "NumPy": by_hand(lambda: np.add(a, a), BATCH)}, 21)
    each = {name: [seconds / BATCH for seconds in rounds] for name, rounds in times.items()}
    return [timed_row("wgpu_ops", "add, 16x4", each, "Wgpu", "NumPy", "us")]


def run_pages() -> list[Row]:
    """The same training step with 1, 4, 16 or 64 commands in a submit, over one with 1."""
    backend: Any = Autodiff[Wgpu]
    device = backend.device()
    x, y = Tensor.ones((16, 8), device), Tensor.zeros((16, 4), device)
    w = Tensor.full((8, 4), 0.02, device).require_grad()
    commands = device.inner.gpu.commands

    def step_with(page: int) -> Callable[[], Any]:
        def step() -> None:
            commands.page = page
            ((x @ w - y) ** 2).mean().backward()

        return step

    times: Times = race({f"{page}": on_device(step_with(page), device, BATCH) for page in PAGES}, 11)
    each = {name: [seconds / BATCH for seconds in rounds] for name, rounds in times.items()}
    return [
        timed_row("wgpu_ops", f"step, {page} commands a submit", each, f"{page}", f"{PAGES[0]}", "us")
        for page in PAGES[1:]
    ]


def run() -> list[Row]:
    reason = Wgpu.why_unavailable()
    if reason is not None:
        print(f"wgpu_ops is left out: {reason}")
        return []
    device: Any = Wgpu.device()
    print(f"wgpu_ops on {device.description}")
    return [*run_tiny(device), *run_large(device), *run_pages()]
