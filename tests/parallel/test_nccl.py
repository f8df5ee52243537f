"""`Nccl`, where there are GPUs: a world of one is enough to see that the calls are right; more ranks need more GPUs."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tests.parallel.ranks import needs_mpi
from tinyburn import Cuda, Tensor, parallel

pytestmark = [
    needs_mpi,
    pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed"),
    pytest.mark.skipif(Cuda.why_unavailable() is not None, reason=f"{Cuda.why_unavailable()}"),
]


@pytest.fixture
def comm() -> Any:
    """NCCL's own way, also where there is one rank, which the methods of a communicator would pass by."""
    return parallel.Nccl(Cuda.device())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_world_of_one_gives_back_what_it_is_given(comm: Any, dtype: str) -> None:
    device: Any = Cuda.device(float_dtype=dtype)
    a = Tensor.from_data(np.arange(10), device, dtype=dtype).primitive
    wanted = np.arange(10).tolist()
    for result in (
        comm._send(0, device, a, False),
        comm._sum(device, a, False),
        comm._sum_part(device, a, False),
        comm._join(10, device, a, False),
    ):
        assert device.backend.to_numpy(result).tolist() == wanted
    assert comm._sum(device, a, True) is a
