"""Makes functions.json: PyTorch's values and first derivatives of elementary functions, scans, and what needs an order.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.functions``.
Operands and weights are those of operations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden.files import write
from tests.golden.operations import DTYPES, FULL, SHAPES, made_by, operands

FILE = Path(__file__).with_name("functions.json")
LONG = ((2, 3), (3, 9), (1, 1))

# Each case: its operands, by their names in operations.py, and the shapes that it is asked for.
CASES: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    **dict.fromkeys(("tan", "atan", "asinh", "trunc", "square", "exp2", "deg2rad", "rad2deg"), ("x", SHAPES)),
    **dict.fromkeys(("asin", "acos", "atanh"), ("x", SHAPES)),
    **dict.fromkeys(("acosh", "log2", "log10"), ("p", SHAPES)),
    **dict.fromkeys(("atan2", "hypot"), ("xy", SHAPES)),
    **dict.fromkeys(("fmod",), ("xp", SHAPES)),
    **dict.fromkeys(("cumsum(-1)", "cumprod(-1)", "cumprod(-1) of zeros", "logcumsumexp(-1)"), ("x", (*SHAPES, *LONG))),
    **dict.fromkeys(("cumsum(0)", "cumprod(0)", "logcumsumexp(0)", "cummax(-1)", "cummin(0)"), ("x", (*FULL, *LONG))),
    **dict.fromkeys(("sort(-1)", "sort(0)", "sort_descending(-1)"), ("x", (*SHAPES, *LONG))),
    **dict.fromkeys(("median(-1)", "median(0)", "quantile(0.3, -1)", "quantile(0.5, 0)"), ("x", (*FULL, *LONG))),
    **dict.fromkeys(("topk(2, -1)",), ("x", ((2, 3), (1, 3), (3, 9)))),
    **dict.fromkeys(("max_abs", "max_abs_dim(-1)", "max_dims(0, -1)", "min_dims(0, -1)"), ("x", FULL)),
    **dict.fromkeys(("min_dim_with_indices(-1)",), ("x", FULL)),
    **dict.fromkeys(("var_mean(-1)",), ("x", ((2, 3),))),
}


def _theirs() -> dict[str, Callable[..., Any]]:
    import torch  # type: ignore[import-not-found]  # only the benchmarks' environment has it

    return {
        **{name: getattr(torch, name) for name in ("tan", "atan", "asinh", "trunc", "square", "exp2", "log2", "log10")},
        **{name: getattr(torch, name) for name in ("deg2rad", "rad2deg", "atan2", "hypot", "fmod")},
        "asin": lambda x: (x * 0.6).asin(),
        "acos": lambda x: (x * 0.6).acos(),
        "atanh": lambda x: (x * 0.6).atanh(),
        "acosh": lambda x: (x + 1).acosh(),
        "cumsum(-1)": lambda x: x.cumsum(-1),
        "cumsum(0)": lambda x: x.cumsum(0),
        "cumprod(-1)": lambda x: x.cumprod(-1),
        "cumprod(0)": lambda x: x.cumprod(0),
        "cumprod(-1) of zeros": lambda x: x.masked_fill(x < 0, 0).cumprod(-1) + x,
        "cummax(-1)": lambda x: x.cummax(-1).values,
        "cummin(0)": lambda x: x.cummin(0).values,
        "logcumsumexp(-1)": lambda x: x.logcumsumexp(-1),
        "logcumsumexp(0)": lambda x: x.logcumsumexp(0),
        "sort(-1)": lambda x: x.sort(-1).values,
        "sort(0)": lambda x: x.sort(0).values,
        "sort_descending(-1)": lambda x: x.sort(-1, descending=True).values,
        "topk(2, -1)": lambda x: x.topk(2, -1).values,
        "median(-1)": lambda x: x.median(-1, keepdim=True).values,
        "median(0)": lambda x: x.median(0, keepdim=True).values,
        "quantile(0.3, -1)": lambda x: x.quantile(0.3, -1, keepdim=True),
        "quantile(0.5, 0)": lambda x: x.quantile(0.5, 0, keepdim=True),
        "max_abs": lambda x: x.abs().max(),
        "max_abs_dim(-1)": lambda x: x.abs().amax(-1, keepdim=True),
        "max_dims(0, -1)": lambda x: x.amax((0, -1), keepdim=True),
        "min_dims(0, -1)": lambda x: x.amin((0, -1), keepdim=True),
        "min_dim_with_indices(-1)": lambda x: x.min(-1, keepdim=True).values,
        "var_mean(-1)": lambda x: x.var(-1, keepdim=True) + x.mean(-1, keepdim=True),
    }


def main() -> None:
    """Writes the file."""
    theirs, made = _theirs(), {}
    for name, (names, shapes) in CASES.items():
        for shape in dict.fromkeys(shapes):
            for dtype in DTYPES:
                made[f"{name} {shape} {dtype}"] = made_by(theirs[name], operands(names, shape, dtype))
    write(FILE, made)


if __name__ == "__main__":
    main()
