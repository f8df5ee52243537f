"""Fixtures of every test: the backends, and every decorator of them that must be transparent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.support import SHAPE_BACKENDS, TRACKING_BACKENDS, VALUE_BACKENDS
from tinyburn import Device

settings.register_profile("tinyburn", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("tinyburn")


@pytest.fixture(params=sorted(VALUE_BACKENDS))
def backend(request: pytest.FixtureRequest) -> Any:
    """Each backend whose tensors have values."""
    return VALUE_BACKENDS[request.param]


@pytest.fixture
def device(backend: Any) -> Device[Any]:
    """A float64 device of each backend that has values."""
    made: Device[Any] = backend.device(float_dtype="float64")
    made.seed(7)
    return made


@pytest.fixture(params=sorted({**VALUE_BACKENDS, **SHAPE_BACKENDS}))
def any_device(request: pytest.FixtureRequest) -> Device[Any]:
    """A float64 device of each backend, those without values included."""
    backend: Any = {**VALUE_BACKENDS, **SHAPE_BACKENDS}[request.param]
    made: Device[Any] = backend.device(float_dtype="float64")
    return made


@pytest.fixture(params=sorted(TRACKING_BACKENDS))
def tracking(request: pytest.FixtureRequest) -> Device[Any]:
    """A float64 device of each backend that records a graph."""
    made: Device[Any] = TRACKING_BACKENDS[request.param].device(float_dtype="float64")
    return made


@pytest.fixture(params=["float32", "float64"])
def float_dtype(request: pytest.FixtureRequest) -> str:
    dtype: str = request.param
    return dtype


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20)
