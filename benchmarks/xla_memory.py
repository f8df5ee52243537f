"""Where XLA's figure would be: what a compiled step is given for its arguments, its results and in between.

jax is no requirement. With it in the environment, the table of peaks has XLA's rows as well.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import Any

XLA = "XLA, compiled"


def is_installed() -> bool:
    """Whether jax is in this environment."""
    return find_spec("jax") is not None


def compiled_bytes(batch: int, widths: tuple[int, ...]) -> int | None:
    """The bytes of a compiled step of linear layers with relu between them; None without jax.

    XLA plans one arena before it runs, so this is no running sum: an output has its place from the start.
    """
    if not is_installed():
        return None
    import jax

    def loss(layers: list[tuple[Any, Any]], x: Any, y: Any) -> Any:
        for weight, bias in layers[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = layers[-1]
        return ((x @ weight + bias - y) ** 2).mean()

    x, y = jax.numpy.ones((batch, widths[0])), jax.numpy.zeros((batch, widths[-1]))
    layers = [(jax.numpy.ones((d_in, d_out)), jax.numpy.zeros((1, d_out))) for d_in, d_out in pairwise(widths)]
    need = jax.jit(jax.grad(loss)).lower(layers, x, y).compile().memory_analysis()
    total: int = need.argument_size_in_bytes + need.output_size_in_bytes + need.temp_size_in_bytes
    return total


def note() -> str:
    """The line under the table."""
    if not is_installed():
        return (
            "XLA: not measured, as jax is not installed. It fuses, so for one layer its figure would be below "
            "tinyburn's; it reserves every output for the whole step, so for an MLP it can be above."
        )
    return "XLA: arguments + outputs + temporaries, as it reserves them for the whole compiled step."
