"""A training of several ranks in which one of them goes wrong: ``mpiexec -n 3 python faults.py FOLDER FAULT``.

Each rank leaves its process id in the folder first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tinyburn import Autodiff, NdArray, Tensor, nn, optim, parallel

ODD = 1
"""The rank that goes wrong, in step `WHEN` of `STEPS`."""
WHEN, STEPS = 2, 5


def step(comm: Any, model: Any, optimizer: Any, samples: Any = 4) -> Any:
    x = Tensor.ones((4, 3), model.weight.val().device)
    grads = model(x).mean().backward()
    return optimizer.step(0.1, model, parallel.all_reduce(grads, model, comm, samples))


def start(comm: Any) -> tuple[Any, Any]:
    device = Autodiff[NdArray].device()
    return parallel.same_start(nn.LinearConfig(3, 2).init(device), comm), optim.SgdConfig().init()


def train(comm: Any, fault: str) -> None:
    model, optimizer = start(comm)
    for number in range(STEPS):
        if comm.rank == ODD and number == WHEN:
            if fault == "early":
                return
            if fault in WRONG:
                WRONG[fault](comm, model)
        model = step(comm, model, optimizer, -1 if fault == "negative" and comm.rank == ODD else 4)


def raise_error(comm: Any, model: Any) -> None:
    raise ArithmeticError("the disk of rank 1 is full")


def interrupt_here(comm: Any, model: Any) -> None:
    raise KeyboardInterrupt


def leave(comm: Any, model: Any) -> None:
    sys.exit(3)


def kill(comm: Any, model: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_forever(comm: Any, model: Any) -> None:
    Path(sys.argv[1], "waits").touch()
    time.sleep(600)


def call_another(comm: Any, model: Any) -> None:
    comm.broadcast(Tensor.ones((2,), model.weight.val().device.inner))


WRONG = {
    "raise": raise_error,
    "interrupted": interrupt_here,
    "exit": leave,
    "kill": kill,
    "wait": wait_forever,
    "order": call_another,
}


def alone_with(fault: str, comm: Any) -> None:
    """Faults before any training."""
    device = Autodiff[NdArray].device(float_dtype="float64" if fault == "dtype" and comm.rank == ODD else "float32")
    odd = comm.rank == ODD
    if fault == "model":
        layer = nn.LinearConfig(3, 2, bias=not odd).init(device)
        parallel.same_start(layer, comm)
    elif fault == "frozen":
        layer = nn.LinearConfig(3, 2).init(device)
        parallel.same_start(layer.freeze("bias") if odd else layer, comm)
    else:
        shape = (5,) if fault == "shape" and odd else (4,)
        comm.all_reduce(Tensor.ones(shape, device.inner))


if __name__ == "__main__":
    folder, fault = sys.argv[1:]
    world = parallel.Mpi()
    Path(folder, f"{world.rank}.pid").write_text(str(os.getpid()), encoding="utf-8")
    if fault in ("model", "frozen", "shape", "dtype"):
        alone_with(fault, world)
    else:
        train(world, fault)
    sys.stdout.write(f"rank {world.rank} is done\n")  # in one piece, as the others write at the same time
