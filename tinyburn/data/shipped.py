"""Small data sets that scikit-learn ships: nothing is downloaded."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tinyburn.base.errors import ConfigError
from tinyburn.base.machine import how_to_install

from .dataset import Dataset
from .in_memory import InMemory

NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""What `shipped` knows. In `diabetes` and `linnerud` the target is measured, in the others a class is given."""


def shipped(name: str) -> Dataset[tuple[Any, Any]]:
    """A data set of scikit-learn, by its name there without ``load_``.

    Items are ``(features, target)``: features as float32; a class is a number of Python, so that it gets the
    ``int_dtype`` of the device, and measured targets are float32.

    Raises:
        ConfigError: there is no such name.
        ImportError: scikit-learn is not installed; it says how to install it.
    """
    if name not in NAMES:
        raise ConfigError(f"data.shipped({name!r})", "there is no such data set", hint=f"use one of {', '.join(NAMES)}")
    loaded = optional("sklearn.datasets", "scikit-learn", f"data.shipped({name!r})").__dict__[f"load_{name}"]()
    features = np.asarray(loaded["images" if name == "digits" else "data"], np.float32)
    target = np.asarray(loaded["target"])
    is_class = "target_names" in loaded and target.dtype.kind == "i"
    return InMemory.from_arrays(features, target.tolist() if is_class else target.astype(np.float32))


def digits() -> Dataset[tuple[Any, Any]]:
    """1797 pictures of written digits, (8, 8) float32 from 0 to 16, each with its class from 0 to 9."""
    return shipped("digits")


def iris() -> Dataset[tuple[Any, Any]]:
    """150 flowers: 4 lengths in cm as float32, and one of 3 classes. Fisher 1936."""
    return shipped("iris")


def wine() -> Dataset[tuple[Any, Any]]:
    """178 wines: 13 measured values as float32, and one of 3 classes."""
    return shipped("wine")


def breast_cancer() -> Dataset[tuple[Any, Any]]:
    """569 tissue samples: 30 measured values as float32, and class 0 (malignant) or 1 (benign)."""
    return shipped("breast_cancer")


def diabetes() -> Dataset[tuple[Any, Any]]:
    """442 patients: 10 scaled values as float32, and a measure of progression after a year as float32."""
    return shipped("diabetes")


def optional(module: str, package: str, asked: str) -> Any:
    """A module of a package that only some programs need. Raises ImportError with the way to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{asked} needs {package} ({error}): {how_to_install(package)}", name=module) from None
