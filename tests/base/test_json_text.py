"""Reading JSON: as Python does, and the same answer everywhere for a text that is nested too deep."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyburn.base.json_text import DEEPEST, parsed

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=20)


@given(VALUES)
def test_it_reads_what_python_writes(value: Any) -> None:
    assert parsed(json.dumps(value)) == value
    assert parsed(json.dumps(value, ensure_ascii=False, indent=1)) == value


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_the_deepest_is_read_and_one_more_is_refused(opening: str) -> None:
    """`opening` may open two at once; brackets are counted here, not by the reader."""
    closing = "".join({"[": "]", "{": "}"}[mark] for mark in reversed(opening) if mark in "[{")
    times = DEEPEST // len(closing)
    assert parsed(opening * times + "0" + closing * times)
    with pytest.raises(ValueError, match="more than 500 deep"):
        parsed(opening * (times + 1) + "0" + closing * (times + 1))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "[" * 501 + "]" * 501])
def test_what_is_too_deep_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(ValueError, match="more than 500 deep"):
        parsed(text)


def test_width_is_no_depth_and_a_bracket_in_a_string_is_none() -> None:
    wide = [[number] for number in range(2 * DEEPEST)]
    assert parsed(json.dumps(wide)) == wide
    quoted = ['[{"\\' * DEEPEST, "]" * DEEPEST, {"[" * (2 * DEEPEST): "\\"}]
    assert parsed(json.dumps(quoted)) == quoted


@pytest.mark.parametrize("text", ["", "{", "]" * 600, "[1, 2", '["' + "[" * 600, "nothing"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parsed(text)
