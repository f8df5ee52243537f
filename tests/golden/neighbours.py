"""What happens to values between tinyburn and NumPy, PyTorch and JAX: each cell of the tables in docs/neighbours.md.

Run by hand, where PyTorch and JAX are; the tests only read, and try NumPy's column again.

    python -m tests.golden.neighbours            # prints the tables
    python -m tests.golden.neighbours --write    # writes them to neighbours.json, and the page's tables and programs
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from tinyburn import NdArray, Tensor, TinyburnError
from tinyburn.base.dtype import DType

HERE = Path(__file__).parent
FOUND = HERE / "neighbours.json"
PAGE = HERE.parents[1] / "docs" / "neighbours.md"
PROGRAM = re.compile(r"^```py\n(?P<program>.*?)^```\n\n```text\n(?P<printed>.*?)^```$", re.MULTILINE | re.DOTALL)
"""A program for libraries that the tests have not, and what it prints."""

ABSENT = "-"
Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Library:
    """A neighbour.

    Attributes:
        name: as the table's head has it.
        version: the one that was tried.
        made: an array of its own with the values of one of NumPy's.
        special: arrays that not every library has, by the row that they stand in.
        ways: how it takes a tensor.
        read: the values of an array of its own.
        write: puts 99 into the first element; None where arrays never change.
        changes: whether its arrays change when somebody writes to what they were made from.
    """

    name: str
    version: str
    made: Callable[[Values], Any]
    special: dict[str, Callable[[], Any]]
    ways: dict[str, Callable[[Any], Any]]
    read: Callable[[Any], Values]
    write: Callable[[Any], None] | None
    changes: Callable[[], bool]
    formats: dict[str, Callable[[], Any]] = field(default_factory=dict)


VALUES = np.arange(6).reshape(2, 3)
DEVICE = NdArray.device()


# The libraries


def numpy_library() -> Library:
    def write(array: Any) -> None:
        array.flat[0] = 99

    return Library(
        "NumPy",
        np.__version__,
        np.array,
        {
            "steps backwards": lambda: VALUES[::-1].copy()[::-1],
            "big-endian": lambda: VALUES.astype(">i8"),
            "not aligned": lambda: np.frombuffer(b"\0" + VALUES.tobytes(), np.uint8)[1:].view("i8").reshape(2, 3),
            "read-only": lambda: np.broadcast_to(VALUES, VALUES.shape),
            "a masked value": lambda: np.ma.masked_equal(VALUES, 2),
        },
        {"np.asarray(x)": np.asarray, "np.from_dlpack(x)": np.from_dlpack},
        np.asarray,
        write,
        lambda: _written_through(np.asarray, np.asarray),
        {name: lambda name=name: VALUES.astype(name) for name in ("uint16", "uint32", "uint64", "complex64")},
    )


def torch_library() -> Library:
    import torch  # type: ignore[import-not-found]

    def write(tensor: Any) -> None:
        tensor.view(-1)[0] = 99

    floats = torch.arange(6.0).reshape(2, 3)
    formats = ("uint16", "uint32", "uint64", "bfloat16", "float8_e4m3fn", "complex64")
    return Library(
        "PyTorch",
        torch.__version__.partition("+")[0],
        lambda values: torch.from_numpy(values.copy()),
        {
            "requires a gradient": lambda: floats.clone().requires_grad_(),
            "on a device without values": lambda: floats.to("meta"),
            "sparse": floats.to_sparse,
        },
        {
            "torch.asarray(x)": torch.asarray,
            "torch.tensor(x)": torch.tensor,
            "torch.from_dlpack(x)": torch.from_dlpack,
        },
        lambda tensor: tensor.numpy(),
        write,
        lambda: _written_through(torch.from_numpy, lambda tensor: tensor.numpy()),
        {name: lambda name=name: torch.from_numpy(VALUES.copy()).to(getattr(torch, name)) for name in formats},
    )


def jax_library() -> Library:
    import jax  # type: ignore[import-not-found]
    import jax.numpy as jnp  # type: ignore[import-not-found]

    def traced() -> Any:
        kept: list[Any] = []
        jax.make_jaxpr(lambda x: (kept.append(x), x)[1])(jnp.ones(3))
        return kept[0]

    def made(values: Values) -> Any:
        with jax.enable_x64(True):
            return jnp.array(values)

    formats = ("uint16", "uint32", "uint64", "bfloat16", "float8_e4m3fn", "complex64")
    return Library(
        "JAX",
        jax.__version__,
        made,
        {"traced by jit or grad": traced},
        {"jnp.asarray(x)": jnp.asarray, "jnp.array(x)": jnp.array, "jnp.from_dlpack(x)": jnp.from_dlpack},
        np.asarray,
        None,
        lambda: _written_through(jnp.from_dlpack, np.asarray),
        {name: lambda name=name: made(VALUES.astype(getattr(jnp, name))) for name in formats},
    )


def _written_through(taken: Callable[[Values], Any], read: Callable[[Any], Values]) -> bool:
    """Whether an array of theirs changes when the one of NumPy's that it was made from is written to.

    JAX shares memory only if it begins at a multiple of 64 bytes.
    """
    room = np.zeros(1024 + 16, "float32")
    first = -room.ctypes.data % 64 // room.itemsize
    source = room[first : first + 1024]
    theirs = taken(source)
    source[0] = 99
    return bool(read(theirs)[0] == 99)


# What comes in


def _came(theirs: Any, wanted: Values) -> str:
    """What `from_data` makes of an array."""
    try:
        x = Tensor.from_data(theirs, DEVICE)
    except TinyburnError:
        return "if a dtype is named" if _named(theirs, wanted) else "refused"
    if x.shape != wanted.shape:
        return f"shape {x.shape}"
    return "as it is" if x.dtype == wanted.dtype and np.array_equal(x.to_numpy(), wanted) else f"as {x.dtype}"


def _named(theirs: Any, wanted: Values) -> bool:
    for dtype in ("int64", "float32"):
        try:
            return np.array_equal(Tensor.from_data(theirs, DEVICE, dtype).to_numpy(), wanted)
        except TinyburnError:
            pass
    return False


def _each(words: list[str]) -> str:
    """One word for what is the same each time."""
    return " / ".join(dict.fromkeys(words))


def _stays(library: Library) -> str:
    """Whether a tensor is a copy of the array that it was made from."""
    theirs = library.made(np.ones(3, "float32"))
    x = Tensor.from_data(theirs, DEVICE)
    shared = np.shares_memory(x.primitive, library.read(theirs))
    if library.write is not None:
        library.write(theirs)
    return "not copied" if shared or x.to_numpy()[0] != 1 else "a copy"


def came_in(library: Library) -> dict[str, str]:
    """The column of a library in the table of what comes in."""

    def kept(change: Callable[[Any], Any]) -> str:
        return _came(change(library.made(VALUES)), change(VALUES))

    arrays = [VALUES.astype(str(dtype)) for dtype in DType]
    rows = {
        "a tensor's nine dtypes": _each([_came(library.made(array), array) for array in arrays]),
        "transposed": kept(lambda array: array.T),
        "every second column": kept(lambda array: array[:, ::2]),
        "no elements": kept(lambda array: array[:0]),
        "rank 0": _came(library.made(np.array(3.0)), np.array(3.0)),
        "rank 7": _came(library.made(np.ones((1,) * 7)), np.ones((1,) * 7)),
    }
    for name, make in library.formats.items():
        rows[name] = _came(make(), VALUES)
    for name, make in library.special.items():
        rows[name] = _came(make(), VALUES)
    rows["a list of its scalars"] = _came([*library.made(np.arange(3.0))], np.arange(3.0))
    rows["the tensor is"] = _stays(library)
    rows["its values can be changed from outside"] = "yes" if library.changes() else "no"
    return rows


# What goes out


def _went(library: Library, way: Callable[[Any], Any]) -> str:
    """What an array made from a tensor has kept."""
    found = []
    for dtype in map(str, DType):
        x = Tensor.from_data(VALUES, DEVICE).cast(dtype)
        for one in (x, x.transpose(), x.slice((slice(0, 2), slice(0, 3, 2))), x.flip((0,)), x[:0]):
            values = library.read(way(one))
            assert np.array_equal(values, one.to_numpy()), (library.name, dtype)
            found.append("its dtype" if values.dtype == dtype else f"{dtype} as {values.dtype}")
    others = [word for word in dict.fromkeys(found) if word != "its dtype"]
    return ", ".join(others) or "its dtype"


def _shared(library: Library, way: Callable[[Any], Any]) -> str:
    x = Tensor.ones((3,), DEVICE)
    theirs = way(x)
    shared = np.shares_memory(x.primitive, library.read(theirs))
    if library.write is not None:
        library.write(theirs)
    return "not copied" if shared or x.to_numpy()[0] != 1 else "a copy"


def went_out(library: Library) -> dict[str, dict[str, str]]:
    """The rows of a library in the table of what goes out: one a way."""
    return {
        name: {"dtype": _went(library, way), "the array is": _shared(library, way)}
        for name, way in library.ways.items()
    }


# The tables, and the programs of the page


def table(head: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(found: dict[str, Any]) -> tuple[str, str]:
    """What comes in, a column a library; and what goes out, a row a way."""
    names = list(found["in"])
    rows = dict.fromkeys(row for column in found["in"].values() for row in column)
    common_first = sorted(rows, key=lambda row: sum(row not in column for column in found["in"].values()))
    came = [[row, *(found["in"][name].get(row, ABSENT) for name in names)] for row in common_first]
    heads = [f"{name} {found['versions'][name]}" for name in names]
    went = [[f"`{way}`", *cells.values()] for ways in found["out"].values() for way, cells in ways.items()]
    return table(["what comes in", *heads], came), table(["how it goes out", "dtype", "the array is"], went)


def tried(libraries: list[Library]) -> dict[str, Any]:
    """All cells."""
    return {
        "versions": {library.name: library.version for library in libraries},
        "in": {library.name: came_in(library) for library in libraries},
        "out": {library.name: went_out(library) for library in libraries},
    }


def with_output(page: str) -> str:
    """The page with what its programs for PyTorch and JAX print."""

    def run(match: re.Match[str]) -> str:
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(match["program"], "page", "exec", dont_inherit=True), {"__name__": "page"})
        return f"```py\n{match['program']}```\n\n```text\n{output.getvalue()}```"

    return PROGRAM.sub(run, page)


def with_tables(page: str, found: dict[str, Any]) -> str:
    """The page with the tables of what was found."""
    for made in tables(found):
        head = re.escape(made.partition("|")[2].partition("|")[0])
        page = re.sub(rf"^\|{head}\|.*?(?=\n\n)", lambda _, made=made: made, page, flags=re.MULTILINE | re.DOTALL)
    return page


def main() -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    found = tried([numpy_library(), torch_library(), jax_library()])
    print("\n\n".join(tables(found)))
    if "--write" in sys.argv:
        FOUND.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_output(with_tables(page, found)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
