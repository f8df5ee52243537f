"""The copy that a reader works in: it gives no answer away, and runs to the end with no guess made."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.course.lessons import GUESS
from tinyburn.cli.course import COPY

from .controls import check_controls
from .jupyterlab import HEIGHT, WIDTHS, Notebook, opened
from .pictures import stored_words

pytestmark = pytest.mark.browser

ANSWER = "The answer:"
FOLDED = ".jp-MarkdownCell .jp-Placeholder"


@pytest.fixture(scope="module")
def fresh(page: Page, path: Path) -> Notebook:
    """Open, with its kernel ready."""
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    return opened(page, f"{COPY}/{path.name}", kernel=True)


@pytest.fixture(scope="module")
def finished(fresh: Notebook) -> Notebook:
    """The same one after Run All Cells: the tests that use it come last."""
    fresh.run()
    return fresh


def test_no_output_stands_after_the_first_guess(fresh: Notebook) -> None:
    sources = [cell.source for cell in fresh.cells]
    first = next(number for number, source in enumerate(sources) if GUESS in source)
    assert [cell.source for cell in fresh.cells[first:] if cell.outputs or cell.count] == []


def test_every_answer_is_folded(fresh: Notebook) -> None:
    answers = [cell.shown for cell in fresh.cells if cell.source.startswith(ANSWER)]
    assert answers
    assert set(answers) == {ANSWER}


def test_one_click_unfolds_an_answer(fresh: Notebook, page: Page) -> None:
    folded = [number for number, cell in enumerate(fresh.cells) if cell.shown == ANSWER]
    page.locator(f"{fresh.root} {FOLDED}").first.click()
    assert len(fresh.cells[folded[0]].shown) > len(ANSWER)


def test_it_runs_to_the_end_and_raises_only_what_it_promises(finished: Notebook) -> None:
    codes = [cell for cell in finished.cells if cell.is_code]
    assert [cell.count for cell in codes] == list(range(1, len(codes) + 1))
    raised = {cell.source: cell.errors for cell in codes if cell.errors}
    assert list(raised) == [cell.source for cell in codes if "raises-exception" in cell.tags]


def test_its_pictures_show(finished: Notebook, path: Path) -> None:
    found = finished.pictures
    assert len(found) == len(stored_words(path))
    assert all(picture.alt and picture.shown == picture.drawn for picture in found)


def test_its_controls_are_named_and_move_by_keyboard(finished: Notebook) -> None:
    check_controls(finished)
