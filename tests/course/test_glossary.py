"""No lesson uses a term before the one that explains it, in italics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.course.lessons import LESSONS, Lesson

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
TO_A_LESSON = re.compile(r"\[[^\]]*\]\((\d\d)_[^)]*\)")


class Term(NamedTuple):
    """A row of the glossary."""

    name: str
    meaning: str
    lesson: int


def terms() -> list[Term]:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [Term(name.strip(), meaning.strip(), int(lesson)) for name, meaning, lesson in rows[1:]]


def prose(lesson: Lesson) -> str:
    """The text of a lesson without code, formulas and links' targets: what is read as words.

    A link to a later lesson may name what is explained there, and so does the heading of the gradient flow.
    """
    text = "\n\n".join(lesson.texts).replace("## The gradient flow\n", "\n")
    text = TO_A_LESSON.sub(lambda link: " " if int(link[1]) > lesson.number else link[0], text)
    for pattern in (r"```.*?```", r"`[^`]*`", r"\$[^$]*\$", r"\]\([^)]*\)"):
        text = re.sub(pattern, " ", text, flags=re.DOTALL)
    return text


def word(term: str) -> re.Pattern[str]:
    """A term as a word, or as several of it; what is all in capitals only so."""
    flags = 0 if term.isupper() or term == "NaN" else re.IGNORECASE
    return re.compile(rf"(?<![\w-]){re.escape(term).replace(chr(92) + ' ', r'[ -]')}(?:s|es)?(?![\w-])", flags)


def before_where_next(lesson: Lesson) -> str:
    """Where next may name what is to come."""
    return prose(lesson).split("## Where next")[0]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)
def test_no_term_comes_before_its_lesson(lesson: Lesson) -> None:
    text = before_where_next(lesson)
    early = [term.name for term in terms() if term.lesson > lesson.number and word(term.name).search(text)]
    assert early == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)
def test_a_lesson_explains_its_terms_in_italics(lesson: Lesson) -> None:
    italics = " | ".join(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", before_where_next(lesson)))
    missing = [term.name for term in terms() if term.lesson == lesson.number and not word(term.name).search(italics)]
    assert missing == []


def test_the_glossary_is_sorted_by_lesson_and_has_no_term_twice() -> None:
    rows = terms()
    assert [term.lesson for term in rows] == sorted(term.lesson for term in rows)
    assert len({term.name.casefold() for term in rows}) == len(rows)
    assert {term.lesson for term in rows} <= set(range(1, 20))
