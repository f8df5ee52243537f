"""The table of Burn's methods: what it says is here runs, and the page in docs/ is what it makes."""

from __future__ import annotations

import pytest

from tests.docs.methods import KINDS, PAGE, STATUSES, Method, methods, only_ours, page, words, works

ROWS = methods()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.burn)
def test_a_row_says_what_is_true(row: Method) -> None:
    assert row.kind in KINDS
    assert row.status in STATUSES
    if row.status == "left out":
        assert row.note, "say why"
        assert not row.ours
    elif row.status != "coming" or works(row.ours):
        eval(row.ours, words())


def test_no_method_stands_there_twice() -> None:
    names = [(row.kind, row.burn) for row in ROWS]
    assert len(names) == len(set(names))


def test_what_only_we_have_says_what_it_is() -> None:
    """A new method of Tensor is in the table, or has a sentence of documentation to be listed by."""
    assert not [name for name, text in only_ours() if not text]


def test_the_page_is_up_to_date() -> None:
    """If not: ``python -m tests.docs.methods`` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()
