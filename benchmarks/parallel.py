"""Training in several processes: what it gains, what it sends, and what it costs where there is one process.

    python benchmarks/parallel.py                 # all of it; mpiexec has to be there: pip install "tinyburn[mpi]"
    python benchmarks/parallel.py bytes           # some: throughput, bytes, buckets, alone

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
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
OVER_TCP = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
JOBS: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {
    "throughput": ((2,), {}),
    "bytes": ((2, 3, 4), OVER_TCP),
    "buckets": ((2,), {}),
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
    """4 layers of 1 024, a batch of 256 a rank: samples a second of both ranks, over those of rank 0 by itself."""
    from tinyburn import optim, parallel

    batch, rounds = 256, 15
    start = parallel.same_start(model_of((1024,) * 5, on_device()), comm)

    def train(among: Any, sharded: bool) -> Callable[[], None]:
        plain = optim.SgdConfig(momentum=0.9).init()
        optimizer: Any = parallel.Sharded(plain, among) if sharded else plain
        model = [start]

        def step() -> None:
            grads: Any = gradients(model[0], batch)
            if sharded:
                model[0] = optimizer.step(0.01, model[0], grads, batch)
            else:
                model[0] = optimizer.step(0.01, model[0], parallel.all_reduce(grads, model[0], among, batch))

        return step

    by_itself = train(parallel.Alone(), False) if comm.rank == 0 else lambda: None
    together = {"all_reduce": train(comm, False), "Sharded": train(comm, True)}
    times: dict[str, list[float]] = {name: [] for name in ("one", *together)}
    for at in range(rounds + 1):
        for name, step in {"one": by_itself, **together}.items():
            times[name] += [seconds_of(step, comm)] * (at > 0)  # the first warms up
    for name in together:
        gains = [comm.size * one / both for one, both in zip(times["one"], times[name], strict=True)]
        fastest = comm.size * min(times["one"]) / min(times[name])
        verdict = f"target {LEAST_GAIN}: {'pass' if fastest >= LEAST_GAIN else 'fail'}"
        numbers = f"{fastest:.2f} times one process by the fastest rounds, {median(gains):.2f} by the median"
        say(comm, f"  {name}: {numbers}, {verdict if name == 'all_reduce' else 'no target'}")


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
                grads = gradients(model, 1)
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
    **{"throughput": throughput, "bytes": count_bytes, "buckets": compare_buckets, "alone": alone},
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        from tinyburn import parallel

        RUN[sys.argv[2]](parallel.Mpi())
    else:
        main(sys.argv[1:])
