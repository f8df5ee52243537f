"""The instructor's page docs/solutions.md: every exercise with a solution and its hints. ``python -m
tests.docs.solutions`` writes it.
"""

from __future__ import annotations

from pathlib import Path

from tests.course.lessons import LESSONS, Lesson
from tinyburn.course.exercises import Exercise, exercises_of

PAGE = Path(__file__).parents[2] / "docs" / "solutions.md"
TOP = """# Solutions

For instructors: every exercise of the course, the hints that come after a first and a second wrong answer, and a
solution. The tests run each of them. `tinyburn course solution 5.2` prints one.
"""


def page() -> str:
    """The whole page."""
    lessons = [lesson for lesson in LESSONS if exercises_of(lesson.number)]
    return "\n".join([TOP, *map(_lesson, lessons)])


def _lesson(lesson: Lesson) -> str:
    title = lesson.texts[0].splitlines()[0].removeprefix("# ")
    known = exercises_of(lesson.number)
    return "\n".join([f"## {title}\n", *[_exercise(lesson.asked(number), known[number]) for number in known]])


def _exercise(asked: str, known: Exercise) -> str:
    hints = "\n".join(f"- {hint}" for hint in known.hints)
    asked = asked.replace("```python", "```py")  # the blocks of the docs run, and these would not
    return f"{asked}\n\n{hints}\n\n```py\n{known.solution}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
