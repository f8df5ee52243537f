"""What an optimizer keeps: nobody else sees it change, copies go their own way, and it can be written down and read."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.optim.models import CONFIGS, Mlp, loss_of, step, values
from tests.support import NDARRAY, WGPU, UnderTest, params, tracked
from tinyburn import Autodiff, ConfigError, Meta, NdArray, Tensor, Traced, memory, optim
from tinyburn.backend import Kind
from tinyburn.memory.measure import find_log

each_config = pytest.mark.parametrize("config", CONFIGS, ids=str)
UNDER_TEST = [NDARRAY.inside(Autodiff), WGPU.inside(Autodiff), NDARRAY.inside(Autodiff).inside(Autodiff)]
on_each = pytest.mark.parametrize("under_test", params(UNDER_TEST))


# Who sees what


@on_each
@each_config
def test_copies_go_their_own_way(config: Any, under_test: UnderTest) -> None:
    model, optimizer = Mlp(under_test.device()), config.init()
    models, twins = [model], []
    for _ in range(4):
        twins.append(copy.deepcopy((models[-1], optimizer)))
        models.append(step(models[-1], optimizer))
    expected = [values(one) for one in models]
    for at, (twin, twins_optimizer) in enumerate(twins):
        for wanted in expected[at + 1 :]:
            twin = step(twin, twins_optimizer)
            assert values(twin) == wanted
    assert [values(one) for one in models] == expected


@each_config
def test_a_shallow_copy_and_a_pickle_go_their_own_way_too(config: Any) -> None:
    model, optimizer = step(Mlp(tracked()), first := config.init()), first
    twin = copy.copy(optimizer)
    read_model, read_optimizer = pickle.loads(pickle.dumps((model, optimizer)))
    wanted = values(step(step(model, optimizer), optimizer))
    assert values(step(step(model, twin), twin)) == wanted
    assert values(step(step(read_model, read_optimizer), read_optimizer)) == wanted


@each_config
def test_gradients_that_somebody_looked_at_stay(config: Any) -> None:
    model, optimizer = Mlp(tracked()), config.init()
    for _ in range(2):
        grads = (loss_of(model) * 10.0).backward()
        seen = grads.named(model)
        before = {path: gradient.to_numpy().copy() for path, gradient in seen.items() if gradient is not None}
        model = optimizer.step(0.05, model, grads)
        assert all((seen[path].to_numpy() == before[path]).all() for path in before)  # type: ignore[union-attr]


# The record


@on_each
@each_config
def test_a_state_that_was_read_goes_on(config: Any, under_test: UnderTest) -> None:
    model, optimizer = Mlp(under_test.device()), config.init()
    for _ in range(2):
        model = step(model, optimizer)
    record, twin, twins_optimizer = optimizer.state(model), copy.deepcopy(model), config.init()
    twins_optimizer.load_state(record, twin)
    kept = {path: {name: str(value) for name, value in row.items()} for path, row in record["params"].items()}
    for _ in range(2):
        model, twin = step(model, optimizer), step(twin, twins_optimizer)
    assert values(model) == values(twin)
    assert kept == {path: {name: str(value) for name, value in row.items()} for path, row in record["params"].items()}


def test_the_record_is_plain() -> None:
    model, optimizer = Mlp(tracked()), optim.AdamConfig().init()
    assert optimizer.state(model)["params"]["layers.0.weight"] == {"steps": 0}
    record = optimizer.state(step(model, optimizer))
    assert record["optimizer"] == "Adam"
    assert list(record["params"]) == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    row = record["params"]["layers.1.bias"]
    assert row["steps"] == 1
    assert {name: value.shape for name, value in row.items() if name != "steps"} == {
        "first_moment": (2,),
        "second_moment": (2,),
    }


def record_of(config: Any) -> tuple[Any, dict[str, Any]]:
    optimizer = config.init()
    model = step(Mlp(tracked()), optimizer)
    return model, optimizer.state(model)


def test_a_record_that_does_not_fit_says_everything() -> None:
    model, record = record_of(optim.AdamConfig())
    rows = record["params"]
    rows["layers.7.weight"] = rows.pop("layers.0.weight")
    del rows["layers.0.bias"]
    with pytest.raises(ConfigError) as caught:
        optim.AdamWConfig().init().load_state(record, model)
    assert str(caught.value) == (
        "AdamW.load_state\n"
        "  because it is the state of Adam, not AdamW\n"
        "  because layers.0.weight has no state\n"
        "  because layers.0.bias has no state\n"
        "  because there is a state of layers.7.weight, and no such parameter\n"
        "  hint: load it for a model with the same paths, into an optimizer of the same config"
    )


def test_a_row_that_does_not_fit_says_everything() -> None:
    model, record = record_of(optim.AdamConfig(amsgrad=True))
    rows, fine = record["params"], optim.AdamConfig().init()
    del rows["layers.0.weight"]["first_moment"]
    rows["layers.0.bias"]["steps"] = "many"
    rows["layers.1.weight"]["second_moment"] = Tensor.ones((3,), Meta.device())
    rows["layers.1.bias"]["first_moment"] = [1.0]
    with pytest.raises(ConfigError) as caught:
        fine.load_state(record, model)
    for reason in (
        "layers.0.weight has no first_moment",
        "layers.0.weight has a largest_second_moment, which is not used",
        "the state of layers.0.bias has no whole number of steps",
        "second_moment of layers.1.weight has the shape (3,), and the parameter (5, 2)",
        "second_moment of layers.1.weight has the dtype float32, and the parameter float64",
        "second_moment of layers.1.weight is on ",
        "first_moment of layers.1.bias is list, and should be a Tensor",
    ):
        assert f"because {reason}" in str(caught.value)
    with pytest.raises(ConfigError, match="no state of an optimizer"):
        fine.load_state({"momentum": 3}, model)
    assert fine.state(model)["params"]["layers.0.weight"] == {"steps": 0}


def test_the_state_of_another_model() -> None:
    optimizer = optim.AdamConfig().init()
    model = step(Mlp(tracked()), optimizer)
    other = Mlp(tracked())
    with pytest.raises(ConfigError, match=r"Adam.state\n  because its state is that of other parameters"):
        optimizer.state(other)
    with pytest.raises(ConfigError, match=r"Adam.step\n  because its state is that of other parameters"):
        step(other, optimizer)
    assert optimizer.state(model)["params"]["layers.0.bias"]["steps"] == 1


# Memory


@each_config
@pytest.mark.parametrize("base", params([NDARRAY, WGPU]))
def test_shapes_alone_write_the_same_log(config: Any, base: UnderTest) -> None:
    logs = []
    for backend in (base.backend, Meta):
        device: Any = Autodiff[Traced[backend]].device(float_dtype=base.float_dtype, int_dtype=base.int_dtype)
        model, optimizer = Mlp(device), config.init()
        for _ in range(3):
            model = step(model, optimizer)
        log = find_log(device)
        logs.append((list(log.events), list(log.names)))
    assert logs[0] == logs[1]


@each_config
def test_a_step_needs_no_memory_beside_the_state(config: Any) -> None:
    """From the second step on, all is written over gradients and state, but for what is gone before the step ends."""
    device: Any = Autodiff[Traced[NdArray]].device()
    model, optimizer = step(Mlp(device), first := config.init()), first
    grads, log = (loss_of(model) * 10.0).backward(), find_log(device)
    before, at = log.live_bytes, len(log.events)
    trained = optimizer.step(0.05, model, grads)
    kinds = [event[0] for event in log.events[at:]]
    assert log.live_bytes == before
    assert kinds.count(Kind.DONATE) >= 4
    needs_more = isinstance(optimizer, optim.Lion) or config.grad_clipping or getattr(config, "centered", False)
    needs_more = needs_more or getattr(config, "amsgrad", False)
    assert needs_more or Kind.ALLOC not in kinds
    assert len(list(trained.named_params())) == 4


def test_the_state_is_the_optimizers_in_the_log() -> None:
    def job(device: Any, _: int) -> Any:
        model, optimizer = Mlp(device), optim.AdamConfig().init()
        for _ in range(2):
            model = step(model, optimizer)
        return model, optimizer

    def plain(device: Any, _: int) -> Any:
        model, optimizer = Mlp(device), optim.SgdConfig().init()
        for _ in range(2):
            model = step(model, optimizer)
        return model, optimizer

    device = Autodiff[NdArray].device()
    adam, sgd = memory.measure(job, device, 1), memory.measure(plain, device, 1)
    states = 2 * 4 * (20 + 5 + 10 + 2)
    assert adam.peak_bytes <= sgd.peak_bytes + states
    assert adam.at_peak["optimizer"] == states
