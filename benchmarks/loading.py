"""The loader's cost a batch beside PyTorch's DataLoader, and files of a million rows beside pyarrow.

The items and what is made of them are the same. Loops without workers are timed by the processor time of this process,
those with two workers by the clock on the wall, with processes that are there already, as from the second epoch on.
A file is read in a process of its own, which says how much more memory it had at most than after its imports. There
both have Arrow's threads, as in every program; OMP_NUM_THREADS, which `run` sets, would leave Arrow one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from race import Times, timed_row
from result import Row, Target
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import Dataset as TorchDataset

from tinyburn import NdArray, Tensor, data

ITEMS, BATCH, FEATURES = 16_384, 64, 784
ROUNDS = 9
TARGET = Target("ratio", 1.2)
DEVICE = NdArray.device()

Item = tuple[Any, int]


def item(index: int) -> Item:
    """What both data sets compute: a picture of its own, and its label."""
    return np.full(FEATURES, index, np.float32), index % 10


class Pictures(data.Dataset[Item]):
    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, index: int) -> Item:
        return item(index)


class TorchPictures(TorchDataset[Item]):
    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, index: int) -> Item:
        return item(index)


def stacked(items: list[Item]) -> tuple[Any, Any]:
    """The batcher of both, up to the tensors."""
    return np.stack([x for x, _ in items]), np.array([label for _, label in items])


def batcher(items: list[Item], device: Any) -> tuple[Any, Any]:
    x, labels = stacked(items)
    return Tensor.from_data(x, device), Tensor.from_data(labels, device)


def torch_batcher(items: list[Item]) -> tuple[Any, Any]:
    x, labels = stacked(items)
    return torch.from_numpy(x), torch.from_numpy(labels)


def epoch(loader: Any) -> None:
    for _ in loader:
        pass


def compare(title: str, workers: int, mine: Any, theirs: Any) -> Row:
    options: dict[str, Any] = {"persistent_workers": True, "multiprocessing_context": "spawn"} if workers else {}
    ours = data.DataLoader(Pictures(), BATCH, DEVICE, mine, shuffle=True, workers=workers)
    torchs = TorchLoader(TorchPictures(), BATCH, shuffle=True, collate_fn=theirs, num_workers=workers, **options)
    clock: Callable[[], float] = perf_counter if workers else process_time
    loaders: dict[str, Any] = {"tinyburn": ours, "PyTorch": torchs}
    times: Times = {name: [] for name in loaders}
    for loader in loaders.values():
        epoch(loader)
    for number in range(ROUNDS):
        for name in (*loaders,) if number % 2 else (*reversed(loaders),):
            start = clock()
            epoch(loaders[name])
            times[name].append((clock() - start) / (ITEMS / BATCH))
    ours.close()
    del torchs, loaders
    return timed_row("loading", f"{title}, {workers} workers", times, "tinyburn", "PyTorch", "us", TARGET)


# Files

ROWS = 1_000_000

PROGRAM = """
import re, sys, time
import numpy, pyarrow.csv, pyarrow.parquet
from tinyburn import NdArray, data
kind, path = sys.argv[1:]
def ours(make):
    for batch in data.DataLoader(make(path), 1024, NdArray.device()):
        yield len(batch["number"].to_numpy())
def csv():
    yield from (batch.num_rows for batch in pyarrow.csv.open_csv(path))
def parquet():
    yield from (batch.num_rows for batch in pyarrow.parquet.ParquetFile(path).iter_batches())
def arrays():
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1024):
        yield len([column.to_numpy(zero_copy_only=False) for column in batch.columns][0])
readers = {
    "parquet as arrays": arrays,
    "Csv": lambda: ours(data.Csv), "Parquet": lambda: ours(data.Parquet), "csv": csv, "parquet": parquet,
}
def most():  # Linux alone says it of a process that was started by a large one
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
before = most()
start = time.perf_counter()
rows = sum(readers[kind]())
print(rows, time.perf_counter() - start, most() - before)
"""


def write_files(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """A CSV and a Parquet file of the same rows: our name, the library's, and the path."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    numbers = np.arange(ROWS)
    values = np.random.default_rng(0).standard_normal((3, ROWS))
    names = pa.array([f"name{number % 97}" for number in numbers])
    rows = pa.table({"number": numbers, "x": values[0], "y": values[1], "z": values[2], "name": names})
    pyarrow.csv.write_csv(rows, folder / "rows.csv")
    yield "Csv", "csv", folder / "rows.csv"
    pyarrow.parquet.write_table(rows, folder / "rows.parquet")
    yield "Parquet", "parquet", folder / "rows.parquet"


def read(kind: str, path: Path) -> tuple[float, int]:
    """The seconds to read all rows of a file, and the most bytes that it needed beside the imports."""
    command = [sys.executable, "-c", PROGRAM, kind, str(path)]
    surroundings = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=surroundings).stdout.split()
    if int(answer[0]) != ROWS:
        raise RuntimeError(f"{kind} has read {answer[0]} rows of {ROWS}")
    return float(answer[1]), int(answer[2])


def file_rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        for mine, theirs, path in write_files(Path(folder)):
            others = [theirs, f"{theirs} as arrays"][: 2 if mine == "Parquet" else 1]
            times: Times = {mine: [], **{other: [] for other in others}}
            most = 0
            for _ in range(ROUNDS):
                for kind, found in times.items():
                    seconds, size = read(kind, path)
                    found.append(seconds)
                    most = max(most, size if kind == mine else 0)
            title = f"a million rows of {mine}"
            for other in others:
                yield timed_row("loading", title, times, mine, other, "ms", Target("ratio", 2.0))
            yield Row("loading", f"{title}, memory", "", "B", most, targets=(Target("value", 200e6),))


def run() -> list[Row]:
    rows = [compare("the same batcher", workers, batcher, torch_batcher) for workers in (0, 2)]
    rows += [compare("each one's own", workers, None, torch.utils.data.default_collate) for workers in (0, 2)]
    return [*rows, *file_rows()]
