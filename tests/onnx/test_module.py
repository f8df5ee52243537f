"""A model from a file as a module: it has parameters and paths, is trained, drawn and counted, and runs anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import VALUE_BACKENDS, UnderTest, params
from tinyburn import Autodiff, Meta, NdArray, OnnxError, RunConfig, Tensor, memory, nn, optim, viz
from tinyburn import onnx as ours

from .files import BOOL, INT64, constant, dense, file_of, graph, helper, node, onnx, port

X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8


def expected() -> Any:
    """By ONNX's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    (found,) = ReferenceEvaluator(onnx.load_from_string(dense())).run(None, {"x": X})
    return found


@pytest.mark.parametrize("one", params(VALUE_BACKENDS))
def test_it_gives_the_same_on_every_backend(one: UnderTest) -> None:
    device = one.device()
    module = ours.load(dense(), device)
    found = module(Tensor.from_data(X, device, "float32"))
    np.testing.assert_allclose(found.to_numpy(), expected(), rtol=1e-5)


def test_float_initializers_are_parameters_under_their_names_and_nodes_are_module_paths(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(dense())
    device = Autodiff[NdArray].device()
    module = ours.load(tmp_path / "model.onnx", device)
    assert [name for name, _ in module.named_params()] == ["fc.weight", "fc.bias"]
    y = module(Tensor.from_data(X, device))
    paths = [row.split()[-1] for row in viz.graph(y).text.splitlines()]
    assert paths[-3:] == ["onnxmodule.fc.Gemm", "onnxmodule.act.Relu", "onnxmodule.out.Softmax"]
    assert repr(module) == "OnnxModule(3 nodes, from x (batch, 4) float32 to y)"


def test_it_is_trained_further() -> None:
    device = Autodiff[NdArray].device()
    module = ours.load(dense(), device)
    x, wanted = Tensor.from_data(X, device), Tensor.zeros((2, 3), device)
    optimizer, losses = optim.SgdConfig().init(), []
    for _ in range(20):
        loss = nn.MseLoss()(module(x), wanted, "mean")
        losses.append(loss.into_scalar())
        module = optimizer.step(0.5, module, loss.backward())
    assert losses[-1] < losses[0]


def test_statistics_are_no_parameters() -> None:
    tensors = [constant(name, np.full(3, value), np.float32) for name, value in zip("gbmv", (1, 0, 2, 4), strict=True)]
    whole = graph([node("BatchNormalization", "x g b m v", epsilon=0.0)], [port("x", [2, 3])], [port("y")], tensors)
    module = ours.load(file_of(whole), NdArray.device())
    assert [name for name, _ in module.named_params()] == ["g", "b"]
    assert [name for name, _ in module.named_tensors()] == ["m", "v"]
    found = module(Tensor.from_data([[2.0, 4.0, 6.0], [0.0, 2.0, 4.0]], NdArray.device()))
    np.testing.assert_allclose(found.to_numpy(), [[0, 1, 2], [-1, 0, 1]])  # (x - 2) / 2


def test_no_box_and_no_copy_is_spent_on_a_cast_to_the_same_dtype() -> None:
    tensors = [constant(name, np.ones(3), np.float32) for name in "gbmv"]
    nodes = [node("BatchNormalization", "x g b m v", "h"), node("ReduceSum", "h", "y"), node("CumSum", "y at", "z")]
    whole = graph(nodes, [port("x", [2, 3])], [port("z")], [*tensors, constant("at", 0)])
    device = Autodiff[NdArray].device()
    assert "cast" not in viz.graph(ours.load(file_of(whole), device)(Tensor.ones((2, 3), device))).text


def test_its_memory_is_measured_and_planned() -> None:
    def job(device: Any, batch_size: int) -> Any:
        return ours.load(dense(), device)(Tensor.zeros((batch_size, 4), device))

    measured = memory.measure(job, NdArray.device(), 16)
    assert measured.peak_bytes == memory.plan(job, 16).peak_bytes
    assert measured.at_peak["parameter"] == 15 * 4


def test_shapes_are_found_on_meta() -> None:
    device = Meta.device()
    assert ours.load(dense(), device)(Tensor.zeros((5, 4), device)).shape == (5, 3)


# What it takes


@pytest.mark.parametrize(
    ("shape", "dtype", "words"),
    [
        ((2, 3), "float32", "dim 1 is 3, and 4 is declared"),
        ((4,), "float32", "its rank is 1, and 2 is declared"),
        ((2, 4), "float64", "its dtype is float64"),
    ],
)
def test_another_input_than_is_declared(shape: Any, dtype: Any, words: str) -> None:
    module = ours.load(dense(), NdArray.device())
    with pytest.raises(OnnxError, match=words):
        module(Tensor.zeros(shape, NdArray.device(), dtype))


def test_a_free_dim_is_the_same_in_all_inputs() -> None:
    whole = graph([node("Add", "x z")], [port("x", ["n", 1]), port("z", ["n", 1])], [port("y")])
    module, device = ours.load(file_of(whole), NdArray.device()), NdArray.device()
    assert module(Tensor.zeros((3, 1), device), Tensor.zeros((3, 1), device)).shape == (3, 1)
    with pytest.raises(OnnxError, match="dim 0 is 1, and n is 3 in an input before it"):
        module(Tensor.zeros((3, 1), device), Tensor.zeros((1, 1), device))
    with pytest.raises(OnnxError, match="it got 1 inputs, and takes 2: x"):
        module(Tensor.zeros((3, 1), device))


def test_rank_0_comes_and_goes_as_shape_1() -> None:
    whole = graph(
        [node("Unsqueeze", "x a", "u"), node("Shape", "u", "y")], [port("x", [])], [port("y")], [constant("a", [0, 1])]
    )
    module = ours.load(file_of(whole), NdArray.device())
    assert module(Tensor.zeros((1,), NdArray.device())).to_numpy().tolist() == [1, 1]
    scalar = ours.load(file_of(graph([node("ReduceSum", keepdims=0)], [port("x", [2])], [port("y")])), NdArray.device())
    assert scalar(Tensor.ones((2,), NdArray.device())).shape == (1,)


def test_shapes_that_follow_from_shapes_stay_numbers() -> None:
    """Flattening by Shape, Gather and Concat, as PyTorch writes it: it runs where nothing has values."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n first", "n1"),
        node("Concat", "n1 rest", "to", axis=0),
        node("Reshape", "x to"),
    ]
    tensors = [constant("zero", 0), constant("first", [0]), constant("rest", [-1])]
    module = ours.load(file_of(graph(nodes, [port("x", ["n", 3, 4])], [port("y")], tensors)), Meta.device())
    assert module(Tensor.zeros((5, 3, 4), Meta.device())).shape == (5, 12)


# Control flow and functions


def test_a_loop_and_a_branch_follow_the_data() -> None:
    """x is doubled until its sum is above 100, and made negative if there were more than 3 rounds."""
    body = graph(
        [
            node("Add", "state state", "next"),
            node("ReduceSum", "next", "sum", keepdims=0),
            node("Less", "sum limit", "on"),
        ],
        [port("i", [], INT64), port("go", [], BOOL), port("state")],
        [port("on", [], BOOL), port("next"), port("sum", [])],
    )
    branches = {
        "then_branch": graph([node("Neg", "last", "n")], [], [port("n")]),
        "else_branch": graph([node("Identity", "last", "p")], [], [port("p")]),
    }
    nodes = [
        node("Loop", "- true x", "last sums", body=body),
        node("Size", "sums", "rounds"),
        node("Greater", "rounds three", "many"),
        node("If", "many", **branches),
    ]
    tensors = [constant("true", True, np.bool_), constant("three", 3), constant("limit", 100.0, np.float32)]
    module = ours.load(file_of(graph(nodes, [port("x", [2])], [port("y"), port("sums")], tensors)), NdArray.device())
    y, sums = module(Tensor.from_data([1.0, 2.0], NdArray.device()))
    assert y.to_numpy().tolist() == [-64.0, -128.0]
    assert sums.to_numpy().tolist() == [6.0, 12.0, 24.0, 48.0, 96.0, 192.0]
    y, _ = module(Tensor.from_data([50.0, 20.0], NdArray.device()))
    assert y.to_numpy().tolist() == [100.0, 40.0]


@pytest.mark.parametrize("count", [2, 70])
def test_a_shape_stays_a_number_among_any_number_of_inputs(count: int) -> None:
    """On `Meta`, where a shape that has gone to the device would have no values to be read."""
    names = [f"s{at}" for at in range(count)]
    inside = [node("Reshape", f"x {names[-1]}", "y")]
    function = helper.make_function("own", "Last", [*names, "x"], ["y"], inside, [helper.make_opsetid("", 18)])
    whole = graph(
        [node("Last", " ".join([*names, "x"]), "y", "own")],
        [port("x", [8])],
        [port("y")],
        [constant(name, [2, -1]) for name in names],
    )
    module = ours.load(file_of(whole, functions=[function], own=1), Meta.device())
    assert tuple(module(Tensor.zeros((8,), Meta.device())).shape) == (2, 4)


def test_functions_of_the_file_are_called_with_their_attributes() -> None:
    """Of two calls one gives the slope, and the other takes the default of LeakyRelu, which is 0.01."""
    inside = node("LeakyRelu", "a", "b")
    inside.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    function = helper.make_function("own", "Leaky", ["a"], ["b"], [inside], [helper.make_opsetid("", 18)], ["slope"])
    nodes = [node("Leaky", "x", "h", "own", slope=0.5), node("Leaky", "h", "y", "own")]
    whole = graph(nodes, [port("x", [2])], [port("y")])
    module = ours.load(file_of(whole, functions=[function], own=1), NdArray.device())
    found = module(Tensor.from_data([-2.0, 3.0], NdArray.device()))
    np.testing.assert_allclose(found.to_numpy(), [-0.01, 3.0], rtol=1e-6)


def test_all_that_is_missing_is_named_at_once() -> None:
    nodes = [node("Foo", "x", "a", name="/one/Foo"), node("Bar", "a", "b"), node("Relu", "b", evil=1)]
    with pytest.raises(OnnxError) as caught:
        ours.load(file_of(graph(nodes, [port("x", [2])], [port("y")])), NdArray.device())
    for words in (
        "one.Foo: there is no row for Foo",
        "Bar_1: there is no row for Bar",
        "Relu_2: it has an attribute evil",
    ):
        assert words in str(caught.value)


def test_int64_inputs_are_int32_where_a_device_has_no_other() -> None:
    device = RunConfig().init()
    whole = graph([node("Add", "x c")], [port("x", [2], INT64)], [port("y")], [constant("c", [1, 1])])
    module = ours.load(file_of(whole), device)
    assert module(Tensor.from_data([1, 2], device, "int64")).to_numpy().tolist() == [2, 3]


# The program


def test_the_source_is_a_program_that_gives_the_same() -> None:
    module = ours.load(dense(), NdArray.device())
    names: dict[str, Any] = {}
    exec(module.source(), names)
    twin = names["Model"](module.parts)
    x = Tensor.from_data(X, NdArray.device())
    np.testing.assert_array_equal(twin(x).to_numpy(), module(x).to_numpy())
    assert "h = op.Gemm(x, fc_weight, fc_bias, transB=1)" in module.source()
    assert [name for name, _ in twin.named_params()] == ["parts.fc.weight", "parts.fc.bias"]


def test_operators_are_calls() -> None:
    op = ours.Operators(17)
    x = Tensor.from_data([[-1.0, 2.0]], NdArray.device())
    assert op.Relu(x).tensor.to_numpy().tolist() == [[0.0, 2.0]]
    assert "Softmax" in dir(op)
    with pytest.raises(AttributeError, match="there is no row for Swish of operator set 17"):
        _ = op.Swish
    with pytest.raises(OnnxError, match="it has an attribute slope"):
        op.Relu(x, slope=1.0)
