"""Lines, JSON lines, and pictures in folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyburn import ConfigError, DataError, NdArray, data


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(st.sampled_from('ab "é\u2028'), max_size=5), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_lines_are_those_that_are_not_empty(tmp_path: Path, lines: list[str], end: str) -> None:
    path = tmp_path / "some.txt"
    for last in ("", end):
        path.write_bytes((end.join(lines) + last).encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tinyburn.data.text_blocks.PIECE", 5)
            assert [*data.Lines(path)] == [line for line in lines if line]


def test_many_lines_are_found_by_number(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("".join(f"line {n}\n" for n in range(200_000)), encoding="utf-8")
    lines = data.Lines(path)
    assert (len(lines), lines[0], lines[-1], lines[123_456]) == (200_000, "line 0", "line 199999", "line 123456")
    assert sorted(lines.shuffle(0).subset(range(100)))[0].startswith("line ")


def test_json_lines_and_their_errors(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('\ufeff{"x": [1, 2.5], "y": 1}\n\n{"x": [3, 4], "y": 0}\n{"x": \n', encoding="utf-8")
    items = data.JsonLines(path)
    (batch,) = data.DataLoader(items.subset([0, 1]), 2, NdArray.device())
    assert batch["x"].to_numpy().tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert batch["x"].dtype == "float32"
    with pytest.raises(DataError, match="line 4 is no JSON"):
        items[2]
    path.write_bytes(b"1\n" + b"[" * 200_000)
    with pytest.raises(DataError, match="line 2 is no JSON"):
        data.JsonLines(path)[1]
    path.write_bytes(b"1\n\n\xff\n")
    with pytest.raises(DataError, match="line 3 is no text in UTF-8"):
        data.JsonLines(path)[0]
    path.write_bytes("1\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        data.JsonLines(path)


def test_a_record_without_an_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(b"first\n" + b"x" * 5000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinyburn.data.text_blocks.PIECE", 100)
        patch.setattr("tinyburn.data.text_blocks.LONGEST", 1000)
        with pytest.raises(DataError, match="begins in line 2 has more than 1000 bytes"):
            data.Lines(path)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    for number, (folder, name) in enumerate([("dog", "b.png"), ("cat", "a.PNG"), ("dog", "a.bmp")]):
        (tmp_path / folder).mkdir(exist_ok=True)
        pixels = np.full((4, 6, 3), 10 * number, np.uint8)
        pixels[0, 0] = (255, 0, 1)
        image.fromarray(pixels).save(tmp_path / folder / name)
    (tmp_path / "dog" / "notes.txt").write_text("no picture", encoding="utf-8")
    return tmp_path


def test_pictures_in_folders(pictures: Path) -> None:
    made = data.ImageFolder(pictures)
    assert made.classes == ("cat", "dog")
    assert [(file.name, label) for file, label in zip(made.files, made.targets, strict=True)] == [
        ("a.PNG", 0),
        ("a.bmp", 1),
        ("b.png", 1),
    ]
    pixels, label = made[1]
    assert (pixels.shape, pixels.dtype, label) == ((3, 4, 6), "uint8", 1)
    assert pixels[:, 0, 0].tolist() == [255, 0, 1]
    assert pixels[:, 1, 1].tolist() == [20, 20, 20]
    (batch,) = data.DataLoader(data.ImageFolder(pictures, size=(2, 5), mode="L"), 3, NdArray.device())
    assert (batch[0].shape, batch[1].to_numpy().tolist()) == ((3, 1, 2, 5), [0, 1, 1])


def test_what_is_no_picture_is_named(pictures: Path, tmp_path: Path) -> None:
    content = (pictures / "dog" / "b.png").read_bytes()
    for broken in (b"", b"GIF89a", content[:30], content[:40]):
        (pictures / "cat" / "b.png").write_bytes(broken)
        with pytest.raises(DataError, match=r"b\.png' is no picture"):
            data.ImageFolder(pictures)[1]
    with pytest.raises(DataError, match="0 folders"):
        data.ImageFolder(pictures / "dog")
    for options in ({"mode": "BGR"}, {"size": (0, 3)}):
        with pytest.raises(ConfigError):
            data.ImageFolder(tmp_path, **options)  # type: ignore[arg-type]
