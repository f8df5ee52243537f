"""What a token looks at: shares by hand, and what is no row of shares is told apart."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.examples import columns, texts
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tinyburn import BackendMismatch, ConfigError, Distribution, Meta, NdArray, Tensor, activation
from tinyburn.viz import attention
from tinyburn.viz.attention import MOST_TOKENS, share_text

DEVICE = NdArray.device()
HAND = [[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.9, 0.1]], [[0.0, 1.0, 0.0], [0.2, 0.2, 0.6], [0.25, 0.25, 0.5]]]


def hand() -> Tensor[Any, Any]:
    """Two heads of three tokens."""
    return Tensor.from_data(HAND, DEVICE)


@pytest.mark.parametrize(
    ("head", "position", "title"),
    [
        (0, 0, "Head 0: position 0, 'a', looks most at 0, 'a': 1.000; 1 of 3 have 0.9 together"),
        (0, 1, "Head 0: position 1, ' ', looks most at 0, 'a': 0.500; 2 of 3 have 0.9 together"),
        (1, 1, "Head 1: position 1, ' ', looks most at 2, '\\n': 0.600; 3 of 3 have 0.9 together"),
    ],
)
def test_titles(head: int, position: int, title: str) -> None:
    assert attention(hand(), "a \n", head=head, position=position).title == title


def test_text_and_cells_by_hand() -> None:
    picture = attention(hand(), ["one", " ", "longer token"], head=0, position=2)
    assert picture.text.splitlines() == [
        "position  token           share",
        "       0  'one'               0",
        "       1  ' '             0.900",
        "       2  'longer token'  0.100  asks",
    ]
    words = texts(picture)
    first = words.index("0")
    assert words[first : first + 9] == ["0", "one", "0", "1", "\N{OPEN BOX}", "0.900", "2 Q", "longe…", "0.100"]
    assert "a space" in words
    assert_readable(picture)


def test_another_text_can_look() -> None:
    """Then no token of the text is the one that looks."""
    rows = Tensor.from_data([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]], DEVICE)
    picture = attention(rows, ["le", "chat"], queries=["the", "black", "cat"], position=2)
    assert picture.title == "Position 2, 'cat', looks most at 0, 'le': 0.500; 2 of 2 have 0.9 together"
    assert columns(picture, "token", "share") == [("'le'", "0.500"), ("'chat'", "0.500")]
    assert "asks" not in picture.text
    assert "Q: the token that looks" not in texts(picture)


def test_one_text_of_a_batch_is_as_good_as_its_heads() -> None:
    assert attention(hand().unsqueeze_dim(0), "abc", head=1) == attention(hand(), "abc", head=1)
    assert attention(hand()[1:], "abc").title.startswith("Position 0, 'a'")


@pytest.mark.parametrize(("share", "words"), [(0.0, "0"), (1.0, "1.000"), (0.0004, "<0.001"), (0.0005, "0.001")])
def test_a_small_share_is_not_0(share: float, words: str) -> None:
    assert share_text(share) == words


@given(st.integers(1, MOST_TOKENS), st.integers(0, 3), st.data())
def test_words_do_not_meet_and_the_shares_are_those_of_softmax(count: int, seed: int, data: Any) -> None:
    DEVICE.seed(seed)
    position = data.draw(st.integers(0, count - 1))
    scores: Tensor[Any, Any] = Tensor.random((count, count), Distribution.Normal(0.0, 3.0), DEVICE)
    picture = attention(activation.softmax(scores, 1), ["word\n\t "] * count, position=position)
    assert_readable(picture)
    assert len(picture.html) < 100_000
    row = [math.exp(score) for score in scores.to_numpy()[position].tolist()]
    found = [share for (share,) in columns(picture, "share")]
    assert all(
        abs((0 if share[0] == "<" else float(share)) - each / sum(row)) < 0.0011
        for share, each in zip(found, row, strict=True)
    )


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: attention([[1.0]], "a"), "list is no tensor"),  # type: ignore[arg-type]
        (lambda: attention(hand(), "abcd"), "there are shares for 3 keys, and 4 tokens"),
        (lambda: attention(hand(), "abc", queries="ab"), "there are 3 rows of shares, and 2 queries"),
        (lambda: attention(hand()[:, :2], "abc"), "there are 2 rows of shares, and 3 tokens look"),
        (lambda: attention(hand() * 2.0, "abc"), r"here one adds up to 2(?s:.)*softmax"),
        (lambda: attention(Tensor.from_data([[2.0, -1.0], [1.0, 0.0]], DEVICE), "ab"), "a share is below 0"),
        (lambda: attention(Tensor.from_data([[math.nan]], DEVICE), "a"), "here one adds up to nan"),
        (lambda: attention(hand(), "abc", head=2), "head is 2, and there are 2"),
        (lambda: attention(hand(), "abc", position=-1), "position is -1, and there are 3"),
        (lambda: attention(Tensor.ones((2, 1, 1, 1), DEVICE), "a"), r"take one text of a batch, as in weights\[:1\]"),
        (lambda: attention(Tensor.ones((1,), DEVICE), "a"), "weights are"),
        (lambda: attention(Tensor.zeros((0, 0), DEVICE), ""), "there is nothing to draw"),
        (lambda: attention(Tensor.ones((97, 97), DEVICE) / 97.0, "a" * 97), "97 tokens are too many to draw"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        call()


def test_shapes_alone_have_no_shares() -> None:
    with pytest.raises(BackendMismatch, match="shapes only"):
        attention(Tensor.ones((1, 1), Meta.device()), "a")


def test_the_same_bytes_in_every_process() -> None:
    script = (
        "from tinyburn import NdArray, Tensor, viz\n"
        "picture = viz.attention(Tensor.from_data([[0.5, 0.5], [0.1, 0.9]], NdArray.device()), 'a ', position=1)"
    )
    first, second = outputs_of_two_processes(script)
    assert first == second
