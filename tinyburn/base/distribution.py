"""What `Tensor.random` draws from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from .errors import ConfigError


class Distribution:
    """The distributions under one name, as in ``Distribution.Normal(0, 0.02)``."""

    @dataclass(frozen=True)
    class Normal:
        """The bell curve around ``mean``, with standard deviation ``std``."""

        mean: float = 0.0
        std: float = 1.0

        def __post_init__(self) -> None:
            if not self.std >= 0:
                raise ConfigError(repr(self), "a standard deviation is not negative")

    @dataclass(frozen=True)
    class Uniform:
        """Every number of ``[low, high)`` alike."""

        low: float = 0.0
        high: float = 1.0

        def __post_init__(self) -> None:
            if not self.low <= self.high:
                raise ConfigError(repr(self), "low is above high")

    @dataclass(frozen=True)
    class Bernoulli:
        """1 with the given probability, else 0."""

        probability: float

        def __post_init__(self) -> None:
            if not 0 <= self.probability <= 1:
                raise ConfigError(repr(self), "a probability lies from 0 to 1")

    Default: ClassVar = Uniform(0.0, 1.0)


AnyDistribution: TypeAlias = Distribution.Normal | Distribution.Uniform | Distribution.Bernoulli
