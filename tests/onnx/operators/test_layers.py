"""Layers: convolutions, pools, norms, attention, recurrent layers, images, signals, losses, quantized products.

The cases of the package onnx hold each operator's numbers. Here is what they leave out: settings in which ONNX Runtime
is the judge, gradients by central differences, shapes on `Meta`, and what is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor, Values, assert_close, const, grads_of, plain, tracked
from tinyburn import OnnxError, Tensor
from tinyburn.backend import Meta
from tinyburn.onnx import Operators
from tinyburn.onnx.values import Value, host

from .support import slopes

onnx = pytest.importorskip("onnx", reason="these tests need the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="these tests need the extra onnx")

DRAWS = np.random.default_rng(7)
Case = tuple[int, str, list[Any], int, dict[str, Any]]


def f(*shape: int) -> Values:
    return DRAWS.standard_normal(shape)


def scales(*numbers: float) -> Values:
    return np.asarray(numbers, np.float32)


def named(case: Case) -> str:
    return f"{case[1]}-{'-'.join(map(str, case[4]))}"


# ONNX Runtime is the judge

IDS = np.array([[3, 0], [1, 2]])
LENGTHS = np.array([2, 3], np.int32)
ROIS = np.array([[0.3, 1.1, 4.2, 5.0], [1.2, 0.2, 3.3, 6.0], [2.0, 2.0, 2.1, 2.2]])
WHICH = np.array([0, 1, 1])
BYTES = DRAWS.integers(0, 256, (1, 2, 5, 5)).astype(np.uint8)
SIGNED = DRAWS.integers(-128, 128, (4, 2, 2, 2)).astype(np.int8)
ROWS = DRAWS.integers(0, 256, (3, 4)).astype(np.uint8)
LSTM = [f(3, 2, 2), f(2, 12, 2), f(2, 12, 3), f(2, 24), LENGTHS, f(2, 2, 3), f(2, 2, 3), f(2, 9)]
ONE = {"hidden_size": 3}
BOTH = {**ONE, "direction": "bidirectional"}
FLOOR = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}
SCALES = [np.float32(0.02), np.uint8(9), scales(*f(4) ** 2), np.zeros(4, np.int8), np.float32(0.1), np.uint8(7)]

JUDGED: list[Case] = [
    (22, "Conv", [f(2, 4, 6, 5), f(4, 2, 3, 2), f(4)], 1, {"group": 2, "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    (22, "Conv", [f(1, 2, 5, 4, 3), f(2, 2, 2, 2, 2)], 1, {"auto_pad": "SAME_LOWER", "strides": [2, 1, 1]}),
    (22, "ConvTranspose", [f(1, 2, 3, 4), f(2, 3, 3, 2)], 1, {"strides": [2, 3], "pads": [0, 1, 1, 0]}),
    (22, "ConvTranspose", [f(1, 4, 3), f(4, 1, 2), f(2)], 1, {"group": 2, "strides": [3], "output_padding": [2]}),
    (22, "ConvTranspose", [f(1, 2, 3), f(2, 1, 4)], 1, {"strides": [2], "output_shape": [6]}),
    (22, "ConvTranspose", [f(1, 2, 3), f(2, 1, 4)], 1, {"strides": [2], "auto_pad": "SAME_UPPER"}),
    (22, "MaxPool", [f(2, 1, 5, 6, 7)], 2, {"kernel_shape": [2, 3, 2], "pads": [1, 0, 0, 0, 1, 1], "ceil_mode": 1}),
    (22, "MaxPool", [f(2, 2, 5, 6)], 2, {"kernel_shape": [2, 3], "storage_order": 1, "dilations": [2, 1]}),
    (22, "AveragePool", [f(1, 1, 5, 6, 7)], 1, {"kernel_shape": [2, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1}),
    (22, "AveragePool", [f(1, 2, 7)], 1, {"kernel_shape": [4], "pads": [1, 2], "count_include_pad": 1, "strides": [3]}),
    (22, "LpPool", [f(1, 1, 5, 6, 7)], 1, {"kernel_shape": [2, 3, 2], "p": 3, "pads": [1, 0, 0, 0, 1, 1]}),
    (14, "LSTM", LSTM, 3, {**BOTH, "clip": 0.4}),
    (14, "LSTM", [*LSTM[:4], None, *LSTM[5:7]], 3, {**BOTH, "input_forget": 1}),
    (14, "GRU", [f(3, 2, 2), f(2, 9, 2), f(2, 9, 3), f(2, 18), LENGTHS], 2, {**BOTH, "linear_before_reset": 1}),
    (14, "GRU", [f(3, 2, 2), f(1, 9, 2), f(1, 9, 3)], 2, {**ONE, "activations": ["HardSigmoid", "Softsign"]}),
    (14, "RNN", [f(3, 2, 2), f(1, 3, 2), f(1, 3, 3)], 2, {**ONE, "direction": "reverse"}),
    (20, "GridSample", [f(2, 3, 4, 5), f(2, 3, 4, 2)], 1, {"mode": "cubic", "padding_mode": "border"}),
    (20, "GridSample", [f(1, 1, 3, 4, 5), f(1, 2, 2, 2, 3)], 1, {"padding_mode": "reflection", "align_corners": 1}),
    (10, "RoiAlign", [f(2, 3, 6, 7), ROIS, WHICH], 1, {"output_height": 2, "output_width": 3}),
    (16, "RoiAlign", [f(2, 3, 6, 7), ROIS, WHICH], 1, {"output_height": 2, "mode": "max", "sampling_ratio": 2}),
    (10, "MaxRoiPool", [f(2, 3, 6, 7), np.hstack([WHICH[:, None], ROIS])], 1, {"pooled_shape": [2, 3]}),
    (19, "DeformConv", [f(1, 4, 5, 5), f(2, 2, 2, 2), f(1, 16, 4, 4)], 1, {"group": 2, "offset_group": 2}),
    (19, "Resize", [f(1, 1, 5, 7), None, scales(1, 1, 0.8, 1.3)], 1, FLOOR),
    (19, "Resize", [f(1, 1, 5, 7), None, scales(1, 1, 0.6, 2)], 1, {"mode": "cubic", "antialias": 1}),
    (7, "Upsample", [f(1, 2, 3, 4)], 1, {"mode": "linear", "scales": [1.0, 1.0, 2.0, 1.5]}),
    (18, "GroupNormalization", [f(2, 4, 3), f(2), f(2)], 1, {"num_groups": 2}),
    (13, "LRN", [f(2, 5, 3, 2)], 1, {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 1.5}),
    (23, "RotaryEmbedding", [f(2, 3, 2, 8), f(4, 2), f(4, 2), IDS], 1, {"rotary_embedding_dim": 4, "interleaved": 1}),
    (17, "STFT", [f(2, 32, 1), np.array(5), f(8)], 1, {"onesided": 0}),
    (20, "DFT", [f(2, 9, 3, 2), np.array(6), np.array(1)], 1, {"inverse": 1}),
    (10, "ConvInteger", [BYTES, BYTES[:, :, :2, :2], np.uint8(3), np.uint8(5)], 1, {"pads": [1, 0, 1, 1]}),
    (10, "MatMulInteger", [ROWS, ROWS.T, None, ROWS[:, 0]], 1, {}),
    (10, "QLinearConv", [BYTES, *SCALES[:2], SIGNED, *SCALES[2:]], 1, {"pads": [1, 1, 0, 0]}),
]  # fmt: skip


@pytest.mark.parametrize("case", JUDGED, ids=named)
def test_settings_that_the_standards_cases_leave_out(case: Case) -> None:
    opset, name, inputs, count, attributes = case
    given = [
        None if one is None else np.asarray(one, np.float32) if np.asarray(one).dtype == float else one
        for one in inputs
    ]
    found = getattr(Operators(opset), name)(*map(_host, given), count=count, **_tuples(attributes))
    for value, wanted in zip(
        found if count > 1 else [found], judged(opset, name, given, count, attributes), strict=True
    ):
        assert value.shape == wanted.shape
        assert value.dtype == wanted.dtype
        assert_close(value.numbers("a result"), wanted, tolerance=1e-4)


def _host(given: Any) -> Value | None:
    return None if given is None else host(np.asarray(given))


def _tuples(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in attributes.items()}


def judged(opset: int, name: str, given: list[Any], count: int, attributes: dict[str, Any]) -> list[Values]:
    """What ONNX Runtime gives. All inputs but the first are in the file, as some of its operators ask."""
    helper, names = onnx.helper, ["" if one is None else f"i{at}" for at, one in enumerate(given)]
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(one), f"i{at}") for at, one in enumerate(given) if one is not None
    ]
    outputs = [f"o{at}" for at in range(count)]
    ports = [helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(given[0].dtype), given[0].shape)]
    graph = helper.make_graph(
        [helper.make_node(name, names, outputs, **attributes)],
        "judged",
        ports,
        [helper.make_empty_tensor_value_info(one) for one in outputs],
        tensors[1:],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: list[Values] = session.run(None, {"i0": given[0]})
    return found


# Gradients

LABELS = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
STATISTICS = [np.zeros(2, np.float32), np.ones(2, np.float32)]  # of another dtype: training does not change them
SLOPED: list[Case] = [
    (13, "Gemm", [f(3, 2), f(4, 3), f(4)], 1, {"transA": 1, "transB": 1, "alpha": 0.5}),
    (13, "MatMul", [f(2, 2, 3), f(3)], 1, {}),
    (22, "Conv", [f(1, 2, 4, 4), f(2, 1, 3, 2), f(2)], 1, {"group": 2, "pads": [1, 0, 2, 1]}),
    (22, "ConvTranspose", [f(1, 2, 3), f(2, 1, 3), f(1)], 1, {"strides": [2], "output_padding": [1]}),
    (22, "MaxPool", [f(1, 1, 3, 4, 4)], 1, {"kernel_shape": [2, 2, 2]}),
    (22, "MaxPool", [f(1, 1, 5, 4)], 2, {"kernel_shape": [2, 2]}),
    (22, "AveragePool", [f(1, 1, 3, 4, 4)], 1, {"kernel_shape": [2, 2, 3], "pads": [1, 0, 0, 0, 1, 1]}),
    (22, "LpPool", [f(1, 1, 5)], 1, {"kernel_shape": [2], "p": 3}),
    (15, "BatchNormalization", [f(3, 2, 2), f(2), f(2), *STATISTICS], 1, {"training_mode": 1}),
    (22, "InstanceNormalization", [f(2, 2, 3), f(2), f(2)], 1, {}),
    (21, "GroupNormalization", [f(2, 4, 2), f(4), f(4)], 1, {"num_groups": 2}),
    (17, "LayerNormalization", [f(2, 3, 2), f(3, 2), f(3, 2)], 1, {"axis": 1}),
    (23, "RMSNormalization", [f(2, 3), f(3)], 1, {}),
    (13, "LRN", [f(1, 4, 2)], 1, {"size": 3, "alpha": 0.5}),
    (13, "MeanVarianceNormalization", [f(2, 3, 2)], 1, {"axes": [0, 2]}),
    (22, "NegativeLogLikelihoodLoss", [f(2, 3, 4), LABELS, f(3) ** 2], 1, {"ignore_index": 1}),
    (13, "SoftmaxCrossEntropyLoss", [f(2, 3, 4), LABELS], 1, {"reduction": "none"}),
    (19, "Resize", [f(1, 1, 4, 3), None, scales(1, 1, 1.5, 0.6)], 1, {"mode": "cubic"}),
    (20, "GridSample", [f(1, 2, 3, 4), f(1, 2, 2, 2)], 1, {"padding_mode": "reflection"}),
    (20, "AffineGrid", [f(1, 2, 3), np.array([1, 1, 2, 3])], 1, {}),
    (22, "RoiAlign", [f(2, 2, 6, 7), ROIS[:2], WHICH[:2]], 1, {"sampling_ratio": 2, "output_width": 2}),
    (22, "DeformConv", [f(1, 2, 3, 3), f(1, 2, 2, 2), f(1, 8, 2, 2), f(1), f(1, 4, 2, 2)], 1, {}),
    (22, "LSTM", LSTM, 3, BOTH),
    (22, "GRU", [f(2, 2, 2), f(1, 9, 2), f(1, 9, 3), f(1, 18)], 2, {"hidden_size": 3}),
    (22, "RNN", [f(2, 2, 2), f(1, 3, 2), f(1, 3, 3), f(1, 6)], 2, {"hidden_size": 3}),
    (25, "Attention", [f(1, 4, 2, 2), f(1, 2, 3, 2), f(1, 2, 3, 3)], 1, {"softcap": 2.0, "left_window_size": 1}),
    (23, "RotaryEmbedding", [f(2, 2, 2, 4), f(4, 2), f(4, 2), IDS], 1, {}),
    (27, "LinearAttention", [f(1, 2, 8), f(1, 2, 4), f(1, 2, 6), f(1, 2, 2, 3), f(1, 2, 2), f(1, 2, 2)], 2, HEADS),
    (28, "SwiGLU", [f(2, 3), f(2, 3)], 1, {}),
    (27, "CausalConvWithState", [f(1, 2, 4), f(2, 1, 3), f(2), f(1, 2, 2)], 2, {"activation": "silu"}),
    (20, "DFT", [f(1, 5, 1), None, np.array(1)], 1, {"onesided": 1}),
    (17, "STFT", [f(1, 9, 1), np.array(3), f(4)], 1, {}),
    (25, "DequantizeLinear", [ROWS, f(4)], 1, {}),
]  # fmt: skip


@pytest.mark.parametrize("case", SLOPED, ids=named)
def test_gradients_of_all_floats(case: Case) -> None:
    opset, name, inputs, count, attributes = case
    floats = [at for at, one in enumerate(inputs) if isinstance(one, np.ndarray) and one.dtype == float]

    def total(*tensors: AnyTensor) -> AnyTensor:
        given: list[Any] = list(map(_host, inputs))
        for at, tensor in zip(floats, tensors, strict=True):
            given[at] = tensor
        found = getattr(Operators(opset), name)(*given, count=count, **_tuples(attributes))
        result: AnyTensor = _sum(found if count > 1 else (found,))
        return result

    found = grads_of(total, *[inputs[at] for at in floats], device=tracked())
    for at, gradient in enumerate(found):
        values = [inputs[one] for one in floats]

        def moved(x: Values, at: int = at, values: list[Values] = values) -> float:
            return float(total(*[const(x if one == at else y, plain()) for one, y in enumerate(values)]).item())

        assert_close(gradient, slopes(moved, values[at]), tolerance=2e-6)


def _sum(results: tuple[Value, ...]) -> Any:
    """Of the floats, each with a weight of its own."""
    total: Any = None
    for at, value in enumerate(one for one in results if one.is_float):
        weights = np.random.default_rng(at).standard_normal(tuple(value.tensor.shape))
        term = value.tensor.mul(const(weights, value.tensor.device)).sum()
        total = term if total is None else total + term
    return total


# Shapes alone


@pytest.mark.parametrize("case", [*JUDGED, *SLOPED], ids=named)
def test_shapes_are_known_without_values(case: Case) -> None:
    opset, name, inputs, count, attributes = case
    if name == "MaxRoiPool" or (name == "RoiAlign" and not attributes.get("sampling_ratio")):
        pytest.skip("what it reads depends on the regions")
    call = getattr(Operators(opset), name)
    device = Meta.device(float_dtype="float64")
    dtype: Any = str(inputs[0].dtype)
    given = [Tensor.from_data(inputs[0], device, dtype), *map(_host, inputs[1:])]
    with_values = call(*map(_host, inputs), count=count, **_tuples(attributes))
    without = call(*given, count=count, **_tuples(attributes))
    for one, other in zip(*[each if count > 1 else (each,) for each in (with_values, without)], strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


# Chance, and the two kinds of statistics


def test_dropout_keeps_the_mean_and_says_what_it_kept() -> None:
    op, x = Operators(22), np.ones((100, 100))
    result, kept = op.Dropout(host(x), host(np.float32(0.25)), host(np.True_), count=2)
    share = kept.numbers("kept").mean()
    assert abs(share - 0.75) < 0.02  # four deviations
    assert_close(result.numbers("a result"), kept.numbers("kept") / 0.75)
    again = op.Dropout(host(x), host(np.float32(0.25)), host(np.True_), seed=3)
    assert_close(
        again.numbers("a result"), op.Dropout(host(x), host(np.float32(0.25)), host(np.True_), seed=3).numbers("it")
    )
    assert op.Dropout(host(x), host(np.float32(0.25))).numbers("a result").min() == 1.0


def test_batch_normalization_before_version_9_may_have_statistics_of_each_element() -> None:
    x, (scale, bias, mean), variance = f(2, 3, 4), f(3, 3, 4), f(3, 4) ** 2
    found = Operators(7).BatchNormalization(*map(host, (x, scale, bias, mean, variance)), spatial=0)
    assert_close(found.numbers("a result"), (x - mean) / np.sqrt(variance + 1e-5) * scale + bias)


def test_running_statistics_mix_in_those_of_the_batch() -> None:
    x = f(4, 2, 3)
    inputs = [host(one) for one in (x, np.ones(2), np.zeros(2), np.ones(2), np.ones(2))]
    _, mean, variance = Operators(15).BatchNormalization(*inputs, training_mode=1, momentum=0.75, count=3)
    assert_close(mean.numbers("mean"), 0.75 + 0.25 * x.mean((0, 2)))
    assert_close(variance.numbers("variance"), 0.75 + 0.25 * x.var((0, 2)))


# What is refused

REFUSED: list[tuple[int, str, list[Any], dict[str, Any], str]] = [
    (22, "Conv", [f(1, 2, 4, 4), f(1, 2, 3, 3)], {"strides": (0, 1)}, "stride is 0"),
    (22, "Conv", [f(1, 2, 4, 4), f(1, 2, 3, 3)], {"pads": (-1, 0, 0, 0)}, "padding is -1"),
    (22, "Conv", [f(1, 2, 4), f(1, 2, 3, 3)], {}, "1 spatial dims"),
    (22, "Conv", [f(1, 2, 4, 4), f(1, 2, 3, 3)], {"pads": (10**9,) * 4}, "the limit"),
    (22, "Conv", [f(1, 2, 4, 4), f(1, 2, 3, 3)], {"kernel_shape": (2, 2)}, "the weight has"),
    (22, "ConvTranspose", [f(1, 2, 4), f(2, 1, 3)], {"strides": (10**9,)}, "the limit"),
    (22, "ConvTranspose", [f(1, 2, 4), f(2, 1, 3)], {"pads": (9, 9)}, "its shape would be"),
    (22, "LSTM", LSTM[:3], {**BOTH, "activations": ("Sine",) * 6}, "there is no 'Sine'"),
    (22, "RNN", [f(3, 2, 2), f(1, 3, 2), f(1, 3, 3)], {"direction": "down"}, "'down'"),
    (19, "Resize", [f(1, 1, 4, 4)], {}, "neither scales nor sizes"),
    (19, "Resize", [f(1, 1, 4, 4), None, scales(1, 1, 1e6, 1e6)], {}, "the limit"),
    (19, "Resize", [f(1, 1, 4, 4), None, scales(1, 1, 2, 2)], {"mode": "sinc"}, "'sinc'"),
    (20, "DFT", [f(1, 5, 1), np.array(10**9)], {}, "the limit"),
    (17, "HannWindow", [np.array(10**12)], {}, "the limit"),
    (25, "Attention", [f(2, 3, 7), f(2, 3, 7), f(2, 3, 7)], {"q_num_heads": 2, "kv_num_heads": 2}, "2 heads"),
    (27, "LinearAttention", [f(1, 2, 4)] * 3, {"q_num_heads": 2, "kv_num_heads": 2}, "the input decay"),
    (22, "NegativeLogLikelihoodLoss", [f(2, 3), np.array([0, 1])], {"reduction": "max"}, "'max'"),
]


@pytest.mark.parametrize(("opset", "name", "inputs", "attributes", "reason"), REFUSED)
def test_what_no_layer_has_is_refused(
    opset: int, name: str, inputs: list[Any], attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(OnnxError, match=reason):
        getattr(Operators(opset), name)(*map(_host, inputs), **attributes)
