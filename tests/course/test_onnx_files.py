"""The files that notebook 17 reads belong together, and are as they came from PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file

from tests.course.lessons import FOLDER
from tinyburn import NdArray, Tensor
from tinyburn.onnx import load

MODEL, GOLDEN = FOLDER / "digits_0_to_4.onnx", FOLDER / "digits_0_to_4.golden.safetensors"


@pytest.fixture(scope="module")
def golden() -> Any:
    return load_file(GOLDEN)


def test_onnx_runtime_gives_the_golden_scores_of_pytorch(golden: Any) -> None:
    """Another program than either of the two that the lesson compares."""
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"image": golden["image"]})
    np.testing.assert_allclose(scores, golden["scores"], rtol=1e-4, atol=1e-4)


def test_tinyburn_gives_the_golden_scores_of_pytorch(golden: Any) -> None:
    device = NdArray.device()
    found: Any = load(MODEL, device)(Tensor.from_data(golden["image"], device))
    np.testing.assert_allclose(found.to_numpy(), golden["scores"], rtol=1e-4, atol=1e-4)


def test_the_golden_images_were_not_trained_with(golden: Any) -> None:
    """They are the digits from number 1000 on; the script trains with those before."""
    from sklearn.datasets import load_digits

    wanted = load_digits().images[1000:1016, None].astype(np.float32) / 16
    np.testing.assert_array_equal(golden["image"], wanted)


def test_the_model_is_pytorchs_with_a_free_batch_and_names_no_machine() -> None:
    file = onnx.load(MODEL)
    assert file.producer_name == "pytorch"
    assert file.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert not any(node.metadata_props for node in file.graph.node)
    assert b"site-packages" not in MODEL.read_bytes()
    assert len({node.name for node in file.graph.node}) == len(file.graph.node)
