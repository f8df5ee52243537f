"""Where XLA's figure would be: what a compiled step is given for its arguments, its results and in between.

jax is no requirement. With it in the environment, the table of peaks has XLA's rows as well.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import Any

XLA, XLA_SGD = "XLA, compiled", "XLA, donated"

Layers = list[tuple[Any, Any]]
"""The weight and the bias of each layer."""


def is_installed() -> bool:
    """Whether jax is in this environment."""
    return find_spec("jax") is not None


def compiled_bytes(batch: int, widths: tuple[int, ...]) -> int | None:
    """The bytes of compiled gradients of linear layers with relu between them; None without jax.

    XLA plans one arena before it runs, so this is no running sum: an output has its place from the start.
    """
    if not is_installed():
        return None
    import jax

    return _reserved(jax.jit(jax.grad(_loss)).lower(*_arguments(batch, widths)))


def compiled_sgd_bytes(batch: int, widths: tuple[int, ...]) -> int | None:
    """The same with a step of SGD. The parameters are donated: the new ones take their place."""
    if not is_installed():
        return None
    import jax

    def step(layers: Layers, x: Any, y: Any) -> Any:
        gradients = jax.grad(_loss)(layers, x, y)
        return jax.tree.map(lambda value, gradient: value - 0.01 * gradient, layers, gradients)

    return _reserved(jax.jit(step, donate_argnums=0).lower(*_arguments(batch, widths)))


def _loss(layers: Layers, x: Any, y: Any) -> Any:
    import jax

    for weight, bias in layers[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = layers[-1]
    return ((x @ weight + bias - y) ** 2).mean()


def _arguments(batch: int, widths: tuple[int, ...]) -> tuple[Layers, Any, Any]:
    from jax import numpy as jnp

    layers = [(jnp.ones((d_in, d_out)), jnp.zeros((1, d_out))) for d_in, d_out in pairwise(widths)]
    return layers, jnp.ones((batch, widths[0])), jnp.zeros((batch, widths[-1]))


def _reserved(lowered: Any) -> int:
    """An output that lies in the memory of a donated argument counts once."""
    need = lowered.compile().memory_analysis()
    outputs = need.output_size_in_bytes - need.alias_size_in_bytes
    total: int = need.argument_size_in_bytes + outputs + need.temp_size_in_bytes
    return total


def note() -> str:
    """The line under the table."""
    if not is_installed():
        return (
            "XLA: not measured, as jax is not installed. It fuses, so for one layer its figure would be below "
            "tinyburn's; it reserves every output for the whole step, so for an MLP it can be above."
        )
    return "XLA: arguments + outputs + temporaries, as it reserves them for the whole compiled step."
