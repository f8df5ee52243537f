"""Numbers as they stand in a drawing."""

from __future__ import annotations

import pytest

from tinyburn.viz.svg import number


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (-0.04, "0"), (1.0, "1"), (10.04, "10"), (-0.06, "-0.1"), (2.25, "2.2")],
)
def test_coordinates_are_short(value: float, text: str) -> None:
    assert number(value) == text
