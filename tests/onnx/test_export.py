"""What a written file is called inside, what is told of what cannot be written, and what lies beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.onnx.exported import DEVICE, assert_near, outputs_of, run_by_runtime
from tests.onnx.layers import Cnn, Transformer, device, floats, indices
from tinyburn import Distribution, Module, NdArray, Tensor, activation, nn, onnx, record
from tinyburn.base.errors import BackendUnavailable, OnnxError
from tinyburn.module import Param
from tinyburn.onnx import file, saving

package = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class Runs(Module):
    """A module of one function, and perhaps a parameter."""

    def __init__(self, function: Callable[..., Any], weight: Any = None) -> None:
        self.function = function
        if weight is not None:
            self.weight = Param(Tensor.from_data(np.asarray(weight, "float32"), DEVICE))

    def forward(self, x: Any) -> Any:
        return self.function(x)


X = floats(3)(2, DEVICE)


def _written(module: Module, inputs: Any, path: Path, **options: Any) -> Any:
    onnx.save(module, inputs, path, **options)
    model = package.load(path)
    package.checker.check_model(model, full_check=True)
    return model


def _operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def _refused(module: Module, inputs: Any, path: Path, **options: Any) -> str:
    with pytest.raises(OnnxError) as caught:
        onnx.save(module, inputs, path, **options)
    assert not path.exists()
    return str(caught.value)


# Names


def test_parameters_nodes_inputs_and_outputs_have_the_names_of_the_program(tmp_path: Path) -> None:
    training = device()
    module = Cnn(training)
    model = _written(module, floats(1, 8, 8)(2, training), tmp_path / "cnn.onnx")
    assert [one.name for one in model.graph.initializer] == [path for path, _ in module.named_params()]
    assert [one.name for one in model.graph.input] == ["image"]
    assert [one.name for one in model.graph.output] == ["output"]
    names = {node.name for node in model.graph.node}
    assert {"first/Conv", "pool/MaxPool", "second/Conv", "output/Gemm"} <= names
    paths = [path for path, _ in onnx.load(tmp_path / "cnn.onnx", DEVICE).named_params()]
    assert paths == [path for path, _ in module.named_params()]


def test_a_convolution_has_its_bias_and_a_pool_is_one_node(tmp_path: Path) -> None:
    training = device()
    model = _written(Cnn(training), floats(1, 8, 8)(2, training), tmp_path / "cnn.onnx")
    operators = _operators(model)
    assert operators.count("Conv") == 2
    assert all(len(node.input) == 3 for node in model.graph.node if node.op_type == "Conv")
    assert not {"Gather", "Pad", "Dropout"} & set(operators)


def test_an_input_may_be_called_as_a_parameter_is(tmp_path: Path) -> None:
    class Scaled(Runs):
        def forward(self, weight: Any) -> Any:
            return weight * self.weight.val()

    module = Scaled(abs, [[2.0, 3.0, 4.0]])
    model = _written(module, X, tmp_path / "model.onnx")
    assert [one.name for one in model.graph.input] == ["weight_1"]
    assert_near(run_by_runtime(tmp_path / "model.onnx", X), outputs_of(module, [X]))


def test_inputs_have_other_names_if_they_are_given(tmp_path: Path) -> None:
    model = _written(Runs(abs), X, tmp_path / "model.onnx", names=["pixels"], batch="n")
    assert model.graph.input[0].name == "pixels"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert "1 tensors, x, and the names a, b" in _refused(Runs(abs), X, tmp_path / "b.onnx", names=["a", "b"])


def test_a_parameter_in_two_places_is_written_once(tmp_path: Path) -> None:
    class Tied(Module):
        def __init__(self) -> None:
            self.first = nn.LinearConfig(3, 3, bias=False).init(DEVICE)
            self.second = self.first

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    model = _written(Tied(), X, tmp_path / "model.onnx")
    assert [one.name for one in model.graph.initializer] == ["first.weight"]


@pytest.mark.parametrize(
    "function", [lambda x: x, lambda x: (x, x), lambda x: (x + 1.0, x + 1.0, x), lambda x: {"y": -x}]
)
def test_outputs_that_no_node_or_one_node_gives(function: Callable[..., Any], tmp_path: Path) -> None:
    module = Runs(function)
    model = _written(module, X, tmp_path / "model.onnx")
    names = [one.name for one in model.graph.output]
    assert names == ["output", "output_1", "output_2"][: len(names)]
    assert_near(run_by_runtime(tmp_path / "model.onnx", X), outputs_of(module, [X]))


def test_an_output_may_be_a_parameter_or_a_constant(tmp_path: Path) -> None:
    class Gives(Module):
        def __init__(self) -> None:
            self.weight = Param(Tensor.from_data([1.0, 2.0], DEVICE))

        def forward(self, x: Any) -> Any:
            return self.weight.val(), Tensor.ones((2,), x.device), x

    _written(Gives(), X, tmp_path / "model.onnx")
    assert_near(run_by_runtime(tmp_path / "model.onnx", X), outputs_of(Gives(), [X]))


# What is folded, and what the batch changes


def test_what_depends_on_no_input_and_no_parameter_is_computed(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        table = Tensor.arange(0, 3, x.device).float().sin().reshape((1, 3)) * 2.0
        return x + table

    model = _written(Runs(function), X, tmp_path / "model.onnx")
    assert _operators(model) == ["Add"]


def test_what_depends_on_a_parameter_is_not(tmp_path: Path) -> None:
    class Squared(Runs):
        def forward(self, x: Any) -> Any:
            return x + self.weight.val() * self.weight.val()

    assert _operators(_written(Squared(abs, [[1.0, 2.0, 3.0]]), X, tmp_path / "model.onnx")) == ["Mul", "Add"]


FREE: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: x + Tensor.zeros(x.shape, x.device),
    "zeros-computed": lambda x: x + Tensor.zeros((x.shape[0], 1), x.device).cos(),
    "range": lambda x: x + Tensor.arange(0, x.shape[0], x.device).float().reshape((-1, 1)),
    "rows-for-each": lambda x: Tensor.cat([x, Tensor.ones((2 * x.shape[0] + 1, 3), x.device)], 0),
    "half": lambda x: x.narrow(0, 0, x.shape[0] - 1),
    "first": lambda x: x[:1],
    "last": lambda x: x[-1:],
    "flat": lambda x: x.flatten(),
    "pairs": lambda x: x.unsqueeze_dim(0).expand((x.shape[0], x.shape[0], 3)),
    "twice": lambda x: x.repeat_dim(0, 2),
    "times-its-batch": lambda x: x * x.shape[0],
    "mean": lambda x: x.sum() / (x.shape[0] * 3),
    "sorted": lambda x: x.sort(0),
    "assigned": lambda x: x.slice_assign((slice(1, x.shape[0]), slice(0, 2)), x[1:, :2] * 2.0),
    "matrix": lambda x: x @ x.mT,
}


@pytest.mark.parametrize("function", FREE.values(), ids=FREE)
def test_a_number_follows_the_batch(function: Callable[..., Any], tmp_path: Path) -> None:
    module = Runs(function)
    onnx.save(module, X, tmp_path / "model.onnx")
    back = onnx.load(tmp_path / "model.onnx", DEVICE)
    for batch in (2, 7, 3):
        x = floats(3)(batch, DEVICE)
        assert_near(run_by_runtime(tmp_path / "model.onnx", x), outputs_of(module, [x]))
        np.testing.assert_array_equal(outputs_of(back, [x]), outputs_of(module, [x]))


def test_without_a_free_batch_the_lengths_are_those_of_the_example(tmp_path: Path) -> None:
    model = _written(Runs(lambda x: x.flatten()), X, tmp_path / "model.onnx", batch=None)
    for one in (*model.graph.input, *model.graph.output):
        assert all(dim.HasField("dim_value") for dim in one.type.tensor_type.shape.dim)


NOT_FREE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "squares": (lambda x: Tensor.cat([x, Tensor.ones((x.shape[0] ** 2, 3), x.device)], 0), "not along a line"),
    "other-way": (lambda x: x if x.shape[0] == 2 else x * 2.0, "another way for another batch"),
    "fixed": (lambda x: x.reshape((6,)), "ShapeError"),
    "table": (
        lambda x: x + Tensor.from_data(np.arange(x.shape[0] * 3.0).reshape(-1, 3) ** 2, x.device, "float32"),
        "same numbers",
    ),
    "windows": (lambda x: x.unfold(0, 2, 1), "fixed ones"),
    "deviation": (lambda x: x * (1.0 / x.shape[0]), "not along a line"),
}


@pytest.mark.parametrize(("function", "words"), NOT_FREE.values(), ids=NOT_FREE)
def test_what_follows_the_batch_in_another_way_is_told(
    function: Callable[..., Any], words: str, tmp_path: Path
) -> None:
    message = _refused(Runs(function), X, tmp_path / "model.onnx")
    assert words in message
    assert "batch=None" in message
    onnx.save(Runs(function), X, tmp_path / "model.onnx", batch=None)
    assert_near(run_by_runtime(tmp_path / "model.onnx", X), outputs_of(Runs(function), [X]))


# Masks


@pytest.mark.parametrize(("later", "guarded"), [(True, False), (False, True)])
def test_a_softmax_is_guarded_only_where_a_mask_can_hide_a_whole_row(
    later: bool, guarded: bool, tmp_path: Path
) -> None:
    def function(x: Any) -> Any:
        length = x.shape[1]
        causal = nn.generate_autoregressive_mask(x.shape[0], length, x.device)
        mask = causal if later else causal.flip((1,)).bool_or(causal)
        return activation.softmax(x.mask_fill(mask, -np.inf), 2)

    x = floats(4, 4)(2, DEVICE)
    model = _written(Runs(function), x, tmp_path / "model.onnx")
    assert ("ReduceMax" in _operators(model)) is guarded
    assert_near(run_by_runtime(tmp_path / "model.onnx", x), outputs_of(Runs(function), [x]))


# Training


def test_a_module_that_trains_is_written_as_it_is_evaluated(tmp_path: Path) -> None:
    training = device()
    model = Cnn(training)
    x = floats(1, 8, 8)(4, training)
    model(x)  # the running statistics are now others
    onnx.save(model, x, tmp_path / "cnn.onnx")
    assert_near(run_by_runtime(tmp_path / "cnn.onnx", x), outputs_of(model.valid(), [x.inner()]))


# What cannot be written


def test_all_that_has_no_row_is_named_with_the_module_that_asks(tmp_path: Path) -> None:
    class Noisy(Module):
        def forward(self, x: Any) -> Any:
            return x + x.random_like(Distribution.Default)

    class Both(Module):
        def __init__(self) -> None:
            self.first, self.second = Noisy(), Noisy()

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    message = _refused(Both(), X, tmp_path / "model.onnx")
    assert "random, asked for in first" in message
    assert "random, asked for in second" in message


def test_a_program_that_reads_numbers_is_told_so(tmp_path: Path) -> None:
    message = _refused(Runs(lambda x: x * 2.0 if x.sum().item() > 0 else x), X, tmp_path / "model.onnx")
    assert "reads the numbers" in message


def test_a_program_that_prints_a_tensor_can_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x: Any) -> Any:
        print(x)
        return x * 2.0

    onnx.save(Runs(shown), X, tmp_path / "model.onnx")
    assert "shape:   [2, 3]" in capsys.readouterr().out


def test_inputs_that_do_not_fit_forward_are_told_so(tmp_path: Path) -> None:
    assert "forward(x" in _refused(Runs(abs), (X, X), tmp_path / "model.onnx")


def test_a_forward_without_a_tensor_is_told_so(tmp_path: Path) -> None:
    assert "no tensor" in _refused(Runs(lambda x: 3), X, tmp_path / "model.onnx")


def test_too_many_bytes_for_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "LARGEST", 11)
    module = nn.LinearConfig(3, 1).init(DEVICE)
    assert "16 bytes" in _refused(module, X, tmp_path / "model.onnx")


def test_without_the_package_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tinyburn.onnx.protos.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match=r"tinyburn\[onnx\]"):
        onnx.save(Runs(abs), X, tmp_path / "model.onnx")


def test_an_old_file_stays_if_the_new_one_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(Runs(abs), X, path)
    before = path.read_bytes()

    def broken(draft: str, data: bytes) -> None:
        Path(draft).write_bytes(data[:10])
        raise OSError("the disk is full")

    monkeypatch.setattr(saving, "_put", broken)
    with pytest.raises(OSError, match="full"):
        onnx.save(Runs(activation.relu), X, path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]


# Golden tensors, and inputs inside others


@pytest.mark.parametrize("beside", [True, "expected.safetensors"])
def test_golden_tensors_are_the_example_and_what_comes_of_it(beside: Any, tmp_path: Path) -> None:
    training = device()
    module, tokens = Transformer(training), indices(11, 6)(2, training)
    target = True if beside is True else tmp_path / beside
    onnx.save(module, tokens, tmp_path / "model.onnx", golden=target)
    found = record.load(tmp_path / "model.golden.safetensors" if beside is True else target)
    np.testing.assert_array_equal(found["inputs"]["tokens"], tokens.to_numpy())
    expected = outputs_of(module.valid(), [tokens.inner()])
    np.testing.assert_array_equal(found["outputs"]["output"], expected[0])
    assert_near(run_by_runtime(tmp_path / "model.onnx", tokens), [found["outputs"]["output"]])


def test_tensors_in_dicts_and_dataclasses_are_inputs_too(tmp_path: Path) -> None:
    cell = nn.LstmConfig(3, 4).init(DEVICE)
    state = nn.LstmState(Tensor.zeros((1, 2, 4), DEVICE), Tensor.ones((1, 2, 4), DEVICE))
    inputs = {"x": floats(5, 3)(2, DEVICE), "state": state}
    dims = {"x": 0, "state.cell": 1, "state.hidden": 1}
    model = _written(cell, inputs, tmp_path / "model.onnx", batch_dims=dims)
    assert [one.name for one in model.graph.input] == list(dims)
    assert_near(run_by_runtime(tmp_path / "model.onnx", inputs), outputs_of(cell, [inputs["x"], state]))


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_formats(dtype: str, tmp_path: Path) -> None:
    narrow = NdArray.device(float_dtype=dtype)
    module = nn.LinearConfig(3, 2).init(narrow)
    x = Tensor.from_data(X.to_numpy().astype(dtype), narrow)
    _written(module, x, tmp_path / "model.onnx")
    back = onnx.load(tmp_path / "model.onnx", narrow)
    np.testing.assert_array_equal(outputs_of(back, [x]), outputs_of(module, [x]))
