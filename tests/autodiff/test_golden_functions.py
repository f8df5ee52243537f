"""Elementary functions, scans, and what needs an order, against PyTorch, stored by tests/golden/functions.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.autodiff.test_golden import assert_golden, strided, whole
from tests.golden.functions import CASES, FILE
from tests.golden.operations import DTYPES, operands
from tests.support import BASES, AnyTensor, UnderTest, params_with_dtype
from tinyburn import Autodiff

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

OURS: dict[str, Callable[..., AnyTensor]] = {
    **{
        name: lambda x, name=name: getattr(x, name)()  # type: ignore[misc]
        for name in (
            "tan",
            "atan",
            "asinh",
            "trunc",
            "square",
            "exp2",
            "log2",
            "log10",
            "deg2rad",
            "rad2deg",
            "max_abs",
        )
    },
    **{name: lambda x, y, name=name: getattr(x, name)(y) for name in ("atan2", "hypot", "fmod")},  # type: ignore[misc]
    "asin": lambda x: (x * 0.6).asin(),
    "acos": lambda x: (x * 0.6).acos(),
    "atanh": lambda x: (x * 0.6).atanh(),
    "acosh": lambda x: (x + 1).acosh(),
    **{
        f"{name}({dim})": lambda x, name=name, dim=dim: getattr(x, name)(dim)  # type: ignore[misc]
        for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "sort_descending", "median")
        for dim in (-1, 0)
        if f"{name}({dim})" in CASES
    },
    "cumprod(-1) of zeros": lambda x: x.mask_fill(x < 0, 0).cumprod(-1) + x,
    "topk(2, -1)": lambda x: x.topk(2, -1),
    "quantile(0.3, -1)": lambda x: x.quantile(0.3, -1),
    "quantile(0.5, 0)": lambda x: x.quantile(0.5, 0),
    "max_abs_dim(-1)": lambda x: x.max_abs_dim(-1),
    "max_dims(0, -1)": lambda x: x.max_dims((0, -1)),
    "min_dims(0, -1)": lambda x: x.min_dims((0, -1)),
    "min_dim_with_indices(-1)": lambda x: x.min_dim_with_indices(-1)[0],
    "var_mean(-1)": lambda x: x.var_mean(-1)[0] + x.var_mean(-1)[1],
}


def test_each_case_is_computed_by_both() -> None:
    assert set(OURS) == set(CASES)


@pytest.mark.parametrize("make", [whole, strided], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("base", "dtype"), params_with_dtype(*DTYPES, backends=BASES))
@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str, base: UnderTest, dtype: str, make: Any) -> None:
    device = base.inside(Autodiff).device(dtype)
    names, shapes = CASES[name]
    for shape in shapes:
        inputs = [make(values, device) for values in operands(names, shape, dtype)]
        assert_golden(OURS[name], inputs, GOLDEN[f"{name} {shape} {dtype}"], dtype)
