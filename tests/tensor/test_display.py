"""What a tensor prints: golden text, the same in every process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import plain, tracked
from tinyburn import Meta, Tensor

GOLDEN = """\
Tensor {
  data:
    [[ 1.    ,  2.5   ],
     [-3.    ,  0.3333]]
  shape:   [2, 2]
  device:  cpu
  backend: NdArray
  kind:    Float
  dtype:   float32
}"""

GOLDEN_META = """\
Tensor {
  data:    none, this backend keeps shapes only
  shape:   [16, 8]
  device:  meta
  backend: Meta
  kind:    Float
  dtype:   float32
}"""


def example() -> Tensor[Any, Any, Any]:
    return Tensor.from_data([[1.0, 2.5], [-3.0, 1 / 3]], plain("float32"))


def test_golden() -> None:
    assert repr(example()) == GOLDEN


def test_golden_without_values() -> None:
    assert repr(Tensor.zeros((16, 8), Meta.device())) == GOLDEN_META


def test_the_fields_name_backend_kind_and_dtype() -> None:
    text = repr(Tensor.from_data(np.array([True]), tracked()))
    assert "backend: Autodiff[NdArray]" in text
    assert "kind:    Bool" in text
    assert "dtype:   bool" in text


def test_a_large_tensor_is_folded() -> None:
    text = repr(Tensor.zeros((1000, 1000), plain()))
    assert len(text) < 1000
    assert "..." in text


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_an_empty_tensor_prints(shape: tuple[int, ...]) -> None:
    assert f"shape:   {list(shape)}" in repr(Tensor.zeros(shape, plain()))


def test_no_address_and_no_setting_of_the_user_shows() -> None:
    with np.printoptions(precision=1, linewidth=10, sign="+", nanstr="x", formatter={"float": lambda _: "?"}):
        assert repr(example()) == GOLDEN
    assert "0x" not in repr(example())
