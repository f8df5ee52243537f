"""Makes docs/methods.md: each of Burn's methods, ours, PyTorch's and NumPy's word for it, and what only we have.

Burn's names and the words of the others stand in docs/burn_methods.tsv. What is said to be here is tried: the third
column is an expression that runs. After a change, ``python -m tests.docs.methods`` writes the page again.
"""

from __future__ import annotations

import re
from inspect import getattr_static, getdoc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tinyburn import Autodiff, Distribution, NdArray, Tensor, activation, grid, linalg, nn
from tinyburn.base.foreign import LeftOut

DOCS = Path(__file__).parents[2] / "docs"
TABLE, PAGE = DOCS / "burn_methods.tsv", DOCS / "methods.md"

STATUSES = ("there", "by composition", "coming", "left out")
KINDS = {
    "any": "Tensors of any kind",
    "number": "Numbers: Float and Int",
    "float": "Float",
    "int": "Int",
    "bool": "Bool",
    "activation": "Functions of `burn::tensor::activation`",
    "linalg": "Functions of `burn::tensor::linalg`",
    "grid": "Functions of `burn::tensor::grid`",
    "module": "Functions of `burn::tensor::module`",
    "signal": "Functions of `burn::tensor::signal`",
}


class Method(NamedTuple):
    """One row of the table.

    Attributes:
        kind: which tensors have it, or the module that it is a function of.
        burn: Burn's name.
        ours: an expression that does the same here; empty if it is left out.
        pytorch: PyTorch's word for it.
        numpy: NumPy's.
        status: one of `STATUSES`.
        note: what differs, or why it is left out.
    """

    kind: str
    burn: str
    ours: str
    pytorch: str
    numpy: str
    status: str
    note: str

    @property
    def here(self) -> str:
        """The status as it is now: what was coming may have come."""
        return "there" if self.status == "coming" and works(self.ours) else self.status


def methods() -> list[Method]:
    """The rows of the table."""
    _, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [Method(*line.split("\t")) for line in lines]


def words() -> dict[str, Any]:
    """What the expressions speak of: a leaf and its like, vectors, whole numbers and a mask."""
    device = Autodiff[NdArray].device()
    x = Tensor.from_data([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], device).require_grad()
    return {
        **{"Tensor": Tensor, "Distribution": Distribution, "device": device},
        **{"activation": activation, "linalg": linalg, "grid": grid, "nn": nn},
        **{"x": x, "y": x.detach() * 2, "w": Tensor.ones((3, 2), device), "m": x > 0},
        **{"v": Tensor.from_data([0.0, 1.0, 2.0], device), "grads": x.sum().backward()},
        **{"k": Tensor.from_data(np.array([0, 1]), device), "n": Tensor.from_data(np.array([[0, 1], [1, 0]]), device)},
    }


def works(expression: str) -> bool:
    """Whether an expression is known here. Any other error than that of a name that is missing goes on."""
    try:
        eval(expression, words())
    except AttributeError:
        return False
    return True


# What only we have


def public(owner: Any) -> list[str]:
    """The names that users see; in a module, those of its own functions."""
    names = [name for name in dir(owner) if not name.startswith("_")]
    if isinstance(owner, type):
        return [name for name in names if not isinstance(getattr_static(owner, name), LeftOut)]
    own = owner.__name__
    return [name for name in names if getattr(getattr(owner, name), "__module__", "") == own and name[0].islower()]


def only_ours() -> list[tuple[str, str]]:
    """Each name that no row of the table speaks of, and the first sentence of its documentation."""
    said = " ".join(f"{method.ours} {method.note}" for method in methods())
    spoken = set(re.findall(r"\.(\w+)", said))
    found = []
    for prefix, owner in (("x", Tensor), ("activation", activation), ("linalg", linalg), ("grid", grid)):
        for name in public(owner):
            if name not in spoken:
                text = getdoc(getattr_static(owner, name)) or getdoc(getattr(owner, name)) or ""
                found.append((f"{prefix}.{name}", _first_sentence(text)))
    return found


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s|:\s|\n\n", " ".join(text.split()) + "\n\n")[0].strip().rstrip(".")


# The page


INTRODUCTION = """\
Each line is a method or a function of Burn 0.21 that a user calls, or a few of them. What stands under *here* is tried
when the tests run, on `x` and `y` (floats, 2 by 3), `w` (3 by 2), `v` (three floats), `n` and `k` (whole numbers) and
`m` (a mask). A method is *there* under its own name; it is *by composition* if others say it as shortly; it is
*left out* for the reason beside it. There is [a page on what differs](burn.md), and
[one for the names of PyTorch and NumPy](names.md)."""


def page() -> str:
    """The page as it should be."""
    rows = methods()
    counts = ", ".join(f"{sum(row.here == status for row in rows)} {status}" for status in STATUSES)
    parts = [
        "# Burn's methods, one by one",
        "**Does tinyburn have this method of Burn's, and what is it called elsewhere?**",
        INTRODUCTION,
        "This page is made from `docs/burn_methods.tsv` and the classes themselves, by `python -m tests.docs.methods`.",
        f"Of {len(rows)} lines: {counts}.",
    ]
    for kind, title in KINDS.items():
        parts += [f"## {title}", _table([row for row in rows if row.kind == kind])]
    ours = [f"| `{name}` | {_cell(text)} |" for name, text in only_ours()]
    parts += ["## What only tinyburn has", "\n".join(["| name | what it is |", "|---|---|", *ours])]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Method]) -> str:
    lines = ["| Burn | here | PyTorch | NumPy | status |", "|---|---|---|---|---|"]
    for row in rows:
        status = f"{row.here}; {row.note}" if row.note else row.here
        cells = [_code(row.burn), _code(row.ours), _code(row.pytorch), _code(row.numpy), _cell(status)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    """Text for a cell, in which a bar would end it."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
