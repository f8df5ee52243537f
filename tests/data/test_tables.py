"""Tables, CSV and Parquet: streamed, shuffled, converted, and the errors of files that are not what they should be."""

from __future__ import annotations

import csv
import io
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyburn import ConfigError, DataError, NdArray, data

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pc = pytest.importorskip("pyarrow.csv")

ROWS = 100_000
DEVICE = NdArray.device()
IN_A_FOLDER = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def table(rows: int) -> Any:
    numbers = np.arange(rows)
    values = np.random.default_rng(0).standard_normal(rows)
    return pa.table({"x": values, "number": numbers, "name": [f"n{n % 7}" for n in numbers], "even": numbers % 2 == 0})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    made = table(ROWS)
    pc.write_csv(made, folder / "rows.csv")
    pq.write_table(made, folder / "rows.parquet", row_group_size=9_000)
    return {"Csv": folder / "rows.csv", "Parquet": folder / "rows.parquet"}


@pytest.mark.parametrize("kind", ["Csv", "Parquet"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_hundred_thousand_rows_are_streamed(files: dict[str, Path], kind: str, shuffle: bool) -> None:
    made = getattr(data, kind)(files[kind], types={"number": "int32"})
    assert len(made) == ROWS
    assert made.block_of(np.array([0, ROWS - 1]))[1] >= 3
    batches = [*data.DataLoader(made, 700, DEVICE, shuffle=shuffle)]
    numbers = np.concatenate([batch["number"].to_numpy() for batch in batches])
    values = np.concatenate([batch["x"].to_numpy() for batch in batches])
    assert (np.sort(numbers) == np.arange(ROWS)).all()
    assert (numbers == np.arange(ROWS)).all() == (not shuffle)
    np.testing.assert_array_equal(values, table(ROWS)["x"].to_numpy()[numbers])
    first = batches[0]
    assert (first["number"].dtype, first["x"].dtype, first["even"].dtype) == ("int32", "float64", "bool")
    assert first["name"].tolist() == [f"n{number % 7}" for number in numbers[:700].tolist()]
    assert len(made._held) <= 4


@pytest.mark.parametrize("kind", ["Csv", "Parquet"])
def test_a_shuffled_file_reads_each_block_once(files: dict[str, Path], kind: str) -> None:
    made = getattr(data, kind)(files[kind], columns=["number"])
    read: list[int] = []
    reader = made._read
    made._read = lambda block: (read.append(block), reader(block))[1]
    first, last = made.filter(lambda row: True).shuffle(1).split(0.5, 0.5)
    read.clear()
    made._held.clear()
    for half in (first, last):
        for _ in data.DataLoader(half, 512, DEVICE):
            pass
    assert sorted({*read}) == [*range(int(made.block_of(np.array([ROWS - 1]))[0]) + 1)]
    assert len(read) == len({*read})


@pytest.mark.parametrize("kind", ["Csv", "Parquet"])
def test_items_by_number_and_in_another_process(files: dict[str, Path], kind: str) -> None:
    made = getattr(data, kind)(files[kind], columns=["even", "number"])
    for dataset in (made, pickle.loads(pickle.dumps(made))):
        assert dataset[-1] == {"even": False, "number": ROWS - 1}
        picked = dataset.subset([5, 99_000, 3]).map(lambda row: int(row["number"]))
        assert [*picked] == [5, 99_000, 3]
    with pytest.raises(IndexError):
        made[ROWS]


def test_tables_of_every_library_are_the_same_rows() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = table(50)
    columns = {name: made[name].to_numpy() for name in made.column_names}
    frame = pandas.DataFrame(columns)
    rows = [*data.Table(made)]
    for other in (columns, frame, frame.iloc[::-1].iloc[::-1], polars.DataFrame(made)):
        assert [*data.Table(other)] == rows
    (batch,) = data.DataLoader(data.Table(frame, columns=["x"], types={"x": "float32"}), 50, DEVICE)
    assert (batch["x"].dtype, [*batch]) == ("float32", ["x"])


def test_lists_of_one_length_and_categories() -> None:
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    words = pa.array(["b", "a"]).dictionary_encode()
    made = data.Table(pa.table({"v": vectors, "word": words}))
    np.testing.assert_array_equal(made.stacked(np.array([1, 0]))["v"], [[3, 4], [1, 2]])
    assert made[0]["word"] == "b"


@pytest.mark.parametrize(
    ("columns", "options", "reason"),
    [
        ({"a": [1, None]}, {}, "column 'a' has nothing in row 1"),
        ({"a": [[1], [2, 3]]}, {}, "holds list<"),
        ({"a": [1, 300]}, {"types": {"a": "uint8"}}, "column 'a' cannot be uint8"),
        ({"a": ["1", "x"]}, {"types": {"a": "float32"}}, "column 'a' cannot be float32"),
        ({"a": [1]}, {"columns": ["b"]}, "there is no column 'b'"),
        ({"a": [1]}, {"columns": []}, "no column is asked for"),
        ({"a": [1]}, {"fill": {"c": 0}}, "there is no column 'c'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(columns: Any, options: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        data.Table(pa.table(columns), **options)


def test_what_is_no_table_is_refused_and_what_is_missing_is_filled() -> None:
    with pytest.raises(ConfigError, match="C stream"):
        data.Table([1, 2])
    with pytest.raises(ConfigError, match="'a' is 'number'"):
        data.Table({"a": [1]}, types={"a": "number"})
    with pytest.raises(ConfigError, match="different lengths"):
        data.Table({"a": [1], "b": [1, 2]})
    assert [*data.Table(pa.table({"a": [1, None]}), fill={"a": -1})] == [{"a": 1}, {"a": -1}]


# CSV


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "some.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


CELLS = st.text(st.sampled_from('ab,"\n\r é'), max_size=6).filter(lambda cell: "\r" not in cell)


@IN_A_FOLDER
@given(
    rows=st.lists(st.tuples(CELLS, st.integers(-9, 9)), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    cut=st.booleans(),
)
def test_what_the_csv_module_writes_is_read_back(tmp_path: Path, rows: Any, end: str, cut: bool) -> None:
    """Quotes, commas and ends of lines inside quotes, lines that are empty, and blocks of some bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["word", "n"])
    for row in rows:
        writer.writerow(row)
        text.write(end if row[1] > 5 else "")
    content = text.getvalue().removesuffix(end) if cut and rows else text.getvalue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinyburn.data.text_blocks.PIECE", 7)
        made = data.Csv(written(tmp_path, content), types={"word": "text", "n": "int16"})
        assert [(row["word"], int(row["n"])) for row in made] == rows


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "first line has no names"),
        ("\n1,2\n", "first line has no names"),
        ("x,x\n1,2\n", "2 columns 'x'"),
        ("a,b\n1,2\n", "no column 'x'"),
        ("x,y\n1,2\n\n3\n", "line 4: it has 1 values, and there are 2 columns"),
        ("x,y\n1,2\n3,4,5\n", "line 3: it has 3 values"),
        ("x,y\n1,2\n,4\n", "line 3: column 'x' has nothing"),
        ("x,y\n1,2\nabc,4\n", "line 3: column 'x' has 'abc', which is no float"),
        ('x,y\n"1\n",2\nabc,4\n', "line 2: column 'x' has '1\\\\n'"),
        ('x,y\n1,"2\n\n\n3,4\n', "line 2"),
        (b"x,y\n1,ok\n2,\xff\xfe\n", "line 3: column 'y'"),
        ("x,y\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"x,y\n1,2\n\x00,4\n", "line 3: column 'x' has"),
        ('x,"y\n1,2\n', "line 1"),
        ("x,y\n1,2\r3,4\n", "line 2"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, content: str | bytes, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        list(data.Csv(written(tmp_path, content), types={"x": "float32"}))


def test_a_guess_from_the_first_block_that_a_later_one_breaks_is_named(tmp_path: Path) -> None:
    lines = "".join(f"{n},{n}\n" for n in range(200_000))
    path = written(tmp_path, f"x,y\n{lines}1.5,3\n")
    with pytest.raises(DataError, match=r"line 200002: column 'x' has '1.5', which is no int64"):
        data.Csv(path)[200_000]
    assert data.Csv(path, types={"x": "float64"})[200_000]["x"] == 1.5


def test_details_of_csv(tmp_path: Path) -> None:
    made = data.Csv(
        written(tmp_path, b"\xef\xbb\xbfx;y\r\nNA;a\r\nnan;NA\r\n"),
        delimiter=";",
        fill={"x": 0.5},
        types={"x": "float64"},
    )
    assert made[0] == {"x": 0.5, "y": "a"}
    assert np.isnan(made[1]["x"])
    assert made[1]["y"] == "NA"
    assert len(data.Csv(written(tmp_path, "x,y\n"))) == 0
    assert [*data.Csv(written(tmp_path, "x,y\n1,a"), columns=["y"])] == [{"y": "a"}]
    path = written(tmp_path, "x\n1\n")
    made = data.Csv(path)
    path.write_text("x\n1\n2\n", encoding="utf-8")
    with pytest.raises(DataError, match="the file was changed"):
        made[0]
    with pytest.raises(ConfigError, match="delimiter"):
        data.Csv(path, delimiter=";;")
    with pytest.raises(FileNotFoundError):
        data.Csv(tmp_path / "none.csv")


def mutated(content: bytes, draw: random.Random) -> bytes:
    """A file after an accident: bytes changed, left out, doubled, or cut off."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(changed))
        match draw.randrange(4):
            case 0:
                changed[place] = draw.randrange(256)
            case 1:
                del changed[place : place + draw.randint(1, 9)]
            case 2:
                changed[place:place] = changed[place : place + draw.randint(1, 9)]
            case _ if place > 4:
                del changed[place:]
    return bytes(changed)


@pytest.mark.parametrize("kind", ["Csv", "Parquet"])
def test_a_file_after_an_accident_is_read_or_refused_with_a_reason(tmp_path: Path, kind: str) -> None:
    draw, made, path = random.Random(0), table(60), tmp_path / "file"
    if kind == "Csv":
        pc.write_csv(made, path)
    else:
        pq.write_table(made, path, row_group_size=20)
    content = path.read_bytes()
    reasons = []
    for _ in range(2000):
        path.write_bytes(mutated(content, draw))
        try:
            for row in getattr(data, kind)(path):
                assert len(row) == 4
        except DataError as error:
            reasons.append(str(error))
    assert len(reasons) > 500
    assert all(" because " in reason for reason in reasons)


def test_with_checksums_a_damaged_parquet_file_never_gives_other_values(tmp_path: Path) -> None:
    """They are over the pages. A letter in the name of a column is in none, so names may differ."""
    draw, path = random.Random(1), tmp_path / "file"
    pq.write_table(table(60), path, row_group_size=20, write_page_checksum=True)
    content, wanted = path.read_bytes(), [[*row.values()] for row in data.Parquet(path)]
    refused = 0
    for _ in range(2000):
        path.write_bytes(mutated(content, draw))
        try:
            assert [[*row.values()] for row in data.Parquet(path)] == wanted
        except DataError:
            refused += 1
    assert 1900 < refused < 2000


MEMORY = """
import re, sys
import pyarrow.csv, pyarrow.parquet
from tinyburn import NdArray, data
kind, path = sys.argv[1:]
def most():  # what the process had at most; Linux alone says it of a process that a large one has started
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
before = most()
batches = data.DataLoader(getattr(data, kind)(path), 1024, NdArray.device())
print(sum(len(batch["number"].to_numpy()) for batch in batches), most() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
@pytest.mark.parametrize("kind", ["Csv", "Parquet"])
def test_a_million_rows_need_less_than_200_mb(kind: str, tmp_path: Path) -> None:
    """As dicts in memory, all at once, they would be over 1 GB."""
    path, made = tmp_path / "rows", table(1_000_000)
    pc.write_csv(made, path) if kind == "Csv" else pq.write_table(made, path)
    command = [sys.executable, "-c", MEMORY, kind, str(path)]
    rows, more = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert (int(rows), int(more) < 200e6) == (1_000_000, True)
