"""Makes movement.json: what PyTorch gives for repetition, parts, masks, products and norms, and for their derivatives.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.movement``.
The gradients are those of the sum of the result times `weights`, as in operations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.files import Values, write
from tests.golden.operations import DTYPES, made_by

FILE = Path(__file__).with_name("movement.json")
Shapes = tuple[tuple[int, ...], ...]


def operands(shapes: Shapes, dtype: str) -> list[Values]:
    """The operands of a case: a wave of its own for each, away from 0 and from ties."""
    made = []
    for number, shape in enumerate(shapes):
        count = np.arange(np.prod(shape, dtype=int))
        wave = 1.5 * np.sin(1.7 * count + 0.3) if number % 2 == 0 else 1.2 * np.cos(2.3 * count + 0.5) + 0.1
        made.append(wave.reshape(shape).astype(dtype))
    return made


EINSUMS: dict[str, Shapes] = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,kj": ((2, 3), (4, 3)),
    "i,i->": ((3,), (3,)),
    "i,j->ji": ((2,), (3,)),
    "ij->": ((2, 3),),
    "ij->ji": ((2, 3),),
    "ij->j": ((2, 3),),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iji->j": ((3, 2, 3),),
    "ij,ij->ij": ((2, 3), (2, 3)),
    "ij,ij->i": ((2, 3), (2, 3)),
    "bij,bjk->bik": ((2, 3, 2), (2, 2, 3)),
    "bqhd,bkhd->bhqk": ((2, 3, 2, 2), (2, 4, 2, 2)),
    "ij,jk,kl->il": ((2, 3), (3, 2), (2, 4)),
    "i,ij,j->": ((2,), (2, 3), (3,)),
    "abc,cd,be->ade": ((2, 3, 2), (2, 3), (3, 2)),
    "ij,k->i": ((2, 3), (4,)),
    "ij,jk->ik (empty)": ((2, 0), (0, 3)),
}
"""Equations, and the shapes of their operands."""

CASES: dict[str, tuple[Shapes, ...]] = {
    "repeat": (((2, 3),), ((2, 1),), ((0, 3),)),
    "repeat_dim(-1)": (((2, 3),), ((2, 3, 2),), ((2, 1),)),
    "repeat_dim(0, 0)": (((2, 3),),),
    "roll": (((2, 3),), ((2, 5, 3),), ((0, 3),)),
    "roll_dim(4, 0)": (((3, 2),), ((2, 3),)),
    "pad 0.5": (((2, 3),), ((0, 3),), ((2, 2, 3),)),
    "pad the last dim": (((2, 3),), ((4,),)),
    "pad reflect": (((2, 4),), ((2, 2, 4),)),
    "pad edge": (((2, 3),), ((2, 2, 1),)),
    "chunk": (((2, 5),), ((1, 3),)),
    "split": (((2, 5),), ((2, 4),)),
    "split_with_sizes": (((2, 5),),),
    "slice_fill": (((3, 4),),),
    "take": (((4, 3),),),
    "gather_nd": (((2, 3, 2),),),
    "scatter_nd": (((2, 3, 2), (4, 2)),),
    "movedim": (((2, 3, 4),),),
    "flatten(1)": (((2, 3, 4),),),
    "tril": (((3, 3),), ((2, 3, 4),), ((0, 3),)),
    "triu(1)": (((3, 3),), ((2, 4, 3),)),
    "tril(-1)": (((3, 3),),),
    "diag": (((3, 3),), ((2, 4),), ((2, 4, 3),)),
    "trace": (((3, 3),), ((2, 3),)),
    "dot": (((3,), (3,)),),
    "cross": (((3, 2), (3, 2)),),
    "outer": (((2,), (3,)), ((2, 3), (2, 4))),
    "matvec": (((2, 3), (3,)), ((4, 2, 3), (4, 3))),
    **{f"vector_norm {p}": (((2, 3),), ((3, 2, 2),)) for p in ("0", "1", "2", "3", "1.5", "0.5", "inf", "-inf")},
    "cosine_similarity": (((2, 3), (2, 3)),),
    "vector_normalize": (((2, 3),),),
    "cov(0)": (((4, 2),),),
    "cov(1)": (((2, 4),),),
    "prod_dims": (((2, 3, 2),),),
    "sum_dims_squeeze": (((2, 3, 2),),),
    **{f"einsum {equation}": (shapes,) for equation, shapes in EINSUMS.items()},
}
"""Each case, and the operands that it is asked for."""


def _padded(x: Any, widths: tuple[int, ...], mode: str) -> Any:
    """PyTorch mirrors only where there is a batch and a channel."""
    from torch.nn import functional  # type: ignore[import-not-found]  # only the benchmarks' environment has it

    more = 4 - x.ndim
    padded = functional.pad(x.reshape((1,) * more + tuple(x.shape)), widths, mode=mode)
    return padded.reshape(padded.shape[more:])


def _theirs() -> dict[str, Callable[..., Any]]:
    import torch
    from torch.nn import functional

    def vector_norm(p: str) -> Callable[..., Any]:
        return lambda x: torch.linalg.vector_norm(x, float(p), dim=1, keepdim=True)

    i, j = torch.tensor([0, 1, 0, 0]), torch.tensor([2, 0, 2, 1])
    return {
        "repeat": lambda x: x.repeat(*((2, 3) if x.ndim == 2 else (1, 2, 3))) ** 2,
        "repeat_dim(-1)": lambda x: torch.cat([x, x], -1) ** 2,
        "repeat_dim(0, 0)": lambda x: x.repeat(0, 1) ** 2,
        "roll": lambda x: x.roll((1, -2), (0, -1)) ** 2,
        "roll_dim(4, 0)": lambda x: x.roll(4, 0) ** 2,
        "pad 0.5": lambda x: functional.pad(x, (0, 3, 1, 2), value=0.5) ** 2,
        "pad the last dim": lambda x: functional.pad(x, (2, 1)) ** 2,
        "pad reflect": lambda x: _padded(x, (2, 3, 1, 0), "reflect") ** 2,
        "pad edge": lambda x: _padded(x, (2, 3, 1, 0), "replicate") ** 2,
        "chunk": lambda x: torch.cat([part * (at + 1) for at, part in enumerate(x.chunk(3, 1))], 1),
        "split": lambda x: torch.cat([part * (at + 1) for at, part in enumerate(x.split(2, -1))], 1),
        "split_with_sizes": lambda x: x.split([1, 3, 1], 1)[1] ** 2,
        "slice_fill": lambda x: torch.cat([x[:, :1], torch.full_like(x[:, 1:3], 9.0), x[:, 3:]], 1) ** 2,
        "take": lambda x: x[torch.tensor([[0, 1], [1, 3]])] ** 2,
        "gather_nd": lambda x: x[i, j] ** 2,
        "scatter_nd": lambda x, y: x.index_put((i, j), y, accumulate=True) ** 2,
        "movedim": lambda x: x.movedim((0, 1), (-1, 0)) ** 2,
        "flatten(1)": lambda x: x.flatten(1) ** 2,
        "tril": lambda x: x.tril() ** 2,
        "triu(1)": lambda x: x.triu(1) ** 2,
        "tril(-1)": lambda x: x.tril(-1) ** 2,
        "diag": lambda x: torch.diagonal(x, 0, -2, -1) ** 2,
        "trace": lambda x: x.trace().reshape(1, 1) ** 2,
        "dot": lambda x, y: x.dot(y).reshape(1) ** 2,
        "cross": lambda x, y: torch.linalg.cross(x, y, dim=0) ** 2,
        "outer": lambda x, y: (x.unsqueeze(-1) * y.unsqueeze(-2)) ** 2,
        "matvec": lambda x, y: (x @ y.unsqueeze(-1)).squeeze(-1) ** 2,
        **{f"vector_norm {p}": vector_norm(p) for p in ("0", "1", "2", "3", "1.5", "0.5", "inf", "-inf")},
        "cosine_similarity": lambda x, y: functional.cosine_similarity(x, y, dim=1).unsqueeze(1),
        "vector_normalize": lambda x: functional.normalize(x, 2.0, 1),
        "cov(0)": lambda x: x.T.cov(),
        "cov(1)": lambda x: x.cov(correction=0),
        "prod_dims": lambda x: x.prod(0, keepdim=True).prod(-1, keepdim=True),
        "sum_dims_squeeze": lambda x: x.sum((0, -1)) ** 2,
        **{
            f"einsum {one}": lambda *tensors, one=one: torch.einsum(one.split(" ")[0], *tensors) ** 2 for one in EINSUMS
        },
    }


def main() -> None:
    """Writes the file."""
    theirs, made = _theirs(), {}
    for name, cases in CASES.items():
        for shapes in cases:
            for dtype in DTYPES:
                made[f"{name} {shapes} {dtype}"] = made_by(theirs[name], operands(shapes, dtype))
    write(FILE, made)


if __name__ == "__main__":
    main()
