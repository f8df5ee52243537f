"""Two engines side by side: they agree on a good model, and the first node that parts is named and drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinyburn import Meta, NdArray, OnnxError, Tensor, Wgpu
from tinyburn import onnx as ours
from tinyburn.onnx import engines

from .files import dense

pytest.importorskip("onnxruntime", reason="these tests need the extra onnx")

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8


@pytest.mark.parametrize("other", ["onnxruntime", "reference", NdArray.device()], ids=str)
def test_engines_agree_on_every_value(other: Any) -> None:
    found = ours.compare(dense(), [X], None, other)
    assert found.agrees
    assert [each.value for each in found.differences] == ["h", "r", "y"]
    assert repr(found).splitlines()[0].endswith(" agree on 3 values")


def test_the_gpu_agrees_too() -> None:
    if reason := Wgpu.why_unavailable():
        pytest.skip(reason)
    assert ours.compare(dense(), [X], Wgpu.device()).agrees


def test_the_first_node_that_parts_is_named_and_has_the_strong_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that adds 1 to what Relu gives, so that everything after it differs too."""

    class Wrong(engines.OnTinyburn):
        def run(self, proto: Any, inputs: Any) -> Any:
            found = super().run(proto, inputs)
            return {name: numbers + (name in "ry") for name, numbers in found.items()}

    monkeypatch.setitem(ours.comparison.BY_NAME, "wrong", lambda: Wrong(NdArray.device()))
    found = ours.compare(dense(), [X], None, "wrong")
    assert found.first is not None
    assert (found.first.path, found.first.operator, found.first.value) == ("act.Relu", "Relu", "r")
    assert [each.parts for each in found.differences] == [False, True, True]
    assert "part at act.Relu (Relu)" in repr(found)
    picture = found.picture()
    assert "Softmax" not in picture.text
    assert [line.split()[-1] for line in picture.text.splitlines()][-1] == "act.Relu"
    assert picture.svg.count("box rule thick") >= 1


def test_shapes_dtypes_and_infinities_part() -> None:
    from tinyburn.onnx.comparison import _distance

    one = np.ones(3, np.float32)
    assert _distance(one, np.ones(4, np.float32)) == (np.inf, "shapes (3,) and (4,)")
    assert _distance(one, np.ones(3)) == (np.inf, "dtypes float32 and float64")
    assert _distance(one, one * np.inf)[0] == np.inf
    assert _distance(one * np.nan, one * np.nan) == (0.0, "")
    assert _distance(one, one * 2) == (0.5, "")  # 1 of the largest, which is 2


@pytest.mark.parametrize(
    ("other", "words"), [("torch", "there is no engine 'torch'"), (Meta.device(), "has shapes alone")], ids=str
)
def test_what_cannot_be_compared(other: Any, words: str) -> None:
    with pytest.raises(OnnxError, match=words):
        ours.compare(dense(), [X], None, other)


def test_tensors_are_inputs_too() -> None:
    assert ours.compare(dense(), [Tensor.from_data(X, NdArray.device())]).agrees


def test_a_table_of_a_file_before_anything_runs() -> None:
    words, can_run = ours.inspect(dense(), {"batch": 16})
    assert can_run
    assert "y: (16, 3) float32" in words
    assert "15 in 2 tensors, 60 B" in words
    broken = dense().replace(b"Softmax", b"Softmux")
    words, can_run = ours.inspect(broken)
    assert not can_run
    assert "out.Softmux: there is no row for Softmux of operator set 18" in words
