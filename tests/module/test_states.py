"""What a module holds beside its parameters: constants that move with it, and results that a copy cuts off."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support import (
    TRACKING_BACKENDS,
    AnyTensor,
    UnderTest,
    const,
    gradient_of,
    ints,
    leaf,
    mask,
    params,
    plain,
    tracked,
)
from tinyburn import Autodiff, ConfigError, Device, GraphError, Meta, Module, NdArray, Param, Tensor, Traced, nn


def traced() -> Device[Any]:
    backend: Any = Autodiff[Traced[NdArray]]
    device: Device[Any] = backend.device(float_dtype="float64")
    return device


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Record:
    tensor: Any
    size: int = 3


HOLDERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "attribute": (lambda x: x, lambda held: held),
    "list": (lambda x: [1, x], lambda held: held[1]),
    "tuple": (lambda x: (x, None), lambda held: held[0]),
    "named tuple": (lambda x: Pair("a", x), lambda held: held.second),
    "dict": (lambda x: {"key": x}, lambda held: held["key"]),
    "ordered dict": (lambda x: OrderedDict(key=x), lambda held: held["key"]),
    "default dict": (lambda x: defaultdict(list, key=x), lambda held: held["key"]),
    "dataclass": (lambda x: Record(x), lambda held: held.tensor),
    "deep": (lambda x: [{"a": (Record([x]),)}], lambda held: held[0]["a"][0].tensor[0]),
}
"""How a module can hold something: the way in, and the way to it."""

holders = pytest.mark.parametrize("holder", [pytest.param(holder, id=name) for name, holder in HOLDERS.items()])


class Holding(Module):
    """A layer, and something else."""

    def __init__(self, held: Any, device: Device[Any]) -> None:
        self.layer = nn.LinearConfig(2, 2).init(device)
        self.held = held


def test_lists_of_modules_and_of_parameters_are_found_in_every_holder() -> None:
    for put, get in HOLDERS.values():
        model = Holding(put(nn.LinearConfig(2, 1).init(tracked())), tracked())
        assert model.num_params() == 9
        forked = model.fork(tracked())
        assert type(forked.held) is type(model.held)
        assert get(forked.held).weight is not get(model.held).weight
        assert model.num_params() == 9


# Constants go along with every move


MOVES: dict[str, tuple[Callable[[], Device[Any]], Callable[[Any, Device[Any]], Any]]] = {
    "fork": (tracked, lambda model, device: model.fork(device)),
    "fork elsewhere": (traced, lambda model, device: model.fork(device)),
    "to_device": (traced, lambda model, device: model.to_device(device)),
    "to_device, already there": (tracked, lambda model, device: model.to_device(device)),
    "valid": (plain, lambda model, _: model.valid()),
    "no_grad": (tracked, lambda model, _: model.no_grad()),
    "map": (tracked, lambda model, _: model.map(lambda _, param: param)),
    "freeze": (tracked, lambda model, _: model.freeze()),
    "deepcopy": (tracked, lambda model, _: copy.deepcopy(model)),
    "pickle": (tracked, lambda model, _: pickle.loads(pickle.dumps(model))),
}
moves = pytest.mark.parametrize(("place", "move"), [pytest.param(*move, id=name) for name, move in MOVES.items()])


@moves
@holders
@pytest.mark.parametrize("make", [mask, ints, const], ids=["Bool", "Int", "Float"])
def test_a_constant_goes_along(make: Any, holder: Any, place: Any, move: Any) -> None:
    put, get = holder
    model = Holding(put(make([1, 0, 1], tracked())), tracked())
    device = place()
    moved = move(model, device)
    assert get(moved.held).device == moved.layer.weight.val().device == device
    assert get(moved.held).to_numpy().tolist() == [1, 0, 1]
    assert get(moved.held).dtype == get(model.held).dtype
    assert get(model.held).device == tracked()
    assert [path for path, _ in moved.named_params()] == ["layer.weight", "layer.bias"]


@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
def test_constants_move_to_every_backend_and_back(under_test: UnderTest) -> None:
    device = under_test.device("float32")
    model = Holding([mask([True, False], tracked()), const([1.5], tracked("float32"))], tracked("float32"))
    moved = model.fork(device)
    assert [x.device for x in moved.held] == [device, device]
    back = moved.to_device(tracked())
    assert [x.to_numpy().tolist() for x in back.held] == [[True, False], [1.5]]


def test_constants_become_shapes_with_the_parameters() -> None:
    device = Autodiff[Meta].device()
    moved = Holding({"mask": mask([[True, False]], tracked())}, tracked()).fork(device)
    assert moved.held["mask"].device == device
    assert moved.held["mask"].shape == (1, 2)


def test_one_constant_in_two_places_stays_one() -> None:
    x = mask([True], tracked())
    model = Holding([x, {"again": x}], tracked()).fork(traced())
    assert model.held[0] is model.held[1]["again"]
    assert [path for path, _ in model.named_tensors()] == ["held.0", "held.1.again"]
    assert "  held.0: Tensor [1] bool\n  held.1.again: Tensor [1] bool, shared with held.0\n" in repr(model)


def test_what_is_no_part_is_left_as_it_is() -> None:
    config = nn.LinearConfig(2, 2)
    model = Holding({"config": config, "names": {"a", "b"}, "x": np.ones(2)}, tracked())
    forked = model.fork(tracked())
    assert forked.held["config"] == config
    assert forked.held["x"] is model.held["x"]
    assert forked.held is not model.held


@dataclasses.dataclass
class Block(Module):
    """A module that is a dataclass: equal to others, and without a hash."""

    weight: Param[Any, Any]
    mask: AnyTensor


def test_a_module_that_is_a_dataclass() -> None:
    block = Block(Param.from_tensor(const([1.0], tracked())), mask([True], tracked()))
    for made in (block.fork(traced()), copy.deepcopy(block), block.no_grad(), block.valid()):
        assert made.num_params() == 1
        assert made.weight is not block.weight
        assert made.mask.device == made.weight.val().device
    replaced = dataclasses.replace(block, mask=mask([False], tracked()))
    assert replaced.weight is block.weight


def test_what_a_module_cannot_hold_is_said() -> None:
    device = tracked()
    constant = mask([True], device)
    for held in (
        {constant},
        frozenset([nn.Relu()]),
        deque([constant]),
        [{"a": {nn.Relu()}}],
        MappingProxyType({1: constant}),
    ):
        model = Holding(held, device)
        for action in (model.num_params, lambda model=model: model.fork(device), lambda model=model: repr(model)):
            with pytest.raises(ConfigError, match="parts are not looked for in a") as caught:
                action()
            assert str(caught.value).startswith("attribute held")
    with pytest.raises(ConfigError, match="__slots__"):
        dataclasses.make_dataclass("Slotted", [("weight", Any)], bases=(Module,), slots=True)
    loop = Holding([], device)
    loop.held.append(loop)
    for action in (loop.num_params, lambda: loop.fork(device), lambda: repr(loop)):
        with pytest.raises(ConfigError, match="inside itself"):
            action()


# A deep copy has no part in the graph of its original


def results(device: Device[Any]) -> Iterator[tuple[str, AnyTensor, AnyTensor]]:
    """A tensor of each standing in the graph, with the leaf that it comes from."""
    x = leaf([[1.0, 2.0]], device)
    yield "leaf", x, x
    yield "result", (x * 2.0).tanh(), x
    long = x
    for _ in range(3000):
        long = long + 1.0
    yield "long", long, x
    yield "constant", const([[1.0, 2.0]], device), x


@holders
@pytest.mark.parametrize("under_test", params(TRACKING_BACKENDS))
def test_a_deep_copy_is_a_constant_or_a_leaf_of_its_own(under_test: UnderTest, holder: Any) -> None:
    put, get = holder
    device = under_test.device()
    for name, tensor, origin in results(device):
        model = Holding(put(tensor), device)
        twin = get(copy.deepcopy(model).held)
        assert twin.device is device, name
        assert twin.is_require_grad is tensor.is_require_grad, name
        assert twin.to_numpy().tolist() == tensor.to_numpy().tolist(), name
        if name == "leaf":
            grads = (twin * origin).sum().backward()
            assert [gradient.to_numpy().tolist() for gradient in grads.tensors()] == [[[1.0, 2.0]]] * 2
            assert len(grads) == 2
        else:
            with pytest.raises(GraphError):
                twin.sum().backward()


def test_a_deep_copy_is_cut_off_at_every_depth() -> None:
    """On stacked Autodiffs a value has a place in the inner graph too, and `detach` leaves it there."""
    device: Any = Autodiff[Autodiff[NdArray]].device()
    inner = leaf([2.0], device.inner)
    for tensor, is_leaf in (
        (Tensor.from_inner(inner * 3.0, device).require_grad(), False),
        (Tensor.from_inner(inner, device).require_grad() * 2.0, False),
        (Tensor.from_inner(inner, device).require_grad(), True),
    ):
        twin = copy.deepcopy([tensor])[0]
        assert twin.inner().is_require_grad is is_leaf
        if is_leaf:
            assert twin.inner().primitive.node is not inner.primitive.node
        else:
            with pytest.raises(GraphError):
                twin.inner().sum().backward()


def test_a_deep_copy_needs_no_second_buffer() -> None:
    device: Any = traced()
    model = Holding([const(np.ones(8), device), leaf(np.ones(4), device)], device)
    before = device.inner.log.live_bytes
    twin = copy.deepcopy(model)
    assert device.inner.log.live_bytes == before
    del model
    assert twin.held[0].to_numpy().tolist() == [1.0] * 8


def test_the_same_tensor_in_two_places_of_a_deep_copy_is_one() -> None:
    x = leaf([1.0], tracked())
    twin = copy.deepcopy([x, {"x": x}])
    assert twin[0] is twin[1]["x"]  # type: ignore[index, call-overload]


def test_a_hidden_state_is_copied_by_every_move_without_its_graph() -> None:
    for place, move in MOVES.values():
        device = tracked()
        model = Holding([leaf([[1.0, 2.0]], device) * 2.0], device)
        moved = move(model, place())
        if moved.held[0] is model.held[0]:  # map, freeze and to_device leave it as it is
            continue
        assert moved.held[0].to_numpy().tolist() == [[2.0, 4.0]]
        assert not moved.held[0].backend.is_autodiff or not moved.held[0].primitive.is_tracked


def test_a_deep_copy_of_gradients_answers_for_the_same_leaves() -> None:
    x = leaf([3.0], tracked())
    grads = (x * x).sum().backward()
    twin = copy.deepcopy({"grads": grads})["grads"]
    assert twin.remove(x) is not None
    assert gradient_of(x, grads).tolist() == [6.0]
