"""Einstein's notation and the products of vectors, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import AnyTensor, UnderTest, assert_close, const, ints, plain
from tinyburn import BackendMismatch, DeviceMismatch, DTypeMismatch, Meta, NdArray, ShapeError, Tensor, Traced
from tinyburn.backend import Kind

SIZES = {"a": 2, "b": 3, "c": 1, "d": 4}


@st.composite
def equations(draw: Any) -> str:
    """Up to three operands of up to three letters, each of which may come more than once, and a result of some."""
    letters = st.text("abcd", min_size=1, max_size=3)
    inputs = draw(st.lists(letters, min_size=1, max_size=3))
    seen = sorted(set("".join(inputs)))
    output = draw(st.lists(st.sampled_from(seen), unique=True, max_size=len(seen)))
    return f"{','.join(inputs)}->{''.join(output)}"


@given(equation=equations())
def test_any_equation_is_numpys(equation: str) -> None:
    inputs = equation.partition("->")[0].split(",")
    arrays = [np.cos(1.3 * np.arange(np.prod([SIZES[c] for c in one])) + at) for at, one in enumerate(inputs)]
    arrays = [array.reshape([SIZES[c] for c in one]) for array, one in zip(arrays, inputs, strict=True)]
    found = Tensor.einsum(equation, *[const(array, plain()) for array in arrays])
    assert_close(found.to_numpy(), np.atleast_1d(np.einsum(equation, *arrays)))
    on_meta = [Tensor.zeros(array.shape, Meta.device()) for array in arrays]
    assert Tensor.einsum(equation, *on_meta).shape == found.shape


@pytest.mark.parametrize(
    ("equation", "ranks"),
    [
        ("...ij,...jk->...ik", (4, 4)),
        ("...ij,...jk->...ik", (2, 2)),
        ("i...->...i", (3,)),
        ("...ii->...i", (3,)),
        ("...i,i->...", (3, 1)),
        ("a...,...b", (3, 3)),
        ("...ij->i", (3,)),
        ("...ij->...", (2,)),
    ],
)
def test_three_dots_are_numpys(equation: str, ranks: tuple[int, ...]) -> None:
    arrays = [np.sin(np.arange(3.0**rank) + at).reshape((3,) * rank) for at, rank in enumerate(ranks)]
    expected = np.einsum(equation, *arrays) if "->i" not in equation else np.einsum("bij->i", *arrays)
    assert_close(Tensor.einsum(equation, *[const(one, plain()) for one in arrays]).to_numpy(), np.atleast_1d(expected))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,jk", "ij,kj->ki", "bij,bjk->bik"])
def test_a_pair_is_one_matmul(equation: str) -> None:
    """It makes no other buffer, but for a reshape that a permute forces."""
    device: Any = Traced[NdArray].device()
    rank = len(equation.split(",", maxsplit=1)[0])
    x = Tensor.ones((3,) * rank, device)
    before = len(device.log.events)
    _ = Tensor.einsum(equation, x, x)
    ops = [device.log.names[event[1]] for event in device.log.events[before:] if event[0] == Kind.OP]
    assert ops.count("matmul") == 1
    assert len([event for event in device.log.events[before:] if event[0] == Kind.ALLOC]) == 1


def test_the_cheapest_pair_comes_first() -> None:
    """A matrix by a matrix by a vector: from the right, or the product of the matrices would cost a thousand times."""
    device: Any = Traced[NdArray].device()
    a, x = Tensor.ones((40, 40), device), Tensor.ones((40,), device)
    before = len(device.log.events)
    found = Tensor.einsum("ij,jk,k->i", a, a, x)
    assert found.to_numpy().tolist() == [1600.0] * 40
    assert max(event[2] for event in device.log.events[before:] if event[0] == Kind.ALLOC) == 40 * 4


def test_whole_numbers_keep_their_format(base: UnderTest) -> None:
    device = base.device()
    x = ints([[1, 2], [3, 4]], device)
    for equation, expected in (("ij,jk->ik", [[7, 10], [15, 22]]), ("ii->i", [1, 4]), ("ij->", [10])):
        found = Tensor.einsum(equation, *[x] * (1 + equation.count(",")))
        assert (found.dtype, found.to_numpy().tolist()) == (device.int_dtype, expected)
    small = Tensor.from_data([[1, 2], [3, 4]], plain(), dtype="int8")
    assert Tensor.einsum("ij,jk->k", small, small).dtype == "int8"


def test_two_vectors(base: UnderTest) -> None:
    device = base.device()
    x, y = [1.0, -2.0, 3.0], [0.5, 4.0, -1.0]
    assert_close(const(x, device).dot(const(y, device)).to_numpy(), [np.dot(x, y)])
    assert_close(const(x, device).cross(const(y, device), -1).to_numpy(), np.cross(x, y))
    assert const(np.zeros(0), device).dot(const(np.zeros(0), device)).to_numpy().tolist() == [0]
    assert ints([1, 2], device).dot(ints([3, 4], device)).to_numpy().tolist() == [11]


def test_cross_broadcasts_in_the_other_dims() -> None:
    a, b = np.cos(np.arange(6.0)).reshape(2, 3), np.sin(np.arange(3.0)).reshape(1, 3)
    assert_close(const(a, plain()).cross(const(b, plain()), 1).to_numpy(), np.cross(a, b))


def test_the_index_of_each_element(base: UnderTest) -> None:
    found = Tensor.cartesian_grid((2, 3), base.device())
    assert (found.to_numpy() == np.moveaxis(np.indices((2, 3)), 0, -1)).all()
    assert Tensor.cartesian_grid((0, 3), base.device()).shape == (0, 3, 2)
    assert Tensor.cartesian_grid((2,), base.device()).to_numpy().tolist() == [[0], [1]]


X = np.ones((2, 3))
WRONG: dict[str, tuple[Callable[[AnyTensor], Any], str]] = {
    "too few operands": (lambda x: Tensor.einsum("ij,jk->ik", x), "letters for 2 operands, and 1 are given"),
    "another rank": (lambda x: Tensor.einsum("ijk->i", x), "operand 0 has rank 2, and 3 letters"),
    "another size": (lambda x: Tensor.einsum("ij,jk->ik", x, x), "j is 3 in one place and 2 in another"),
    "a letter from nowhere": (lambda x: Tensor.einsum("ij->ik", x), "the result has k"),
    "a letter twice in the result": (lambda x: Tensor.einsum("ij->ii", x), "twice in the result"),
    "more letters than dims": (lambda x: Tensor.einsum("...ijk->i", x), "operand 0 has rank 2, and 3 letters: ijk"),
    "two dots": (lambda x: Tensor.einsum("..j->j", x), "is not a letter"),
    "two ellipses": (lambda x: Tensor.einsum("...j...->j", x), "is not a letter"),
    "ellipses of two ranks": (
        lambda x: Tensor.einsum("...i,...i->...", x.flatten()[:3], x),
        "three dots are 0 dims in one operand and 1 in another",
    ),
    "no text": (lambda x: Tensor.einsum(x, x), "not text"),  # type: ignore[arg-type]
    "too high a rank": (
        lambda x: Tensor.einsum("ab,cd,ef,gh->abcdefgh", x, x, x, x),
        "the result would have rank 8",
    ),
    "dot of matrices": (lambda x: x.dot(x), "write x @ w"),
    "dot of two sizes": (lambda x: x.flatten().dot(x.flatten()[:2]), "of one size"),
    "cross of another size": (lambda x: x.cross(x, 0), "dim 0 must have size 3"),
    "a grid of too many dims": (lambda x: Tensor.cartesian_grid((1,) * 6, x.device), "rank 7"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ShapeError, match=words):
        call(const(X, plain()))


def test_every_reason_at_once() -> None:
    with pytest.raises(ShapeError) as caught:
        Tensor.einsum("ijk,jl->iz", const(X, plain()), const(X, plain()))
    assert str(caught.value).count("because") == 2


def test_operands_that_cannot_meet() -> None:
    x = const(X, plain())
    with pytest.raises(DTypeMismatch, match="dtypes differ"):
        Tensor.einsum("ij,ij->i", x, x.int())
    with pytest.raises(BackendMismatch, match="backends differ"):
        Tensor.einsum("ij,ij->i", x, Tensor.ones((2, 3), Meta.device()))
    first, second = Traced[NdArray].device(), Traced[NdArray].device()
    with pytest.raises(DeviceMismatch):
        Tensor.einsum("ij,ij->i", Tensor.ones((2, 3), first), Tensor.ones((2, 3), second))
