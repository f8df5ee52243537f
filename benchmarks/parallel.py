"""Training in several processes: what it gains, what it sends, and what it costs where there is one process.

    python benchmarks/parallel.py                 # all of it; mpiexec has to be there: pip install "tinyburn[mpi]"
    python benchmarks/parallel.py bytes           # some: throughput, bytes, buckets, overlap, alone

It is apart from the others: times are those of the wall, since several processes are what is timed. In each round the
contenders take turns, and the median over the rounds of their ratio is printed; where other programs want the cores
too, the fastest round of each tells more. Bytes are what the loopback interface
has counted, for which MPI is told to use TCP between processes of one machine too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
OVER_TCP = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
JOBS: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {
    "throughput": ((2,), {}),
    "bytes": ((2, 3, 4), OVER_TCP),
    "buckets": ((2,), {}),
    "overlap": ((2,), {}),
    "alone": ((1,), {}),
}
"""What is measured: on how many ranks, and with which settings of MPI."""

LEAST_GAIN, MOST_BYTES, MOST_OVERHEAD = 1.5, 1.03, 1.01
"""The targets."""


def main(names: list[str]) -> None:
    for name in names or JOBS:
        sizes, settings = JOBS[name]
        for size in sizes:
            command = ["mpiexec", "-n", str(size), sys.executable, __file__, "--rank", name]
            print(f"{name}, {size} rank{'s' * (size > 1)}", flush=True)
            subprocess.run(command, env={**os.environ, **THREADS, **settings}, check=True)


# On a rank


def model_of(widths: tuple[int, ...], device: Any) -> Any:
    from tinyburn import Module, nn

    class Mlp(Module):
        def __init__(self) -> None:
            self.layers = [nn.LinearConfig(before, after).init(device) for before, after in pairwise(widths)]

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x).tanh()
            return x

    return Mlp()


def bytes_of(model: Any) -> int:
    return sum(param.val().payload_bytes for _, param in model.named_params())


def on_device(seed: int = 0) -> Any:
    from tinyburn import Autodiff, NdArray

    device = Autodiff[NdArray].device()
    device.seed(seed)
    return device


def seconds_of(work: Callable[[], object], comm: Any) -> float:
    """The time until the last rank is done."""
    comm.meet("start")
    began = time.perf_counter()
    work()
    return max(row[0] for row in comm.meet("stop", time.perf_counter() - began))


def gradients(model: Any, batch: int) -> Any:
    from tinyburn import Tensor

    first = model.layers[0].weight.val()
    x = Tensor.ones((batch, first.shape[0]), first.device)
    return (model(x) ** 2).mean().backward()


def throughput(comm: Any) -> None:
    """Samples a second of all ranks, over those of rank 0 by itself: for three models, and a small and a large batch a
    rank. Only the largest has a target."""
    from tinyburn import parallel

    for width, batch in product((64, 256, 1024), (16, 256)):
        start = parallel.same_start(model_of((width,) * 5, on_device()), comm)
        by_itself = stepping(start, batch, parallel.Alone(), False) if comm.rank == 0 else lambda: None
        together = {name: stepping(start, batch, comm, name == "Sharded") for name in ("all_reduce", "Sharded")}
        works = {"one": by_itself, **together}
        times = taking_turns(works, comm, 15)
        for name in together:
            gains = [comm.size * one / both for one, both in zip(times["one"], times[name], strict=True)]
            fastest = comm.size * min(times["one"]) / min(times[name])
            numbers = f"{fastest:.2f} times one process by the fastest rounds, {median(gains):.2f} by the median"
            has_target = (width, batch, name) == (1024, 256, "all_reduce")
            verdict = f", target {LEAST_GAIN}: {'pass' if fastest >= LEAST_GAIN else 'fail'}" if has_target else ""
            say(comm, f"  4 layers of {width}, {batch} samples a rank, {name}: {numbers}{verdict}")


def stepping(start: Any, batch: int, comm: Any, sharded: bool) -> Callable[[], None]:
    """A step with so many samples a rank, which goes on from the one before."""
    from tinyburn import optim, parallel

    plain = optim.SgdConfig(momentum=0.9).init()
    optimizer: Any = parallel.Sharded(plain, comm) if sharded else plain
    model = [start]

    def step() -> None:
        grads: Any = gradients(model[0], batch)
        if sharded:
            model[0] = optimizer.step(0.01, model[0], grads, batch)
        else:
            model[0] = optimizer.step(0.01, model[0], parallel.all_reduce(grads, model[0], comm, batch))

    return step


def taking_turns(works: dict[str, Callable[[], object]], comm: Any, rounds: int) -> dict[str, list[float]]:
    """The seconds of each work in each round. The first round warms up, and does not count."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for at in range(rounds + 1):
        for name, work in works.items():
            times[name] += [seconds_of(work, comm)] * (at > 0)
    return times


def overlap(comm: Any) -> None:
    """Sums that begin as soon as a gradient is there, while matrix products go on, over sums at the end.

    A rank has a product for each of 4 layers, as in a backward pass, and sums a gradient of its size.
    """
    import numpy as np
    from mpi4py import MPI

    ranks = MPI.COMM_WORLD.Dup()
    for width, batch in ((256, 256), (1024, 64), (1024, 256)):
        above, weight = np.ones((batch, width), np.float32), np.ones((width, width), np.float32) / width
        totals = [np.empty_like(weight) for _ in range(4)]

        def backward(
            sum_up: Callable[[Any], object], above: Any = above, weight: Any = weight, totals: Any = totals
        ) -> None:
            for total in totals:
                np.matmul(above.T, above, out=total)
                sum_up(total)
                above = above @ weight

        def at_the_end(totals: Any = totals, backward: Any = backward) -> None:
            backward(lambda _: None)
            for total in totals:
                ranks.Allreduce(MPI.IN_PLACE, total)

        def meanwhile(backward: Any = backward) -> None:
            running: list[Any] = []

            def sum_up(total: Any) -> None:
                running.append(ranks.Iallreduce(MPI.IN_PLACE, total))
                MPI.Request.Testall(running)  # MPI moves on only when it is called

            backward(sum_up)
            MPI.Request.Waitall(running)

        times = taking_turns({"end": at_the_end, "meanwhile": meanwhile}, comm, 25)
        ratio = median(one / other for one, other in zip(times["meanwhile"], times["end"], strict=True))
        say(comm, f"  4 layers of {width}, a batch of {batch}: {ratio:.2f} of the time of sums at the end")


def sent() -> int:
    """What this machine has sent to itself by the network, in bytes."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.strip().startswith("lo:")]
    return int(line.split(":")[1].split()[8])


def count_bytes(comm: Any) -> None:
    """A rank's bytes in a step, over 2 (n - 1) / n times those of the gradients."""
    from tinyburn import optim, parallel

    steps = 10
    for width in (256, 512, 1024):
        model = parallel.same_start(model_of((width,) * 5, on_device()), comm)
        formula = 2 * (comm.size - 1) / comm.size * bytes_of(model)
        sharded: Any = parallel.Sharded(optim.SgdConfig(momentum=0.9).init(), comm)
        works = {
            "all_reduce": lambda model=model: parallel.all_reduce(gradients(model, 1), model, comm, 1),
            "Sharded": lambda model=model, it=sharded: it.step(0.1, model, gradients(model, 1), 1),
        }
        for name, work in works.items():
            work()
            comm.meet("before")
            before = sent()
            comm.meet("begin")
            for _ in range(steps):
                work()
            comm.meet("end")
            share = (sent() - before) / comm.size / steps / formula
            verdict = "pass" if share <= MOST_BYTES else "fail"
            text = f"{bytes_of(model) / 2**20:.2f} MiB of gradients"
            say(comm, f"  {name}, {text}: {share:.3f} of the formula, target {MOST_BYTES}: {verdict}")


MODELS = {
    "60 layers of 32": (32,) * 61,
    "20 layers of 128": (128,) * 21,
    "8 layers of 512": (512,) * 9,
    "4 layers of 1 024": (1024,) * 5,
}
LIMITS = (0, 2**14, 2**16, 2**18, 2**20, 2**26)


def compare_buckets(comm: Any) -> None:
    """The time of `all_reduce` of a model's gradients, with buckets of several sizes; the fastest is 1."""
    from tinyburn import parallel
    from tinyburn.base.text import table

    rows = []
    for name, widths in MODELS.items():
        model = parallel.same_start(model_of(widths, on_device()), comm)
        times: dict[int, list[float]] = {limit: [] for limit in LIMITS}
        for at in range(26):
            for limit in LIMITS:
                grads = gradients(model, 1)  # before the time is taken: a sum takes its gradients
                work = lambda limit=limit, grads=grads: parallel.all_reduce(grads, model, comm, 1, bucket_bytes=limit)  # noqa: B023, E731
                times[limit] += [seconds_of(work, comm)] * (at > 0)
        medians = {limit: median(found) for limit, found in times.items()}
        least = min(medians.values())
        rows.append((name, f"{1000 * least:.2f} ms", *(f"{medians[limit] / least:.2f}" for limit in LIMITS)))
    header = ("gradients of", "fastest", "one each", *(f"{limit // 1024} KiB" for limit in LIMITS[1:]))
    say(comm, table(header, rows))


def alone(comm: Any) -> None:
    """A step of a small model with all that a communicator brings, over the same without; in processor time."""
    from race import race, timer  # beside this file

    from tinyburn import optim, parallel

    model = model_of((32, 32, 32), on_device())
    by_itself = parallel.Alone()

    def plain() -> None:
        optim.SgdConfig().init().step(0.1, model, gradients(model, 16))

    def with_alone() -> None:
        started = parallel.same_start(model, by_itself)
        grads = parallel.all_reduce(gradients(started, 16), started, by_itself, 16)
        optim.SgdConfig().init().step(0.1, started, grads)

    found = race({"alone": timer(with_alone), "plain": timer(plain)}, 400)
    ratio = median(one / other for one, other in zip(found["alone"], found["plain"], strict=True))
    say(
        comm, f"  {ratio:.3f} of a step without, target {MOST_OVERHEAD}: {'pass' if ratio <= MOST_OVERHEAD else 'fail'}"
    )


def say(comm: Any, text: str) -> None:
    if comm.rank == 0:
        print(text, flush=True)


RUN: dict[str, Callable[[Any], None]] = {
    **{"throughput": throughput, "bytes": count_bytes, "buckets": compare_buckets},
    **{"overlap": overlap, "alone": alone},
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        from tinyburn import parallel

        RUN[sys.argv[2]](parallel.Mpi())
    else:
        main(sys.argv[1:])
