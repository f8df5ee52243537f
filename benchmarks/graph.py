"""Whether a graph costs its length and no more: a long chain, a node's bytes, and a model of many layers.

Python's cycle collector walks over all objects that are alive, again and again while a graph grows, so a node of a long
graph can cost more than one of a short graph. How much depends on what else is alive. So this is measured in a new
process with tinyburn alone, and once more with PyTorch's modules beside it.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from time import process_time
from typing import Any

from heap import keep_heap
from race import Times, timed_row
from result import Row, Target

from tinyburn import Autodiff, Device, NdArray, Tensor, activation, nn

LONG, SHORT = 100_000, 1_000
DEEP, SHALLOW = 1_000, 10
WIDTH, BATCH = 8, 16  # so small that the parameters of all layers fit into a cache together
NODES = 10_000
ROUNDS = 5

GROWTH = Target("ratio", 1.3)
NODE = Target("value", 300)


def new_device() -> Device[Any]:
    backend: Any = Autodiff[NdArray]
    device: Device[Any] = backend.device()
    device.seed(0)
    return device


def make_chain(x: Any, length: int) -> Any:
    """A sum keeps nothing for the backward pass: these are nodes and nothing else."""
    for _ in range(length):
        x = x + 1.0
    return x


def seconds_of_chain(length: int, repeats: int) -> float:
    """Of one operation, forward. To let the chain go takes time as well, and is not counted."""
    x = Tensor.ones((1,), new_device()).require_grad()
    total = 0.0
    for _ in range(repeats):
        start = process_time()
        chain = make_chain(x, length)
        total += process_time() - start
        del chain
    return total / (length * repeats)


def seconds_of_layers(depth: int, repeats: int) -> float:
    """Of one layer, Linear and relu, forward and backward."""
    device = new_device()
    layers = [nn.LinearConfig(WIDTH, WIDTH).init(device) for _ in range(depth)]
    x = Tensor.ones((BATCH, WIDTH), device)

    def step() -> Any:
        h: Any = x
        for layer in layers:
            h = activation.relu(layer(h))
        return h.mean().backward()

    step()  # what is made on first use is made now
    start = process_time()
    for _ in range(repeats):
        step()
    return (process_time() - start) / (depth * repeats)


def bytes_of_a_node() -> int:
    """By tracemalloc's count, over a chain without saved values; all that the chain keeps alive is divided."""
    x = Tensor.ones((1,), new_device()).require_grad()
    make_chain(x, NODES)  # what is made on first use is made now
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    chain = make_chain(x, NODES)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del chain
    return round((after - before) / NODES)


def compare(work: Callable[[int, int], float], long: int, short: int) -> Times:
    """In each round the long graph once, and the short one as often as makes it as much work."""
    times: Times = {"long": [], "short": []}
    work(short, 1)
    for _ in range(ROUNDS):
        gc.collect()
        times["short"].append(work(short, long // short))
        gc.collect()
        times["long"].append(work(long, 1))
    return times


def measure_here() -> dict[str, Any]:
    """All that this file measures, in this process."""
    keep_heap()
    return {
        "chain": compare(seconds_of_chain, LONG, SHORT),
        "layers": compare(seconds_of_layers, DEEP, SHALLOW),
        "node": bytes_of_a_node(),
    }


def measure_beside(*modules: str) -> dict[str, Any]:
    """The same in a new process, which imports these modules first."""
    answer = subprocess.run([sys.executable, __file__, *modules], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def growth_rows(found: dict[str, Any], suffix: str, *targets: Target) -> list[Row]:
    """An operation of the long chain over one of the short chain, and the same for layers."""
    cases = {
        "chain": ("chain, forward, an operation", LONG, SHORT),
        "layers": ("model, forward and backward, a layer", DEEP, SHALLOW),
    }
    rows = []
    for key, (title, long, short) in cases.items():
        times = {f"at {long}": found[key]["long"], f"at {short}": found[key]["short"]}
        case = f"{title} at {long}{suffix}"
        rows.append(timed_row("graph", case, times, f"at {long}", f"at {short}", "us", *targets))
    return rows


def run() -> list[Row]:
    alone = measure_beside()
    node = Row("graph", "a node, nothing saved", "", "B", alone["node"], targets=(NODE,))
    beside = growth_rows(measure_beside("torch"), ", PyTorch loaded")
    return [*growth_rows(alone, "", GROWTH), node, *beside]


def main() -> None:
    for module in sys.argv[1:]:
        import_module(module)
    print(json.dumps(measure_here()))


if __name__ == "__main__":
    main()
