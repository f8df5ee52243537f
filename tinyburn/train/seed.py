"""One seed for everything that draws random numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tinyburn.backend import Device


def seed_everything(seed: int, *devices: Device[Any]) -> None:
    """Starts anew the random numbers of the devices, of Python's `random` and of NumPy's old global generator.

    Call it before the model is made: its first values are drawn from the device. tinyburn itself draws from devices
    only; the other two are for code of others, such as a batcher that augments images. A loader and a split have seeds
    of their own, as arguments. Raises ConfigError for a seed that is no whole number of 0 or more.
    """
    for device in devices:
        device.seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
