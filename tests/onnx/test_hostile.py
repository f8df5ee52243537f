"""Damaged and hostile files: an error of ours with a reason; never a crash, a hang, or a look outside the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinyburn import NdArray, OnnxError, Tensor, TinyburnError
from tinyburn import onnx as ours

from .files import BOOL, INT64, constant, graph, helper, node, onnx, port

X = np.arange(6, dtype=np.float32).reshape(2, 3)
LIMITS = ours.Limits(elements=1 << 20, iterations=1000)
BILLION = [1000, 1000, 1000]


# Files


def model(*nodes: Any, tensors: Any = (), opset: int = 18, functions: Any = ()) -> Any:
    """From x, (2, 3), to y."""
    whole = helper.make_graph(nodes, "hostile", [port("x", [2, 3])], [port("y")], initializer=list(tensors))
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("own", 1)] if functions else [])
    return helper.make_model(whole, opset_imports=sets, functions=list(functions))


def of(operator: str, *numbers: Any, opset: int = 18, **attributes: Any) -> Any:
    """One node of x and constants."""
    tensors = [constant(f"c{at}", each) for at, each in enumerate(numbers)]
    names = " ".join(["x", *[each.name for each in tensors]])
    return model(node(operator, names, **attributes), tensors=tensors, opset=opset)


def made_of(operator: str, *numbers: Any) -> Any:
    """One node of constants alone."""
    tensors = [constant(f"c{at}", each) for at, each in enumerate(numbers)]
    return model(node(operator, " ".join(each.name for each in tensors)), tensors=tensors)


def changed(change: Callable[[Any], object]) -> Any:
    """A good model, after a change."""
    good = model(node("Add", "x w"), tensors=[constant("w", np.zeros((2, 3)), np.float32)])
    change(good)
    return good


def resized(dims: list[int]) -> Any:
    """An initializer that says it has other dims than it has numbers for."""

    def change(good: Any) -> None:
        tensor = good.graph.initializer[0]
        del tensor.dims[:]
        tensor.dims.extend(dims)

    return changed(change)


def nested(depth: int) -> Any:
    """Ifs in each other."""
    inner = graph([node("Identity", "x", "z0")], [], [port("z0")])
    for at in range(1, depth):
        other = graph([node("Identity", "x", f"o{at}")], [], [port(f"o{at}")])
        inner = graph([node("If", "c", f"z{at}", then_branch=inner, else_branch=other)], [], [port(f"z{at}")])
    return model(node("If", "c", then_branch=inner, else_branch=inner), tensors=[constant("c", True, np.bool_)])


def calling(**calls: str) -> Any:
    """Functions, each of which calls another one; the model calls the first."""
    functions = [
        helper.make_function(
            "own", name, ["a"], ["b"], [node(called, "a", "b", "own")], [helper.make_opsetid("own", 1)]
        )
        for name, called in calls.items()
    ]
    return model(node(next(iter(calls)), domain="own"), functions=functions)


def buried(depth: int) -> bytes:
    """Ifs in each other, more than the package lets one make: each message is a tag, a length, and what is in it."""

    def message(tag: bytes, data: bytes) -> bytes:
        length, rest = bytearray(), len(data)
        while rest > 127:
            length.append(rest & 127 | 128)
            rest >>= 7
        return tag + bytes([*length, rest]) + data

    inner = graph([node("Identity", "x", "z")], [], [port("z")]).SerializeToString()
    for _ in range(depth):
        branch = message(b"\x0a", b"then_branch") + message(b"\x32", inner) + b"\xa0\x01\x05"
        inner = message(b"\x0a", message(b"\x22", b"If") + message(b"\x2a", branch))
    sets = model(node("Relu"))
    sets.ClearField("graph")
    return sets.SerializeToString() + message(b"\x3a", inner)


def looping(most: int | None, outputs: int = 2) -> Any:
    """A Loop that goes on and on."""
    nodes = [node("Identity", "going", "on"), node("Relu", "state", "next")]
    ports = [port("on", [], BOOL), port("next")][:outputs]
    body = graph(nodes, [port("at", [], INT64), port("going", [], BOOL), port("state")], ports)
    tensors = [constant("going0", True, np.bool_), *([constant("most", most)] if most is not None else [])]
    return model(node("Loop", f"{'-' if most is None else 'most'} going0 x", body=body), tensors=tensors)


def sets_type(good: Any) -> None:
    good.graph.node[0].attribute.append(onnx.AttributeProto(name="axis"))


HOSTILE: dict[str, Callable[[], Any]] = {
    # what is no model
    "nothing": lambda: b"",
    "text": lambda: b"this is no model at all",
    "zeros": lambda: bytes(1000),
    "a pickle": lambda: b"\x80\x04\x95\x00\x00\x00",
    "a zip file": lambda: b"PK\x03\x04" + bytes(60),
    "half a model": lambda: (data := of("Relu").SerializeToString())[: len(data) // 2],
    "no graph": lambda: changed(lambda good: good.ClearField("graph")),
    "operator set 0": lambda: of("Relu", opset=0),
    "operator set 99": lambda: of("Relu", opset=99),
    "operator set -5": lambda: of("Relu", opset=-5),
    "no operator set": lambda: changed(lambda good: good.ClearField("opset_import")),
    # names
    "a node reads itself": lambda: model(node("Add", "x y")),
    "a cycle of two": lambda: model(node("Add", "x b", "a"), node("Add", "a a", "b"), node("Relu", "b")),
    "a name from nowhere": lambda: model(node("Add", "x nowhere")),
    "an output from nowhere": lambda: model(node("Relu", "x", "z")),
    "one name given twice": lambda: model(node("Relu"), node("Abs")),
    "an unknown operator": lambda: model(node("Explode")),
    "an unknown domain": lambda: model(node("Relu", domain="evil.com")),
    "an initializer named forward": lambda: model(
        node("Add", "x forward"), tensors=[constant("forward", X, np.float32)]
    ),
    # graphs in each other
    "Ifs 40 deep": lambda: buried(40),
    "Ifs 5 000 deep": lambda: buried(5000),
    "a function that calls itself": lambda: calling(F="F"),
    "functions that call each other": lambda: calling(F="G", G="F"),
    "a loop without an end": lambda: looping(None),
    "a loop of 2^62": lambda: looping(2**62),
    "a loop whose body gives too little": lambda: looping(3, outputs=1),
    "a scan of more inputs than there are": lambda: of("Scan", body=graph([], [], []), num_scan_inputs=7),
    # attributes and inputs
    "an attribute of no type": lambda: changed(sets_type),
    "an unknown attribute": lambda: of("Relu", evil=1),
    "a text for a number": lambda: of("Softmax", axis="last"),
    "an axis that is not there": lambda: of("Softmax", axis=7),
    "a missing attribute": lambda: of("Concat"),
    "too few inputs": lambda: model(node("Add")),
    "too many inputs": lambda: model(node("Relu", "x x x")),
    "a permutation that is none": lambda: of("Transpose", perm=[0, 0]),
    "a dtype that is none": lambda: of("Cast", to=1234),
    "a dtype that we have not": lambda: of("Cast", to=int(onnx.TensorProto.COMPLEX64)),
    "no groups": lambda: model(node("Conv", "x x", group=0)),
    "a step of 0": lambda: of("Slice", [0], [2], [0], [0]),
    # sizes
    "more dims than numbers": lambda: resized([1000, 1000]),
    "a billion dims": lambda: resized(BILLION),
    "a negative dim": lambda: resized([-2, -3]),
    "dims whose product is over 2^64": lambda: resized([2**33, 2**33, 2**33]),
    "a billion zeros": lambda: made_of("ConstantOfShape", BILLION),
    "a negative number of zeros": lambda: made_of("ConstantOfShape", [-1]),
    "a range of a billion": lambda: made_of("Range", 0, 10**9, 1),
    "a range without steps": lambda: made_of("Range", 0, 10, 0),
    "a tensor made a billion times as large": lambda: of("Expand", [1000, 1000, 1000, 2, 3]),
    "a tile of a billion": lambda: of("Tile", [100_000, 100_000]),
    "a pad of a billion": lambda: of("Pad", [10**9, 10**9, 0, 0]),
    "a reshape to other elements": lambda: of("Reshape", [4, 4]),
    "an index that is not there": lambda: of("Gather", [99]),
    "an index below all": lambda: of("Gather", [-99]),
    "parts that are too long": lambda: of("Split", [5, 5]),
    "the 99 largest of 3": lambda: model(node("TopK", "x k", "y i"), tensors=[constant("k", [99])]),
    "a depth of a billion": lambda: made_of("OneHot", [1, 2], 10**9, [0, 1]),
    "rank 9": lambda: of("Reshape", [1] * 7 + [2, 3]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_an_error_with_a_reason(name: str) -> None:
    made = HOSTILE[name]()
    with pytest.raises(TinyburnError, match=r"because|no ONNX model"):
        used(made if isinstance(made, bytes) else made.SerializeToString())


def used(source: Any) -> Any:
    """Reads a model, looks at it, and runs it."""
    device = NdArray.device()
    module = ours.load(source, device, limits=LIMITS)
    return module(*[Tensor.from_data(X, device) for _ in module.inputs])


def test_there_are_fifty() -> None:
    assert len(HOSTILE) + len(PLACES) >= 50


# Numbers in other files


def external(**places: object) -> Any:
    def change(good: Any) -> None:
        tensor = good.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in places.items():
            tensor.external_data.add(key=key, value=str(value))

    return changed(change).SerializeToString()


PLACES: dict[str, dict[str, object]] = {
    "the folder above": {"location": "../secret.bin"},
    "an absolute path": {"location": "/etc/passwd"},
    "the folder above, in a long way": {"location": "inner/../../secret.bin"},
    "a link that leads out": {"location": "link.bin"},
    "the folder itself": {"location": "."},
    "no place": {},
    "a file that is not there": {"location": "missing.bin"},
    "behind its end": {"location": "w.bin", "offset": 10**12},
    "before its beginning": {"location": "w.bin", "offset": -8},
    "longer than it is": {"location": "w.bin", "length": 10**12},
    "a length that is no number": {"location": "w.bin", "length": "many"},
}


@pytest.mark.parametrize("name", PLACES)
def test_numbers_come_from_the_folder_of_the_model_alone(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "w.bin").write_bytes(bytes(24))
    (folder / "model.onnx").write_bytes(external(**PLACES[name]))
    with pytest.raises(OnnxError):
        used(folder / "model.onnx")


def test_numbers_in_the_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8) + np.ones(6, np.float32).tobytes())
    (tmp_path / "model.onnx").write_bytes(external(location="w.bin", offset=8, length=24))
    np.testing.assert_array_equal(used(tmp_path / "model.onnx").to_numpy(), X + 1)


def test_of_bytes_there_is_no_folder() -> None:
    with pytest.raises(OnnxError, match="given as bytes"):
        used(external(location="w.bin"))


# Mutations


def goods() -> list[bytes]:
    """Small models of several kinds."""
    kernel = constant("w", np.ones((2, 1, 1, 2)), np.float32)
    layers = [
        node("Unsqueeze", "x a", "u"),
        node("Conv", "u w", "v", pads=[0, 0, 0, 1]),
        node("MaxPool", "v", "p", kernel_shape=[1, 2]),
    ]
    layers += [node("Shape", "p", "s"), node("Reshape", "p s", "q"), node("Softmax", "q", axis=1)]
    return [
        looping(3).SerializeToString(),
        nested(3).SerializeToString(),
        model(*layers, tensors=[kernel, constant("a", [1])]).SerializeToString(),
        of("Gather", [1, 0]).SerializeToString(),
        changed(lambda good: None).SerializeToString(),
    ]


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """A few bytes changed, taken out, put in or doubled, or the end cut off."""
    made = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(made)))
        kind = int(random.integers(5))
        if kind == 0:
            made[at] = int(random.integers(256))
        elif kind == 1:
            made[at] ^= 1 << int(random.integers(8))
        elif kind == 2:
            del made[at : at + int(random.integers(1, 9))]
        elif kind == 3:
            made[at:at] = random.bytes(int(random.integers(1, 9)))
        else:
            made[at:at] = made[at : at + int(random.integers(1, 20))]
        if not made:
            return b""
    return bytes(made)


def leaves(message: Any) -> list[tuple[Any, Any]]:
    """Every field of a message and of those inside it that has a value: where it is, and what kind it is."""
    found: list[tuple[Any, Any]] = []
    for field, value in message.ListFields():
        inner = (
            value if isinstance(value, (list, tuple)) or hasattr(value, "append") or hasattr(value, "add") else [value]
        )
        if field.message_type:
            for each in inner:
                found += leaves(each)
        else:
            found.append((message, field))
    return found


NUMBERS = (-1, 0, 1, 2, 7, 1 << 20, (1 << 31) - 1)
WORDS = ("", "x", "y", "w", "s", "nowhere", "Relu", "Loop", "axis")


def altered(data: bytes, random: np.random.Generator) -> bytes:
    """One field of the model gets another value that it may have: a dim, an axis, a name, a dtype, a pad."""
    proto = onnx.load_from_string(data)
    places = leaves(proto)
    message, field = places[int(random.integers(len(places)))]
    kind = type(getattr(message, field.name)[0] if is_list(message, field) else getattr(message, field.name))
    value = {
        int: NUMBERS[int(random.integers(len(NUMBERS)))],
        float: float(random.choice([np.nan, np.inf, -1.0, 1e30])),
        str: WORDS[int(random.integers(len(WORDS)))],
        bytes: random.bytes(int(random.integers(40))),
    }[kind]
    try:
        if is_list(message, field):
            values = list(getattr(message, field.name))
            values[int(random.integers(len(values)))] = value
            message.ClearField(field.name)
            getattr(message, field.name).extend(values if random.integers(2) else values[:-1])
        else:
            setattr(message, field.name, value)
    except ValueError:  # protobuf itself allows no such number in this field
        pass
    return bytes(proto.SerializeToString())


def is_list(message: Any, field: Any) -> bool:
    return not isinstance(getattr(message, field.name), (int, float, str, bytes))


@pytest.mark.parametrize("change", [mutated, altered])
@pytest.mark.parametrize("which", range(len(goods())))
def test_mutated_files_run_or_say_why_not(which: int, change: Callable[..., bytes]) -> None:
    """2 000 with other bytes, and 2 000 with other values. Anything but a result or an error of ours fails the test."""
    data, random = goods()[which], np.random.default_rng(which)
    said = 0
    for _ in range(400):
        try:
            used(change(data, random))
        except TinyburnError:
            said += 1
    assert said > 50
