"""Every exchange of tensors that lie in memory in some way: ``mpiexec -n 3 python exchanges.py FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.parallel.ranks import answer
from tinyburn import NdArray, Tensor, parallel

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "every third": lambda x: x[::3],
    "backwards": lambda x: x.flip((0,)),
    "one number, read again and again": lambda x: x[:1].expand((5,)),
    "a column": lambda x: x.reshape((4, 3))[:, 1].reshape((4,)),
    "transposed": lambda x: x.reshape((4, 3)).transpose(),
    "none": lambda x: x[:0],
}


def values_of(rank: int, layout: str) -> np.ndarray[Any, Any]:
    """What a rank brings."""
    return tensor_of(rank, layout).to_numpy()


def tensor_of(rank: int, layout: str) -> Any:
    return LAYOUTS[layout](Tensor.from_data(np.arange(12.0) + 100 * rank, NdArray.device(float_dtype="float64")))


def exchanged(comm: Any, layout: str) -> dict[str, Any]:
    x = tensor_of(comm.rank, layout)
    found = {"all_reduce": comm.all_reduce(x), "broadcast": comm.broadcast(x, 1)}
    if x.rank == 1:
        found["reduce_scatter"] = comm.reduce_scatter(x)
        found["all_gather"] = comm.all_gather(x, comm.size * x.shape[0])
    kept = bool((x.to_numpy() == values_of(comm.rank, layout)).all())
    return {"kept": kept, **{name: tensor.to_numpy().tolist() for name, tensor in found.items()}}


if __name__ == "__main__":
    world = parallel.Mpi()
    answer(world, sys.argv[1], {layout: exchanged(world, layout) for layout in LAYOUTS})
