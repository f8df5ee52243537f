"""Fixtures of every test: the backends, and every decorator of them that must be transparent."""

from __future__ import annotations

import gc
import os
from random import Random
from types import SimpleNamespace
from typing import Any

# Tests and notebooks run two at a time. With a thread for each core, two matrix products would wait for each other.
# It has to be said before NumPy is imported, and the kernels of the notebooks inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from tests.support import BASES, SHAPE_BACKENDS, TRACKING_BACKENDS, VALUE_BACKENDS, UnderTest, params
from tinyburn import Autodiff, Device
from tinyburn.backend import device as devices
from tinyburn.base import machine

settings.register_profile("tinyburn", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("tinyburn")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A device that a test does not seed draws what it drew in the last run: a test fails always, or never."""
    draws = Random(item.nodeid)
    devices.fresh_seed = lambda: draws.getrandbits(64)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test that is skipped for one reason in many variants, as all those for a GPU that is not there, one is kept:
    it says the reason, and the others would take a minute to say it again."""
    kept, left_out, said = [], [], set()
    for item in items:
        mark = item.get_closest_marker("skip")
        name = (item.location[0], getattr(item, "originalname", item.name), mark and mark.kwargs.get("reason"))
        (left_out if mark and name in said else kept).append(item)
        if mark:
            said.add(name)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Takes what pytest has collected out of the garbage collector's sight.

    It is some hundred thousand objects that stay to the end. A test that collects, or makes much garbage, would walk
    over all of them each time, which took more than a third of the suite.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(params=params(BASES), scope="module")
def base(request: pytest.FixtureRequest) -> UnderTest:
    """Each backend that computes by itself."""
    found: UnderTest = request.param
    return found


@pytest.fixture
def base_tracked(base: UnderTest) -> Device[Any]:
    """A device of each of those, under Autodiff."""
    return base.inside(Autodiff).device()


@pytest.fixture(params=params(VALUE_BACKENDS))
def backend(request: pytest.FixtureRequest) -> Any:
    """The class of each backend whose tensors have values."""
    return request.param.backend


@pytest.fixture(params=params(VALUE_BACKENDS))
def device(request: pytest.FixtureRequest) -> Device[Any]:
    """A device of each backend that has values, in the widest dtypes that it has."""
    made: Device[Any] = request.param.device()
    made.seed(7)
    return made


@pytest.fixture(params=params([*VALUE_BACKENDS, *SHAPE_BACKENDS]))
def any_device(request: pytest.FixtureRequest) -> Device[Any]:
    """The same, and each backend without values."""
    made: Device[Any] = request.param.device()
    return made


@pytest.fixture(params=params(TRACKING_BACKENDS))
def tracking(request: pytest.FixtureRequest) -> Device[Any]:
    """A device of each backend that records a graph."""
    made: Device[Any] = request.param.device()
    return made


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """tinyburn takes this Python for one that was built for a browser."""
    monkeypatch.setattr(machine, "sys", SimpleNamespace(platform="emscripten"))


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20)
