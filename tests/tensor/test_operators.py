"""Operators: with tensors of equal rank or Python numbers; the dtype stays, and nothing is adjusted in silence."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import (
    BASES,
    EVERY_DTYPE,
    VALUE_BACKENDS,
    UnderTest,
    assert_close,
    const,
    ints,
    mask,
    params,
    params_with_dtype,
    plain,
    tracked,
)
from tinyburn import Device, DTypeMismatch, ShapeError, Tensor

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": operator.pow,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
A, B = np.array([[1.0, 2.0], [0.5, 4.0]]), np.array([[3.0, 2.0], [0.25, -1.0]])


@pytest.mark.parametrize("symbol", [*ARITHMETIC, *COMPARISONS])
def test_operators_are_numpys(symbol: str, device: Device[Any]) -> None:
    apply = {**ARITHMETIC, **COMPARISONS}[symbol]
    x, y = const(A, device), const(B, device)
    assert_close(apply(x, y).to_numpy(), apply(A, B))
    assert_close(apply(x, 2.0).to_numpy(), apply(A, 2.0))
    assert_close(apply(2.0, x).to_numpy(), apply(2.0, A))
    assert apply(x, y).dtype == ("bool" if symbol in COMPARISONS else device.float_dtype)


def test_the_matrix_product(device: Device[Any]) -> None:
    assert_close((const(A, device) @ const(B, device)).to_numpy(), A @ B)
    assert_close((-const(A, device)).to_numpy(), -A)
    assert_close(abs(const(B, device)).to_numpy(), abs(B))


@pytest.mark.parametrize(
    ("under_test", "dtype"), params_with_dtype("float16", "float32", "float64", "int8", "int32", "int64", "uint8")
)
@pytest.mark.parametrize("symbol", ["+", "-", "*", "%"])
def test_a_number_never_changes_the_dtype(under_test: UnderTest, dtype: str, symbol: str) -> None:
    x = Tensor.full((2,), 3, under_test.device(), dtype)
    for number in (2, np.int64(2), True + 1):
        assert ARITHMETIC[symbol](x, number).dtype == dtype
        assert ARITHMETIC[symbol](number, x).dtype == dtype


def test_kinds_of_numbers() -> None:
    x: Any = const([4.0], plain())
    for number in (2, 2.0, np.float32(2), np.int8(2), np.float64(2), Fraction(2)):
        assert (x * number).to_numpy().tolist() == [8.0]
        assert (number * x).to_numpy().tolist() == [8.0]


@pytest.mark.parametrize("wrong", [None, "2", [1.0, 2.0], 1j, np.array([1.0, 2.0]), {}, True], ids=repr)
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "<", "=="])
def test_what_is_neither_tensor_nor_number_is_refused(wrong: Any, symbol: str) -> None:
    """A NumPy array too: it would have to be copied to the device, and nothing is copied silently."""
    apply = {**ARITHMETIC, **COMPARISONS}[symbol]
    x = const([1.0, 2.0], plain())
    with pytest.raises(TypeError):
        apply(x, wrong)
    with pytest.raises(TypeError):
        apply(wrong, x)


NEVER_TOGETHER = [("float32", "float64"), ("float32", "int64"), ("int64", "bool"), ("int8", "int64")]
NEVER_TOGETHER += [("float32", "int32"), ("int32", "bool")]


@pytest.mark.parametrize(
    ("under_test", "left", "right"),
    [
        pytest.param(*on.values, *pair, id="-".join([str(on.id), *pair]), marks=on.marks)
        for on in params(VALUE_BACKENDS)
        for pair in NEVER_TOGETHER
        if on.values[0].has(*pair)
    ],
)
def test_dtypes_are_never_promoted(under_test: UnderTest, left: str, right: str) -> None:
    device = under_test.device()
    x, y = Tensor.ones((2,), device, left), Tensor.ones((2,), device, right)
    with pytest.raises(DTypeMismatch) as caught:
        x + y
    text = str(caught.value)
    assert left in text
    assert right in text
    assert ".cast(" in text
    assert isinstance(caught.value, TypeError)


NO_INT: dict[str, Callable[[Any], Any]] = {
    "div": lambda x: x / 2,
    "div by a tensor": lambda x: x / x,
    "number over": lambda x: 2 / x,
    "recip": lambda x: x.recip(),
    "mean": lambda x: x.mean(),
    "mean_dim": lambda x: x.mean_dim(0),
    "std": lambda x: x.std(0),
    "norm": lambda x: x.norm(),
    "negative power": lambda x: x**-1,
    "half": lambda x: x * 0.5,
    "compare with a half": lambda x: x > 0.5,
    "clamp to a half": lambda x: x.clamp(0.5, 1),
    "fill with a half": lambda x: x.mask_fill(x > 0, 0.5),
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "floor": lambda x: x.floor(),
}


@pytest.mark.parametrize("name", NO_INT)
def test_whole_numbers_refuse_what_needs_real_ones(name: str) -> None:
    with pytest.raises(DTypeMismatch, match="float"):
        NO_INT[name](ints([1, 2], plain()))


NO_BOOL: dict[str, Callable[[Any], Any]] = {
    "add": lambda m: m + m,
    "add a number": lambda m: m + 1,
    "mul": lambda m: m * m,
    "less": lambda m: m < m,
    "neg": lambda m: -m,
    "abs": lambda m: abs(m),
    "sum": lambda m: m.sum(),
    "max": lambda m: m.max(),
    "argmax": lambda m: m.argmax(0),
    "prod": lambda m: m.prod(),
    "clamp": lambda m: m.clamp(0, 1),
    "exp": lambda m: m.exp(),
    "matmul": lambda m: m.unsqueeze() @ m.unsqueeze(),
    "fill with a number": lambda m: m.mask_fill(m, 2.5),
    "equal a number": lambda m: m == 2,
}


@pytest.mark.parametrize("name", NO_BOOL)
def test_truth_values_refuse_arithmetic(name: str) -> None:
    with pytest.raises(DTypeMismatch):
        NO_BOOL[name](mask([True, False], plain()))


def test_what_truth_values_can_do(device: Device[Any]) -> None:
    m, n = mask([True, False], device), mask([True, True], device)
    assert (m == n).to_numpy().tolist() == [True, False]
    assert (m != n).to_numpy().tolist() == [False, True]
    assert m.bool_not().to_numpy().tolist() == [False, True]
    assert m.mask_fill(n, False).to_numpy().tolist() == [False, False]
    assert m.mask_where(n, n).to_numpy().tolist() == [True, True]
    assert (m.any().into_scalar(), m.all().into_scalar()) == (True, False)
    assert m.int().to_numpy().tolist() == [1, 0]
    assert m.float().dtype == device.float_dtype
    with pytest.raises(DTypeMismatch):
        const([1.0], device).bool_not()
    nothing = mask([], device)
    assert (nothing.any().into_scalar(), nothing.all().into_scalar()) == (False, True)


MASKS: dict[str, Any] = {
    "and": (lambda a, b: a & b, np.logical_and),
    "or": (lambda a, b: a | b, np.logical_or),
    "xor": (lambda a, b: a ^ b, np.logical_xor),
    "bool_and": (lambda a, b: a.bool_and(b), np.logical_and),
    "bool_or": (lambda a, b: a.bool_or(b), np.logical_or),
    "bool_xor": (lambda a, b: a.bool_xor(b), np.logical_xor),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_combine_as_numpys_do(name: str, device: Device[Any]) -> None:
    ours, numpys = MASKS[name]
    a, b = np.array([[True, True, False, False]]), np.array([[True, False, True, False], [False] * 4])
    assert_close(ours(mask(a, device), mask(b, device)).to_numpy(), numpys(a, b))
    for truth in (True, False):
        assert_close(ours(mask(b, device), truth).to_numpy(), numpys(b, truth))
    if not name.startswith("bool"):
        assert_close(ours(True, mask(b, device)).to_numpy(), numpys(True, b))


@pytest.mark.parametrize("name", MASKS)
def test_only_masks_combine(name: str) -> None:
    """NumPy's ``&`` of ints works on their bits, and PyTorch's too: here it is refused, not guessed."""
    ours, m, n = MASKS[name][0], mask([True, False], plain()), ints([1, 2], plain())
    for left, right in ((m, n), (n, m), (n, n), (n, 1), (m, 1), (m, 0.5), (m, "a")):
        with pytest.raises(DTypeMismatch):
            ours(left, right)


@pytest.mark.parametrize("values", [[-2.0, -1.0, 0.5, 1.0, 2.0, np.inf, -np.inf], [-3, -1, 0, 1, 3]])
def test_one_sided_clamps_are_numpys(values: Any, device: Device[Any]) -> None:
    """``np.maximum`` and ``np.minimum``, as PyTorch's ``clamp_min`` and ``clamp_max``; the dtype stays."""
    x = const(values, device) if isinstance(values[0], float) else ints(values, device)
    assert_close(x.clamp_min(-1).to_numpy(), np.maximum(values, -1))
    assert_close(x.clamp_max(1).to_numpy(), np.minimum(values, 1))
    assert x.clamp_min(-1).dtype == x.clamp_max(1).dtype == x.dtype


def test_a_mask_must_be_one() -> None:
    x = const([1.0, 2.0], plain())
    for wrong in (x, ints([1, 0], plain())):
        with pytest.raises(DTypeMismatch, match="bool"):
            x.mask_where(wrong, x)
        with pytest.raises(DTypeMismatch, match="bool"):
            x.mask_fill(wrong, 0.0)


@pytest.mark.parametrize("shapes", [((1,), (3,), (2,)), ((2, 1), (1, 3), (2, 2)), ((1, 1), (2, 1), (3, 1))])
def test_a_mask_and_a_value_that_do_not_fit_each_other(shapes: Any, any_device: Device[Any]) -> None:
    x, where, value = (Tensor.ones(shape, any_device) for shape in shapes)
    with pytest.raises(ShapeError, match="mask_where"):
        x.mask_where(where.bool(), value)


@pytest.mark.parametrize(("dtype", "number"), [("int8", 300), ("uint8", -1), ("int64", 2**70), ("int32", -(2**40))])
def test_a_whole_number_beyond_the_dtype_is_refused(dtype: str, number: int) -> None:
    x = Tensor.ones((2,), plain(), dtype)
    for call in (lambda: x + number, lambda: number * x, lambda: x.mask_fill(x > 0, number), lambda: x == number):
        with pytest.raises(DTypeMismatch, match=dtype):
            call()


def test_a_float_beyond_the_dtype_is_infinity() -> None:
    x = Tensor.ones((1,), plain(), "float16")
    assert (x * 1e6).to_numpy().tolist() == [np.inf]
    assert x.mask_fill(x > 0, 1e6).to_numpy().tolist() == [np.inf]


@pytest.mark.parametrize(("under_test", "target"), params_with_dtype(*EVERY_DTYPE))
def test_casts_cut_towards_zero(under_test: UnderTest, target: str) -> None:
    values = np.array([0.0, 1.75, 2.5] if target == "uint8" else [0.0, 1.75, 2.5, -1.75])
    found = const(values, under_test.device()).cast(target)
    assert found.dtype == target
    assert_close(found.to_numpy(), values.astype(target))


def test_casts_between_kinds() -> None:
    device = tracked("float32")
    x = Tensor.from_data([-1.7, 0.0, 2.5], device)
    assert x.int().to_numpy().tolist() == [-1, 0, 2]
    assert x.bool().to_numpy().tolist() == [True, False, True]
    assert x.cast("float64").float().dtype == "float64"
    assert ints([1], device).float().dtype == "float32"
    assert Tensor.ones((1,), device, "int8").int().dtype == "int8"
    with pytest.raises(DTypeMismatch, match="use one of"):
        x.cast("float128")


# Broadcasting


@st.composite
def equal_ranks(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = draw(st.integers(1, 4))
    sizes = st.lists(st.integers(0, 3), min_size=rank, max_size=rank)
    return tuple(draw(sizes)), tuple(draw(sizes))


@pytest.mark.parametrize("base", params(BASES))
@given(shapes=equal_ranks(), symbol=st.sampled_from(["+", "-", "*", "<", "=="]))
def test_broadcasting_is_numpys_for_equal_ranks(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], symbol: str, base: UnderTest
) -> None:
    """It works where NumPy's does, with its values; where NumPy refuses, so does tinyburn, naming each dim."""
    apply = {**ARITHMETIC, **COMPARISONS}[symbol]
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-3, 4, shape).astype(float) for shape in shapes)
    x, y = const(a, base.device()), const(b, base.device())
    try:
        expected = apply(a, b)
    except ValueError:
        with pytest.raises(ShapeError) as caught:
            apply(x, y)
        bad = [dim for dim, (m, n) in enumerate(zip(*shapes, strict=True)) if m != n and m != 1 and n != 1]
        assert all(f"dim {dim} is" in str(caught.value) for dim in bad)
    else:
        assert_close(apply(x, y).to_numpy(), expected)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_different_ranks_never_meet(left: list[int], right: list[int]) -> None:
    x, y = const(np.ones(left), plain()), const(np.ones(right), plain())
    if len(left) == len(right):
        return
    with pytest.raises(ShapeError, match=f"the ranks differ: {len(left)} and {len(right)}") as caught:
        x + y
    short, long = sorted((tuple(left), tuple(right)), key=len)
    padded = (1,) * (len(long) - len(short)) + short
    fits = all(m in (1, n) or n == 1 for m, n in zip(padded, long, strict=True))
    assert (f"gives it shape {padded}" in str(caught.value)) is fits
    if fits:
        lifted = (x if len(left) < len(right) else y).unsqueeze(len(long))
        assert (lifted + (y if len(left) < len(right) else x)).rank == len(long)
