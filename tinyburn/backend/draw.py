"""Drawing random numbers with NumPy's generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyburn.base.distribution import AnyDistribution, Bernoulli, Normal, Uniform
from tinyburn.base.dtype import DType
from tinyburn.base.shape import Shape


def draw(
    generator: np.random.Generator, shape: Shape, distribution: AnyDistribution, dtype: DType
) -> np.ndarray[Any, Any]:
    """Independent draws. Made in the wanted format and moved in place, so that the result is the only buffer.

    NumPy draws no float16: those are drawn in float32, in a second buffer.
    """
    drawn: Any = np.dtype("float32" if dtype == "float16" else dtype)
    scale, offset = 1.0, 0.0
    if isinstance(distribution, Normal):
        draws = generator.standard_normal(shape, drawn)
        scale, offset = distribution.std, distribution.mean
    else:
        draws = generator.random(shape, drawn)
    if isinstance(distribution, Uniform):
        scale, offset = distribution.high - distribution.low, distribution.low
    if isinstance(distribution, Bernoulli):
        np.less(draws, distribution.probability, out=draws, casting="unsafe")
    draws *= scale
    draws += offset
    return draws.astype(dtype, copy=False)
