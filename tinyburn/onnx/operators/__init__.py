"""The rows of the table, a file for each family of operators. Importing it fills `table.OPERATORS`."""

from . import (
    activations,
    attention,
    control,
    creation,
    elementwise,
    images,
    losses,
    movement,
    normalization,
    pick,
    products,
    quantization,
    recurrent,
    reductions,
    signal,
    windows,
)

__all__ = [
    "activations",
    "attention",
    "control",
    "creation",
    "elementwise",
    "images",
    "losses",
    "movement",
    "normalization",
    "pick",
    "products",
    "quantization",
    "recurrent",
    "reductions",
    "signal",
    "windows",
]
