"""The page of solutions is up to date."""

from __future__ import annotations

from tests.docs.solutions import PAGE, page


def test_the_page_has_every_exercise_as_it_is() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.docs.solutions"
