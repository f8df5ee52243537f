"""Whole training states: what was resumed goes on bit for bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.optim.models import CONFIGS, Mlp, step, values
from tests.support import NDARRAY, WGPU, UnderTest, params, plain, tracked
from tinyburn import Autodiff, Distribution, RecordError, Tensor, TensorData, nn, optim, record

UNDER_TEST = [NDARRAY.inside(Autodiff), WGPU.inside(Autodiff)]


@pytest.mark.parametrize("under_test", params(UNDER_TEST))
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_training_goes_on_bit_for_bit(config: Any, under_test: UnderTest, tmp_path: Path) -> None:
    model, optimizer, device = Mlp(under_test.device()), config.init(), under_test.device()
    scheduler = optim.NoamLrSchedulerConfig(0.01, 4).init()
    device.seed(7)
    Tensor.random((3,), Distribution.Uniform(0, 1), device)
    for _ in range(3):
        model = step(model, optimizer, scheduler.step())
    state = {"model": model.into_record(), "optimizer": optimizer.state(model), "scheduler": scheduler.state()}
    record.save(tmp_path / "state", {**state, "random": device.random_state(), "epoch": 2})
    wanted_draw = Tensor.random((3,), Distribution.Uniform(0, 1), device).to_numpy().tolist()
    for _ in range(3):
        model = step(model, optimizer, scheduler.step())

    read, twins_optimizer, twins_scheduler = record.load(tmp_path / "state"), config.init(), scheduler.config.init()
    twin = Mlp(under_test.device()).load_record(read["model"])
    twins_optimizer.load_state(read["optimizer"], twin)
    twins_scheduler.load_state(read["scheduler"])
    device.set_random_state(read["random"])
    assert read["epoch"] == 2
    assert Tensor.random((3,), Distribution.Uniform(0, 1), device).to_numpy().tolist() == wanted_draw
    for _ in range(3):
        twin = step(twin, twins_optimizer, twins_scheduler.step())
    assert values(twin) == values(model)


def test_a_model_is_taken_out_of_a_training_state(tmp_path: Path) -> None:
    model = Mlp(tracked())
    record.save(tmp_path / "state", {"model": model.into_record(), "epoch": 1})
    assert values(Mlp(tracked()).load(tmp_path / "state")) == values(model)
    record.save(tmp_path / "state", {"epoch": 1})
    with pytest.raises(RecordError, match="it is a state without a model"):
        model.load(tmp_path / "state")


def test_every_plain_value_comes_back_as_it_was(tmp_path: Path) -> None:
    state = {
        "counts": [0, -1, 2**64 + 1, True, None],
        "tuple": (1, ("a", 2.5)),
        "floats": [0.1, -0.0, 1e-320, math.inf],
        "text": '§ \N{GREEK SMALL LETTER ALPHA} \\ " \n',
        "bytes": b"\x00\xff",
        "$": {"$": "tensor", "empty": {}, "list": []},
        "numpy": np.int64(3),
        "": "a name without letters",
    }
    record.save(tmp_path / "state", state)
    read = record.load(tmp_path / "state")
    assert read == state
    assert list(read) == list(state)
    assert isinstance(read["tuple"], tuple)
    assert str(read["floats"]) == str(state["floats"])


def test_nan_comes_back(tmp_path: Path) -> None:
    record.save(tmp_path / "state", {"loss": math.nan})
    assert math.isnan(record.load(tmp_path / "state")["loss"])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "uint32", "int32", "uint64", "int64", "float16"])
def test_arrays_come_back_as_arrays_and_tensors_on_the_host(dtype: str, tmp_path: Path) -> None:
    array = np.array([[0, 1], [1, 1]], dtype)
    record.save(tmp_path / "state", {"a": array, "b": [array.T], "c": np.array(3.5), "d": array[:0]})
    read = record.load(tmp_path / "state")
    assert all(isinstance(one, np.ndarray) for one in (read["a"], read["b"][0]))
    assert read["a"].dtype == array.dtype
    assert read["a"].tolist() == array.tolist()
    assert read["b"][0].tolist() == array.T.tolist()
    assert (read["c"].shape, read["d"].shape) == ((), (0, 2))


def test_a_tensor_comes_back_as_tensor_data(tmp_path: Path) -> None:
    tensor = Tensor.from_data([[1.0, 2.0]], tracked())
    record.save(tmp_path / "state", {"x": tensor})
    read = record.load(tmp_path / "state")["x"]
    assert isinstance(read, TensorData)
    assert read == tensor.into_data()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"a": {"b": object()}}, "a/b is object, which has no form in a file"),
        ({"a": {1: 2}}, "a has the key 1, and keys must be texts"),
        ({"a": [1j]}, "a/0 is complex"),
        ({"model": nn.LinearConfig(1, 1).init(plain())}, "a model goes in as its into_record()"),
        ({"a": {"b": np.ones(1)}, "a/b": np.ones(1)}, "a/b stands for two tensors"),
        ({"a": np.array(["x"])}, "a has the dtype str"),
        ([1], "the state is list"),
    ],
)
def test_what_has_no_form_in_a_file_is_named_and_nothing_is_written(state: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError) as caught:
        record.save(tmp_path / "state", state)
    assert reason in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_state_inside_itself_is_refused(tmp_path: Path) -> None:
    state: dict[str, Any] = {}
    state["again"] = state
    with pytest.raises(RecordError, match="stands inside itself"):
        record.save(tmp_path / "state", state)


def test_a_state_of_the_wrong_kind_is_refused_by_the_optimizer_as_before(tmp_path: Path) -> None:
    model, optimizer = Mlp(tracked()), optim.AdamConfig().init()
    model = step(model, optimizer)
    state = optimizer.state(model)
    state["params"]["layers.0.bias"]["momentum_1"] = Tensor.ones((2,), plain())
    record.save(tmp_path / "state", state)
    with pytest.raises(ValueError, match=r"of layers\.0\.bias has the shape|layers\.0\.bias has"):
        optim.AdamConfig().init().load_state(record.load(tmp_path / "state"), model)
