"""Every layer, and two models, written as files with a free batch: by ONNX Runtime, and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.exported import assert_near, outputs_of, run_by_runtime
from tests.onnx.layers import EXAMPLES, MODELS, Example, device
from tinyburn import Device, Module, nn, onnx

pytest.importorskip("onnxruntime")

BATCHES = (2, 5, 1)
"""Of the example, and two others. A batch of 1 broadcasts, and one dim then looks like another."""

NOT_A_LAYER = {"TransformerDecoderLayer", "TransformerEncoderLayer"}
"""What only stands in another layer, which has an example."""


def test_each_layer_has_an_example() -> None:
    layers = {
        name
        for name in nn.__all__
        if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), Module) and name != "Sequential"
    }
    assert layers - {example.name.partition("-")[0] for example in EXAMPLES} == NOT_A_LAYER


@pytest.fixture(params=EXAMPLES, ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    found: Example = request.param
    return found


def _saved(example: Example, path: Path) -> tuple[Module, Device[object]]:
    """A module as it was when it was written, without autodiff, and its device."""
    training = device()
    module = example.make(training)
    onnx.save(module, example.inputs(BATCHES[0], training), path, batch_dims=example.dims)
    return module.valid(), training.inner


def test_runtime_computes_what_tinyburn_computes(example: Example, tmp_path: Path) -> None:
    module, inner = _saved(example, tmp_path / "model.onnx")
    for batch in BATCHES:
        inputs = example.inputs(batch, inner)
        assert_near(run_by_runtime(tmp_path / "model.onnx", inputs), outputs_of(module, inputs))


def test_there_and_back_is_the_same_bit_for_bit(example: Example, tmp_path: Path) -> None:
    module, inner = _saved(example, tmp_path / "model.onnx")
    back = onnx.load(tmp_path / "model.onnx", inner)
    for batch in BATCHES:
        inputs = example.inputs(batch, inner)
        for found, expected in zip(outputs_of(back, inputs), outputs_of(module, inputs), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.variants
def test_a_large_batch_comes_back_bit_for_bit(example: Example, tmp_path: Path) -> None:
    """Where sums and products take other ways than for a few numbers."""
    module, inner = _saved(example, tmp_path / "model.onnx")
    inputs = example.inputs(700, inner)
    found = outputs_of(onnx.load(tmp_path / "model.onnx", inner), inputs)
    for one, expected in zip(found, outputs_of(module, inputs), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("example", MODELS, ids=lambda example: example.name)
def test_the_same_module_is_the_same_bytes(example: Example, tmp_path: Path) -> None:
    for name in ("one.onnx", "two.onnx"):
        _saved(example, tmp_path / name)
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


@pytest.mark.parametrize("example", MODELS, ids=lambda example: example.name)
def test_what_was_read_can_be_written_again(example: Example, tmp_path: Path) -> None:
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    module, inner = _saved(example, first)
    onnx.save(onnx.load(first, inner), example.inputs(2, inner), second)
    inputs = example.inputs(5, inner)
    assert_near(run_by_runtime(second, inputs), outputs_of(module, inputs))
