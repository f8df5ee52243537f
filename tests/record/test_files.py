"""The file itself: damaged ones are refused, a kill loses nothing, old versions load, addresses work, few stay."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.fixtures.make import Holder, model
from tests.record.models import FAMILIES, FIXTURES, values
from tests.support import plain
from tinyburn import RecordError, TensorData, nn, optim, record
from tinyburn.record import container, versions
from tinyburn.record.container import packed

ROOT = Path(__file__).parents[2]


def state(size: int = 300) -> dict[str, Any]:
    """A training state of a few kilobytes."""
    device = plain("float32")
    device.seed(2)
    model = nn.LinearConfig(size, 4).init(device)
    optimizer = optim.AdamConfig().init()
    return {
        "model": model.into_record(),
        "optimizer": optimizer.state(model),
        "random": (7, 3),
        "mask": np.arange(10) > 4,
        "epoch": 12,
        "losses": [0.5, 0.25],
    }


def comparable(value: Any) -> Any:
    """A state as plain values."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(comparable, value)]
    if isinstance(value, record.ModelRecord):
        return value.about(), {name: comparable(item) for name, item in value.values.items()}
    return value.to_list() if isinstance(value, TensorData) else getattr(value, "tolist", lambda: value)()


# Damage


def mutated(whole: bytes, draw: random.Random) -> bytes:
    """The bytes of a file after one accident."""
    kind, header = draw.randrange(6), 8 + int.from_bytes(whole[:8], "little")
    changed = bytearray(whole)
    if kind == 0:  # anywhere
        for _ in range(draw.choice([1, 2, 8])):
            changed[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
    elif kind == 1:  # in the header, of which most of a large file is not
        changed[draw.randrange(header)] = draw.randrange(256)
    elif kind == 2:
        del changed[draw.randrange(len(whole)) :]
    elif kind == 3:  # another number
        places = [at for at in range(8, header) if chr(whole[at]).isdigit()]
        changed[draw.choice(places)] = ord(draw.choice("0123456789"))
    elif kind == 4:
        changed += draw.randbytes(draw.randrange(1, 50))
    else:  # a piece is missing, or comes twice
        start, length = draw.randrange(len(whole)), draw.randrange(1, 64)
        changed[start : start + length] = changed[start : start + length] * draw.choice([0, 2])
    return bytes(changed)


def test_2000_damaged_files_give_an_error_of_ours_or_the_right_values(tmp_path: Path) -> None:
    path, draw = tmp_path / "state", random.Random(5)
    record.save(path, state())
    whole = path.read_bytes()
    wanted, refusals = comparable(record.load(path)), 0
    for _ in range(2000):
        path.write_bytes(mutated(whole, draw))
        try:
            assert comparable(record.load(path)) == wanted
        except RecordError as error:
            refusals += "because" in str(error)
    assert refusals > 1900


def test_memory_stays_below_twice_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    record.save(path, {"x": np.ones((500, 1000))})
    size, whole = path.stat().st_size, path.read_bytes()
    for data in (whole, whole[:-1], whole.replace(b"[500,1000]", b"[500,9000]"), whole.replace(b'F64"', b'F32"')):
        path.write_bytes(data)
        tracemalloc.start()
        with suppress(RecordError):
            record.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * size


def test_a_model_takes_the_file_and_itself(tmp_path: Path) -> None:
    model = nn.LinearConfig(500, 500).init(plain())
    model.save(tmp_path / "x")
    model.load(tmp_path / "x")  # the first time, modules are loaded too
    tracemalloc.start()
    read = model.load(tmp_path / "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values(read) == values(model)
    assert peak < 2.1 * (tmp_path / "x").stat().st_size


HUGE = 2**40 - 1


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"x": {"dtype": "F32", "shape": [HUGE], "data_offsets": [0, 4 * HUGE]}}, "has no shape and place"),
        ({"x": {"dtype": "F32", "shape": [2**30], "data_offsets": [0, 2**32]}}, "the file is truncated"),
        ({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, "one of them is wrong"),
        ({"x": {"dtype": "F32", "shape": [-1, -2], "data_offsets": [0, 8]}}, "has no shape and place"),
        ({"x": {"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]}}, "has no shape and place"),
        ({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, "begin at byte 4"),
        ({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, "followed by something else"),
        ({"x": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}}, "'F8_E4M3', which is not read here"),
        ({"x": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}}, "neither 0 nor 1"),
        ({"x": 3}, "'x' has no shape and place"),
        ([], "its header is list"),
        ({"__metadata__": {"a": 1}}, "no texts under names"),
    ],
)
def test_a_header_that_lies_is_refused(header: Any, reason: str, tmp_path: Path) -> None:
    text = json.dumps(header).encode()
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text + bytes([7] * 8))
    with pytest.raises(RecordError) as caught:
        nn.Relu().load(tmp_path / "x", layout="tinyburn")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"), [("[1", "is not JSON"), ("[1]", "None as the version"), ('{"format":-1}', "-1 as the version")]
)
def test_tinyburns_part_of_a_header_that_lies_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(packed({}, {versions.KEY: text}))
    with pytest.raises(RecordError, match=reason):
        record.load(tmp_path / "x")


@pytest.mark.parametrize("text", [b"[" * 100_000, b"{" * 10, b'{"a": ' + b"9" * 5000 + b"}", b"\xff\xfe"])
def test_a_header_that_is_no_json_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(RecordError, match="its header"):
        record.load(tmp_path / "x")


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9])
def test_a_file_that_is_hardly_there_is_refused(length: int, tmp_path: Path) -> None:
    record.save(tmp_path / "x", {"a": 1})
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:length])
    with pytest.raises(RecordError, match="the file is damaged"):
        record.load(tmp_path / "x")


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "tensor"},
        {"a": {"$": "model", "names": [1]}},
        {"a": {"$": "model", "names": ["x"], "structure": 3}},
        {"a": {"$": "unknown"}},
        {"a": {"$": ["list"]}},
        {"a": {"$": "bytes", "hex": "xyz"}},
        {"a": {"$": "float", "text": "one"}},
        {"a": {"$": "tuple"}},
    ],
)
def test_a_header_with_the_right_checksum_and_no_sense_is_refused(tree: Any, tmp_path: Path) -> None:
    text = versions.header_text(tree, {}, {})
    (tmp_path / "x").write_bytes(packed({}, {versions.KEY: text}))
    with pytest.raises(RecordError, match="because"):
        record.load(tmp_path / "x")
    with pytest.raises(RecordError, match="because"):
        nn.Relu().load(tmp_path / "x")


def test_a_number_of_the_version_that_became_0_is_no_old_file(tmp_path: Path) -> None:
    record.save(tmp_path / "x", {"a": 1})
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole.replace(b'\\"format\\":1', b'\\"format\\":0'))
    assert (tmp_path / "x").read_bytes() != whole
    with pytest.raises(RecordError, match="checksum"):
        record.load(tmp_path / "x")


# Versions


def test_a_newer_version_is_refused_with_the_version_that_wrote_it(tmp_path: Path) -> None:
    text = json.dumps({"format": versions.FORMAT + 1, "tinyburn": "9.9"})
    (tmp_path / "x").write_bytes(packed({}, {versions.KEY: text}))
    with pytest.raises(RecordError) as caught:
        record.load(tmp_path / "x")
    assert "it has version 2 of the format, and tinyburn" in str(caught.value)
    assert "it was written by tinyburn 9.9: install that or a later one" in str(caught.value)


@pytest.mark.parametrize("number", range(versions.FORMAT + 1))
def test_a_file_of_every_version_loads(number: int) -> None:
    """`tests/record/fixtures` keeps a file of each; one is added with each new version, and none is changed."""
    device = plain("float32")
    other = Holder([nn.LinearConfig(2, 3).init(device), nn.LayerNormConfig(3).init(device)])
    assert values(other.load(FIXTURES / f"version_{number}.safetensors")) == values(model())


def test_todays_version_is_still_written_as_it_was(tmp_path: Path) -> None:
    model().save(tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == (FIXTURES / f"version_{versions.FORMAT}.safetensors").read_bytes()


def test_there_is_a_migration_from_each_earlier_version() -> None:
    assert sorted(versions.MIGRATIONS) == list(range(versions.FORMAT))


# Written all at once


KILLED = """
import os, random, signal, sys, time
import numpy as np
from tinyburn import record

path, draw = sys.argv[1], random.Random(1)
record.save(path, {"number": 0, "x": np.zeros(200_000)})
for kill in range(20):
    child = os.fork()
    number = record.load(path)["number"]
    while child == 0:
        number += 1
        record.save(path, {"number": number, "x": np.full(200_000, number)})
    time.sleep(draw.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    read = record.load(path)
    assert (read["x"] == read["number"]).all()
print(read["number"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork a process")
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path / "state")]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert int(done.stdout) > 5
    names = os.listdir(tmp_path)
    assert all(name == "state" or name.endswith(".part") for name in names)
    assert len(names) > 1, "no kill came in the middle of a save"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file_and_no_draft(
    step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record.save(tmp_path / "x", {"a": 1})

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        record.save(tmp_path / "x", {"a": 2})
    assert record.load(tmp_path / "x") == {"a": 1}
    assert os.listdir(tmp_path) == ["x"]


def test_a_full_disk_is_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any) -> Iterator[bytes]:
        yield b"the first bytes"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "_pieces", full)
    with pytest.raises(OSError, match="No space left"):
        record.save(tmp_path / "x", {"a": 2})
    assert not os.listdir(tmp_path)


def test_a_link_stays_a_link_and_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    record.save(tmp_path / "x", {"a": 1})
    try:
        (tmp_path / "link").symlink_to(tmp_path / "x")
    except OSError:
        pytest.skip("no links here")
    record.save(tmp_path / "link", {"a": 2})
    assert (tmp_path / "link").is_symlink()
    assert record.load(tmp_path / "x") == {"a": 2}
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


# Addresses


def test_files_of_fsspec_are_written_and_read(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    for address in ("memory://folder/model", f"file://{(tmp_path / 'model').as_posix()}"):
        saved, other = (FAMILIES["linear"](plain()) for _ in range(2))
        saved.save(address)
        assert values(other.load(address)) == values(saved)
        assert record.inspect(address, check=True).is_checked
        with pytest.raises(FileNotFoundError):
            record.load(f"{address}.other")
    assert os.listdir(tmp_path) == ["model"]


def test_an_address_that_nobody_understands_is_refused() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(RecordError, match="fsspec does not understand"):
        record.load("nonsense://x")


def test_without_fsspec_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(RecordError, match="tinyburn\\[cloud\\]"):
        record.load("memory://x")


# The bytes

NAMES = st.text(max_size=4) | st.sampled_from(["weight", "a/b", "ä", "\x7f", "\n", '"', "\u2028"])
DTYPES = st.sampled_from(sorted(set(container.FORMATS.values()) - {"bfloat16"}))
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@given(st.dictionaries(NAMES, st.tuples(DTYPES, SHAPES)), st.dictionaries(NAMES, st.text(max_size=3), max_size=1))
def test_the_bytes_are_those_of_the_package(kinds: dict[str, Any], notes: dict[str, str]) -> None:
    package = pytest.importorskip("safetensors.numpy")
    arrays = {name: np.full(shape, 3, dtype) for name, (dtype, shape) in kinds.items()}
    assert packed(arrays, notes) == package.save(arrays, notes or None)


def test_any_layout_is_written_row_by_row() -> None:
    package = pytest.importorskip("safetensors.numpy")
    rows = np.arange(6, dtype=">f4").reshape(2, 3)
    found = package.load(packed({"turned": rows.T, "each other": rows[:, ::2]}, {}))
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["each other"].tolist() == [[0, 2], [3, 5]]


# Keeper


def test_the_last_and_the_best_stay(tmp_path: Path) -> None:
    keeper = record.Keeper(tmp_path / "run", last=2, best=1)
    assert (keeper.latest(), keeper.best()) == (None, None)
    for step, score in enumerate([3.0, 1.0, 2.0, float("nan"), 5.0, 1.0]):
        assert keeper.save(step, {"step": step}, score) == keeper.path(step)
    assert keeper.steps() == [1, 4, 5]
    again = record.Keeper(tmp_path / "run", last=2)
    assert (again.latest(), again.best()) == (again.path(5), again.path(1))
    assert record.load(again.best() or "") == {"step": 1}
    highest = record.Keeper(tmp_path / "run", last=1, best=2, is_loss=False)
    highest.save(6, {}, 0.5)
    assert highest.steps() == [1, 4, 6]


def test_a_keeper_begins_without_the_drafts_of_a_killed_one(tmp_path: Path) -> None:
    folder, other = tmp_path / "step-00000001.safetensors.abc.part", tmp_path / "notes.part"
    folder.mkdir()
    for path in (folder / "draft", other):
        path.write_bytes(b"half")
    assert record.Keeper(tmp_path).steps() == []
    assert os.listdir(tmp_path) == [other.name]


def test_a_damaged_file_stays_for_its_owner_to_see(tmp_path: Path) -> None:
    record.Keeper(tmp_path).save(1, {}, 0.5)
    (tmp_path / "step-00000001.safetensors").write_bytes(b"half")
    keeper = record.Keeper(tmp_path)
    assert keeper.best() is None
    with pytest.raises(RecordError):
        record.load(keeper.latest() or "")


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"last": 0}, "last is 0, and must be 1 or more"), ({"best": -1}, "best is -1, and must be 0 or more")],
)
def test_a_keeper_that_keeps_nothing_is_refused(options: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=reason):
        record.Keeper(tmp_path, **options)
    with pytest.raises(RecordError, match="needs a folder of this machine"):
        record.Keeper("memory://run")
