"""Values between tinyburn and other libraries: DLPack, the array API, and what the page says of PyTorch and JAX.

Those two are not here. tests/golden/neighbours.py has tried them, and neighbours.json is what it found; here NumPy's
column is tried again, and objects that speak a protocol and nothing else stand for the others.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

from tests.golden.neighbours import FOUND, PAGE, came_in, numpy_library, tables, went_out
from tests.support import EVERY_DTYPE, VALUE_BACKENDS, UnderTest, params, plain, tracked
from tests.tensor.test_way_in import ByDlpack
from tinyburn import BackendMismatch, DTypeMismatch, Meta, NdArray, ShapeError, Tensor, TensorData, nn

NUMPY = np.lib.NumpyVersion(np.__version__)
DLPACK_1 = NUMPY >= "2.1.0"
"""Whether NumPy speaks DLPack 1.0, which can say that an array may only be read, and hands out arrays to write to."""

OFF_HOST = [one for one in VALUE_BACKENDS if not one.backend.on_host]


# The page


def test_the_page_shows_what_was_found() -> None:
    """If not: `python -m tests.golden.neighbours --write`, where PyTorch and JAX are."""
    page = PAGE.read_text(encoding="utf-8")
    for table in tables(json.loads(FOUND.read_text(encoding="utf-8"))):
        assert table in page


@pytest.mark.skipif(not DLPACK_1, reason="NumPy 2.1 is the first with DLPack 1.0")
def test_numpys_column_is_what_it_was() -> None:
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    assert came_in(numpy_library()) == found["in"]["NumPy"]
    assert went_out(numpy_library()) == found["out"]["NumPy"]


# In, by DLPack alone

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda a: a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "no elements": lambda a: a[:0],
    "rank 1": lambda a: a[0],
}
if DLPACK_1:
    LAYOUTS["repeated"] = lambda a: np.broadcast_to(a[:1], a.shape)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_every_layout_comes_in(layout: str, dtype: str) -> None:
    theirs = LAYOUTS[layout](np.arange(6).reshape(2, 3).astype(dtype))
    x = Tensor.from_data(ByDlpack(theirs), plain("float32"))
    assert (x.dtype, x.shape, x.to_numpy().tolist()) == (dtype, theirs.shape, theirs.tolist())


def test_rank_0_gets_a_dim_and_rank_7_is_refused() -> None:
    assert Tensor.from_data(ByDlpack(np.array(2.5)), plain()).to_numpy().tolist() == [2.5]
    with pytest.raises(ShapeError, match="rank 7"):
        Tensor.from_data(ByDlpack(np.ones((1,) * 7)), plain())


def test_what_they_write_changes_no_tensor_and_what_we_give_changes_none() -> None:
    """Also if they may only read: whoever owns the memory can write to it."""
    source = np.ones(3)
    view = source[:]
    view.flags.writeable = False
    ways = [np.asarray, TensorData.from_values, *([ByDlpack] if DLPACK_1 else [])]
    tensors = [Tensor.from_data(give(view), plain()) for give in ways]
    source[:] = 99
    for x in tensors:
        taken = np.from_dlpack(x)
        assert taken.flags.writeable == DLPACK_1
        if taken.flags.writeable:
            taken[:] = 99
        assert x.to_numpy().tolist() == [1.0, 1.0, 1.0]


def test_a_device_that_is_not_the_host_is_refused() -> None:
    class OnGpu(ByDlpack):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on cuda:0")

        def __dlpack_device__(self) -> Any:
            return (2, 0)  # DLPack's numbers for the first GPU of NVIDIA's

    with pytest.raises(DTypeMismatch, match=r"(?s)OnGpu does not give its values out.*\.cpu\(\)"):
        Tensor.from_data(OnGpu(np.ones(2)), plain())


# Formats that no tensor has


def by_ml_dtypes(name: str) -> Any:
    return np.array([1, 2, 3]).astype(getattr(pytest.importorskip("ml_dtypes"), name))


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "longdouble"])
def test_numbers_of_another_format_come_in_where_the_dtype_is_named(dtype: str) -> None:
    values = np.array([1, 2, 3], dtype)
    hint = "float64" if dtype == "longdouble" else "int64"
    with pytest.raises(DTypeMismatch, match=f'dtype="{hint}"'):
        Tensor.from_data(values, plain())
    for named in ("int8", "int64", "float16", hint):
        for given in (values, values.astype(values.dtype.newbyteorder(">"))):
            x = Tensor.from_data(given, plain(), dtype=named)
            assert (x.dtype, x.to_numpy().tolist()) == (named, [1, 2, 3])


def test_they_keep_every_whole_number_or_are_refused() -> None:
    with pytest.raises(DTypeMismatch, match="int32 cannot hold every value"):
        Tensor.from_data(np.array([2**31], "uint32"), plain(), dtype="int32")
    with pytest.raises(DTypeMismatch, match="int64 cannot hold every value"):
        Tensor.from_data(np.array([2**63], "uint64"), plain(), dtype="int64")
    rounded = Tensor.from_data(np.array([2**24 + 1], "uint32"), plain(), dtype="float32")
    assert rounded.to_numpy().tolist() == [2**24]  # the tie goes to the even neighbour


@pytest.mark.parametrize(("name", "hint", "too_narrow"), [
    ("bfloat16", "float32", "float16"), ("float8_e4m3fn", "float32", "int64"), ("int4", "int64", "bool"),
])  # fmt: skip
def test_narrow_formats_come_in_where_a_wider_one_is_named(name: str, hint: str, too_narrow: str) -> None:
    values = by_ml_dtypes(name)
    with pytest.raises(DTypeMismatch, match=f'{name}.*\n.*dtype="{hint}"'):
        Tensor.from_data(values, plain())
    assert Tensor.from_data(values, plain(), dtype=hint).to_numpy().tolist() == [1, 2, 3]
    with pytest.raises(DTypeMismatch):
        Tensor.from_data(values, plain(), dtype=too_narrow)


@pytest.mark.parametrize("dtype", ["complex64", "datetime64[s]", "timedelta64[s]", "U3", "object", "V4"])
@pytest.mark.parametrize("named", [None, "int64", "float32"])
def test_what_is_no_number_never_comes_in(dtype: str, named: Any) -> None:
    with pytest.raises(DTypeMismatch, match="convert them to one of float16"):
        Tensor.from_data(np.zeros(2, dtype), plain(), dtype=named)


# Out


def capsule_name(capsule: Any) -> bytes:
    read = ctypes.pythonapi.PyCapsule_GetName
    read.restype, read.argtypes = ctypes.c_char_p, [ctypes.py_object]
    name: bytes = read(capsule)
    return name


def test_a_consumer_gets_the_version_of_dlpack_that_it_asks_for() -> None:
    x = Tensor.ones((2,), plain())
    assert capsule_name(x.__dlpack__()) == b"dltensor"
    if DLPACK_1:
        assert capsule_name(x.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
        assert capsule_name(x.__dlpack__(dl_device=(1, 0), copy=True)) == b"dltensor"


def test_what_the_protocol_cannot_have_is_a_buffer_error() -> None:
    x = Tensor.ones((2,), plain())
    with pytest.raises(BufferError, match="only gives out copies"):
        x.__dlpack__(copy=False)
    if DLPACK_1:
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(2, 0))
        with pytest.raises(BufferError, match="only gives out copies"):
            np.from_dlpack(x, copy=False)


def test_views_and_tracked_tensors_go_out_as_row_major_values() -> None:
    x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], tracked()).require_grad()
    for view in (x, x * 1, x.transpose(), x.flip((0,)), x[:, :1].expand((2, 2))):
        taken = np.from_dlpack(view)
        assert taken.flags.c_contiguous
        assert taken.tolist() == view.to_numpy().tolist()


@pytest.mark.parametrize("under_test", params(OFF_HOST))
def test_nothing_leaves_a_gpu_without_a_word(under_test: UnderTest) -> None:
    """Nor does a tensor there say that it is on the CPU."""
    x = Tensor.ones((2,), under_test.device())
    for call in (x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(BackendMismatch, match=r"into_data\(\) or \.to_numpy\(\)"):
            call()
    with pytest.raises(BackendMismatch, match=r"^conversion to a NumPy array\n"):
        Tensor.from_data([x], plain())
    assert Tensor.from_data(x, plain(str(x.dtype))).to_numpy().tolist() == [1.0, 1.0]


def test_shapes_alone_do_not_go_out() -> None:
    with pytest.raises(BackendMismatch, match="shapes only"):
        np.from_dlpack(Tensor.ones((2,), Meta.device()))


def test_a_parameter_is_no_array_and_says_whose_values_are() -> None:
    """NumPy would make an array of one object."""
    weight = nn.LinearConfig(2, 2).init(NdArray.device()).weight
    for call in (
        lambda: np.asarray(weight),
        lambda: np.from_dlpack(weight),
        lambda: np.ones(2) + weight,
        lambda: Tensor.from_data(weight, plain()),
        lambda: Tensor.from_data([weight, weight], plain()),
        weight.__dlpack__,
    ):
        with pytest.raises(DTypeMismatch, match=r"param\.val\(\)"):
            call()


def test_an_array_of_theirs_in_an_operation_is_named_with_its_library() -> None:
    x = Tensor.ones((2,), plain())
    for call in (lambda: x + np.ones(2), lambda: np.ones(2) + x, lambda: x @ array_api_strict.ones(2)):
        with pytest.raises(DTypeMismatch, match=r"(numpy\.ndarray|array_api_strict\.Array) is.*\n.*from_data"):
            call()


@pytest.mark.skipif(NUMPY < "2.4.0", reason="the protocol is NumPy 2.4's")
@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_numpy_knows_the_dtype(dtype: str) -> None:
    """`jnp.asarray` asks for it so."""
    assert np.result_type(Tensor.ones((2,), plain()).cast(dtype)) == np.dtype(dtype)


# The array API


@pytest.mark.parametrize("dtype", [dtype for dtype in EVERY_DTYPE if dtype != "float16"])
def test_arrays_of_the_standard_go_both_ways(dtype: str) -> None:
    xp = array_api_strict
    theirs = xp.asarray([[0, 1, 1]], dtype=getattr(xp, dtype))
    x = Tensor.from_data(theirs, plain("float32"))
    assert (x.dtype, x.to_numpy().tolist()) == (dtype, [[0, 1, 1]])
    back = xp.from_dlpack(x)
    assert (back.dtype, np.asarray(back).tolist()) == (theirs.dtype, [[0, 1, 1]])


def test_an_array_of_the_standard_on_another_device_is_refused() -> None:
    with pytest.raises(DTypeMismatch, match="device1"):
        Tensor.from_data(array_api_strict.ones(2, device=array_api_strict.Device("device1")), plain())


def test_a_tensor_is_no_array_of_the_standard() -> None:
    assert not hasattr(Tensor.ones((2,), plain()), "__array_namespace__")
