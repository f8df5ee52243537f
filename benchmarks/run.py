"""Runs the benchmarks, all or those named, and prints one table. Nothing fails on a time: read the verdicts.

python benchmarks/run.py [NAME ...] [--json FILE]
"""

from __future__ import annotations

import os

# One thread for everybody. These are read when NumPy and PyTorch are loaded, so they come before the imports.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
# Some machines tell OpenBLAS to take the kernels of an older processor. PyTorch's own library would not hear of it.
for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(setting, None)

import argparse
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import checkpointing
import convolution
import graph
import import_time
import large_ops
import learner
import loading
import onnx_models
import peak_bytes
import planning
import sequences
import small_ops
import stepper
import steps
import torch
import tracing
import training_step
import wgpu_matmul
import wgpu_ops
import widgets
import xla_memory
from heap import keep_heap
from result import HEADER, Row

from tinyburn.base.text import table

torch.set_num_threads(1)

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "training_step": training_step.run,
    "steps": steps.run,
    "sequences": sequences.run,
    "peak_bytes": peak_bytes.run,
    "small_ops": small_ops.run,
    "large_ops": large_ops.run,
    "graph": graph.run,
    "onnx": onnx_models.run,
    "learner": learner.run,
    "import_time": import_time.run,
    "tracing": tracing.run,
    "stepper": stepper.run,
    "widgets": widgets.run,
    "checkpointing": checkpointing.run,
    "convolution": convolution.run,
    "planning": planning.run,
    "loading": loading.run,
    "wgpu_ops": wgpu_ops.run,
    "wgpu_matmul": wgpu_matmul.run,
}


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks of tinyburn beside NumPy, PyTorch and HIPS autograd.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return arguments


def describe_machine(heap_is_kept: bool) -> dict[str, str]:
    libraries = ["numpy", "torch", "autograd", *(["jax"] if xla_memory.is_installed() else [])]
    versions = {name: version(name) for name in libraries}
    heap = "kept" if heap_is_kept else "as the system has it"
    machine = {"machine": platform.machine(), "threads": "1", "heap": heap}
    return {"python": platform.python_version(), **versions, **machine}


def save(path: Path, rows: list[Row], made_with: dict[str, str]) -> None:
    document = {"made_with": made_with, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    arguments = read_arguments()
    made_with = describe_machine(keep_heap())
    rows: list[Row] = []
    names = arguments.names or list(BENCHMARKS)
    for name in names:
        print(f"running {name} ...", file=sys.stderr)
        rows += BENCHMARKS[name]()
    print(", ".join(f"{name} {text}" for name, text in made_with.items()))
    print(table(HEADER, [row.cells() for row in rows]))
    if "peak_bytes" in names:
        print(xla_memory.note())
    if arguments.json:
        save(arguments.json, rows, made_with)


if __name__ == "__main__":
    main()
