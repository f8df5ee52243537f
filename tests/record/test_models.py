"""A model comes back from its file as it was, or the file is refused with every reason."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.record.models import FAMILIES, GOLDEN, Block, Candles, Torchs, values
from tests.support import NDARRAY, WGPU, UnderTest, params, plain, tracked
from tinyburn import Autodiff, ConfigError, Distribution, Module, NdArray, Param, RecordError, Tensor, nn, record

UNDER_TEST = [NDARRAY, NDARRAY.inside(Autodiff), WGPU.inside(Autodiff), NDARRAY.inside(Autodiff).inside(Autodiff)]


@pytest.mark.parametrize("under_test", params(UNDER_TEST))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_comes_back_into_another_one(family: str, under_test: UnderTest, tmp_path: Path) -> None:
    device = under_test.device()
    device.seed(1)
    model, other = FAMILIES[family](device), FAMILIES[family](device)
    before = values(other)
    model.save(tmp_path / "model.safetensors")
    read = other.load(tmp_path / "model.safetensors")
    assert values(read) == values(model)
    assert values(other) == before
    assert type(read) is type(model)
    ids = [param.id for _, param in other.named_params()]
    assert [param.id for _, param in read.named_params()] == ids


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_each_float_format_comes_back(dtype: str, tmp_path: Path) -> None:
    model, other = (nn.LinearConfig(3, 2).init(plain(dtype)) for _ in range(2))
    model.save(tmp_path / "model")
    assert values(other.load(tmp_path / "model")) == values(model)


def test_numbers_at_the_edge_come_back_bit_for_bit(tmp_path: Path) -> None:
    numbers = np.array([np.nan, -np.inf, -0.0, 5e-324, 0.1])
    model = nn.RmsNormConfig(5).init(plain())
    model.gamma = Param.from_tensor(Tensor.from_data(numbers, plain()))
    model.save(tmp_path / "model")
    read = nn.RmsNormConfig(5).init(plain()).load(tmp_path / "model")
    assert read.gamma.val().to_numpy().tobytes() == numbers.tobytes()


def test_running_statistics_shared_and_frozen_parts_and_constants(tmp_path: Path) -> None:
    device = tracked()
    model = Block(device)
    model(Tensor.random((3, 1, 4, 4), Distribution.Normal(1, 2), device))
    model.save(tmp_path / "model")
    read = Block(device).load(tmp_path / "model")
    assert values(read) == values(model)
    assert read.linear is read.again[0]
    assert read.scale.is_frozen
    assert not read.conv.weight.is_frozen
    written = model.into_record()
    assert "again.0.weight" not in written.values
    assert written.shared["again.0.weight"] == "linear.weight"
    assert written.frozen == ["scale"]


def test_a_model_goes_to_the_device_and_the_backend_that_loads_it(tmp_path: Path) -> None:
    model = nn.LinearConfig(3, 2).init(Autodiff[NdArray].device())
    model.save(tmp_path / "model")
    read = nn.LinearConfig(3, 2).init(NdArray.device()).load(tmp_path / "model")
    assert values(read) == values(model)
    assert read.weight.val().device == NdArray.device()


def test_the_same_model_is_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.record.models import FAMILIES; from tests.support import plain\n"
        "device = plain(); device.seed(3); FAMILIES['block'](device).save(sys.argv[1])"
    )
    paths = [tmp_path / name for name in ("a", "b")]
    for number, path in enumerate(paths):
        subprocess.run(
            [sys.executable, "-c", script, str(path)], check=True, cwd=GOLDEN.parents[1], env=_seeded(number)
        )
    assert paths[0].read_bytes() == paths[1].read_bytes()


def _seeded(number: int) -> dict[str, str]:
    """The environment with another order of sets."""
    here = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": here}


# What is refused


class Pair(Module):
    def __init__(self, first: Module, second: Module) -> None:
        self.first, self.second = first, second


def pair(device: Any, size: int = 3) -> Pair:
    return Pair(nn.LinearConfig(size, 2).init(device), nn.LayerNormConfig(2).init(device))


def refused(model: Module, path: Path, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        model.load(path, **options)
    return str(caught.value)


def test_all_that_does_not_fit_is_said_at_once_with_the_nearest_names(tmp_path: Path) -> None:
    class Renamed(Module):
        def __init__(self) -> None:
            self.first = nn.LinearConfig(4, 2).init(plain())
            self.secand = nn.LayerNormConfig(2).init(plain())

    pair(plain()).save(tmp_path / "model")
    told = refused(Renamed(), tmp_path / "model")
    assert "Renamed.load\n  file : a Pair\n" in told
    assert "because first.weight has the shape [3, 2] in the file, and [4, 2] in the model" in told
    assert "because secand.gamma [2] is missing; the nearest name is second.gamma" in told
    assert "because the file's second.beta is not used by the model; the nearest name is secand.beta" in told
    assert told.count("because") == 5
    read = Renamed()
    read.first = nn.LinearConfig(3, 2).init(plain())
    assert values(read.load(tmp_path / "model", names={"secand": "second"}))["secand.gamma"] == ("float64", [1.0, 1.0])


def test_another_dtype_is_converted_only_when_asked(tmp_path: Path) -> None:
    model = nn.LinearConfig(3, 2).init(plain("float32"))
    model.save(tmp_path / "model")
    half = nn.LinearConfig(3, 2).init(plain("float16"))
    told = refused(half, tmp_path / "model")
    assert "because weight has float32 in the file, and float16 in the model; cast=True converts it" in told
    assert told.endswith("hint: write cast=True to convert them")
    read = half.load(tmp_path / "model", cast=True)
    assert read.weight.val().to_numpy().tolist() == model.weight.val().to_numpy().astype(np.float16).tolist()


def test_another_kind_is_never_converted() -> None:
    class Holder(Module):
        def __init__(self, dtype: Any) -> None:
            self.table = Tensor.from_data([0, 1], plain(), dtype=dtype)

    with pytest.raises(RecordError, match="which is another kind"):
        Holder("bool").load_record(Holder("int64").into_record(), cast=True)


def test_what_is_one_here_and_two_in_the_file_is_refused_unless_both_are_equal() -> None:
    class Two(Module):
        def __init__(self, is_tied: bool) -> None:
            self.a = Param.from_tensor(Tensor.ones((2,), plain()))
            self.b = self.a if is_tied else Param.from_tensor(Tensor.ones((2,), plain()))

    tied, apart = Two(True), Two(False)
    assert values(tied.load_record(apart.into_record())) == values(apart)
    assert values(apart.load_record(tied.into_record())) == values(tied)
    apart.b = Param.from_tensor(Tensor.zeros((2,), plain()))
    with pytest.raises(RecordError, match="a and b are one in this model, and two different ones in the file"):
        tied.load_record(apart.into_record())


def test_names_that_map_nothing_are_refused(tmp_path: Path) -> None:
    model = pair(plain())
    with pytest.raises(RecordError, match="names maps thrid, which is no path of the model"):
        model.save(tmp_path / "model", names={"thrid": "x"})
    with pytest.raises(RecordError, match="two values have the name x"):
        model.save(tmp_path / "model", names={"first.bias": "x.bias", "second.beta": "x.bias"})
    with pytest.raises(RecordError, match="layout is 'jax', and must be one of tinyburn, torch"):
        model.save(tmp_path / "model", layout="jax")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


# The header


def test_the_header_says_what_the_model_was_and_where(tmp_path: Path) -> None:
    config = nn.LinearConfig(3, 2)
    config.init(tracked()).save(tmp_path / "model", config=config)
    state = record.inspect(tmp_path / "model").header["state"]
    assert state["class"] == "Linear"
    assert state["config"]["d_input"] == 3
    assert state["device"] == "Autodiff[NdArray](cpu)"
    assert state["structure"] == [{"path": "", "class": "Linear", "settings": {"d_input": 3, "d_output": 2}}]
    shown = str(record.inspect(tmp_path / "model", check=True))
    assert "weight  [3, 2]  float64  48 B" in shown
    assert "as they were written" in shown


def test_a_parameter_trained_on_from_a_file_has_a_gradient(tmp_path: Path) -> None:
    device = tracked()
    model = nn.LinearConfig(3, 2).init(device)
    model.save(tmp_path / "model")
    read = model.load(tmp_path / "model")
    grads = read(Tensor.ones((1, 3), device)).sum().backward()
    assert grads.named(read)["weight"] is not None


# PyTorch's layout


def torch_output(model: Torchs) -> list[float]:
    device = model.conv.weight.val().device
    image = Tensor.from_data(np.sin(np.arange(32, dtype=np.float32)).reshape(2, 1, 4, 4), device)
    tokens = Tensor.from_data([[0, 3], [4, 1]], device, dtype="int64")
    return model(image, tokens).to_numpy().ravel().tolist()


def test_a_file_of_pytorch_loads_and_computes_what_pytorch_does() -> None:
    model = Torchs(plain("float32")).load(GOLDEN / "records.safetensors", layout="torch")
    wanted = json.loads((GOLDEN / "records.json").read_text(encoding="utf-8"))["output"]
    np.testing.assert_allclose(torch_output(model), wanted, atol=2e-6)


def test_what_is_written_for_pytorch_is_the_file_of_pytorch(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    model = Torchs(plain("float32")).load(GOLDEN / "records.safetensors", layout="torch")
    model.save(tmp_path / "model", layout="torch")
    mine, theirs = numpy.load_file(tmp_path / "model"), numpy.load_file(GOLDEN / "records.safetensors")
    theirs.pop("norm.num_batches_tracked")
    assert mine.keys() == theirs.keys()
    assert all((mine[name] == theirs[name]).all() and mine[name].shape == theirs[name].shape for name in mine)
    assert values(Torchs(plain("float32")).load(tmp_path / "model")) == values(model)


def test_attention_is_one_matrix_in_pytorchs_layout() -> None:
    model = Torchs(plain("float32")).load(GOLDEN / "records.safetensors", layout="torch")
    joined = model.into_record(layout="torch").values["encoder.self_attn.in_proj_weight"].values
    parts = [part.weight.val().to_numpy().T for part in (model.encoder.mha.query, model.encoder.mha.key)]
    assert joined.shape == (12, 4)
    assert (joined[:8] == np.concatenate(parts)).all()


def test_a_part_of_a_joined_matrix_can_be_mapped_with_the_others_alone(tmp_path: Path) -> None:
    """As in models of PyTorch's users that have three matrices."""
    numpy = pytest.importorskip("safetensors.numpy")
    model = nn.MultiHeadAttentionConfig(4, 2).init(plain())
    apart = {part: f"attn.{part[0]}_proj" for part in ("query", "key", "value")}
    model.save(tmp_path / "apart", layout="torch", names={**apart, "": "attn"})
    names = {
        f"attn.{part}.{kind}" for part in ("q_proj", "k_proj", "v_proj", "out_proj") for kind in ("weight", "bias")
    }
    assert set(numpy.load_file(tmp_path / "apart")) == names
    twin = nn.MultiHeadAttentionConfig(4, 2).init(plain()).load(tmp_path / "apart", names={**apart, "": "attn"})
    assert values(twin) == values(model)
    model.save(tmp_path / "joined", layout="torch", names={"": "attn"})
    assert "attn.in_proj_bias" in numpy.load_file(tmp_path / "joined")
    with pytest.raises(RecordError, match="names has names for some of the values that in_proj_weight holds"):
        model.save(tmp_path / "torn", names={"query": "q_proj"}, layout="torch")


def test_a_joined_matrix_that_does_not_fit_is_told_once(tmp_path: Path) -> None:
    nn.MultiHeadAttentionConfig(4, 2).init(plain()).save(tmp_path / "small", layout="torch")
    told = refused(nn.MultiHeadAttentionConfig(6, 2).init(plain()), tmp_path / "small")
    wanted = "in_proj_weight has the shape [12, 4] in the file, and [6, 6] in the model, as a part of [18, 6] there"
    assert told.count(wanted) == 1
    assert "out_proj.weight has the shape [4, 4] in the file, and [6, 6] in the model" in told
    nn.LinearConfig(3, 2).init(plain()).save(tmp_path / "linear", layout="torch")
    told = refused(nn.LinearConfig(5, 2).init(plain()), tmp_path / "linear")
    assert "weight has the shape [2, 3] in the file, and [5, 2] in the model, which is [2, 5] there" in told


def test_a_file_of_candle_is_one_of_pytorchs_layout(tmp_path: Path) -> None:
    """The names and shapes that candle-nn asks a file for, and the numbers of the example in its page on Linear."""
    package = pytest.importorskip("safetensors.numpy")
    shapes: dict[str, tuple[int, ...]] = {
        **{"lstm.weight_ih_l0": (8, 3), "lstm.weight_hh_l0": (8, 2), "lstm.bias_ih_l0": (8,), "lstm.bias_hh_l0": (8,)},
        **{f"norm.{name}": (2,) for name in ("running_mean", "running_var", "weight", "bias")},
        **{"table.weight": (5, 3), "conv.weight": (4, 2, 3, 3), "conv.bias": (4,)},
    }
    arrays = {name: np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for name, shape in shapes.items()}
    arrays["linear.weight"] = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    package.save_file(arrays, tmp_path / "candle")
    read = Candles(plain("float32")).load(tmp_path / "candle", layout="torch")
    x = Tensor.from_data([[10.0, 100.0]], plain("float32"))
    assert read.linear(x).to_numpy().tolist() == [[210.0, 430.0, 650.0]]
    read.save(tmp_path / "ours", layout="torch")
    ours = package.load_file(tmp_path / "ours")
    assert {name: array.tolist() for name, array in ours.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


def test_a_layout_is_never_guessed(tmp_path: Path) -> None:
    model = Torchs(plain("float32"))
    told = refused(model, GOLDEN / "records.safetensors")
    assert "does not say whether it has PyTorch's names" in told
    model.save(tmp_path / "model", layout="torch")
    assert "the layout 'torch', and 'tinyburn' was asked for" in refused(model, tmp_path / "model", layout="tinyburn")


def test_names_are_mapped_in_pytorchs_layout_too(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    model = pair(plain())
    names = {"first": "encoder.0", "second.gamma": "scale", "": "model"}
    model.save(tmp_path / "model", layout="torch", names=names)
    assert set(numpy.load_file(tmp_path / "model")) == {
        "encoder.0.weight",
        "encoder.0.bias",
        "scale",
        "model.second.bias",
    }
    assert values(pair(plain()).load(tmp_path / "model", names=names)) == values(model)


def test_bfloat16_is_read_when_a_cast_is_asked_for(tmp_path: Path) -> None:
    numbers = np.array([1.5, -2.0, 0.0078125], np.float32)
    header = json.dumps({"gamma": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    body = (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
    (tmp_path / "model").write_bytes(len(header).to_bytes(8, "little") + header + body)
    model = nn.RmsNormConfig(3).init(plain("float32"))
    assert "gamma has bfloat16 in the file" in refused(model, tmp_path / "model", layout="tinyburn")
    read = model.load(tmp_path / "model", layout="tinyburn", cast=True)
    assert read.gamma.val().to_numpy().tolist() == numbers.tolist()


def test_a_pickle_is_never_read(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(pickle.dumps({"weight": [1.0] * 100}))
    told = refused(nn.Relu(), tmp_path / "model.pt", layout="torch")
    assert "a pickle can run any code, so it is never read" in told
    assert "safetensors.torch.save_file" in told


def test_what_is_no_record_is_refused() -> None:
    model = nn.LinearConfig(1, 1).init(plain())
    for given in ("model.safetensors", {"weight": Tensor.ones((1, 1), plain())}):
        with pytest.raises(RecordError, match="and not a ModelRecord"):
            model.load_record(given)  # type: ignore[arg-type]


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nn.Relu().load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        nn.Relu().save(tmp_path / "no folder" / "model")


def test_the_error_is_a_value_error_and_no_config_error() -> None:
    assert issubclass(RecordError, ValueError)
    assert not issubclass(RecordError, ConfigError)
