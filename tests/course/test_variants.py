"""Every lesson runs with another configuration too: its first code cell drives everything below it.

It runs each notebook twice, so it is behind a mark that CI adds: ``pytest -m variants``.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.course.lessons import LESSONS, Lesson
from tests.support import WGPU
from tinyburn.cli.document import parse, read
from tinyburn.cli.execute import execute

pytestmark = pytest.mark.variants

CHANGES = {
    "a larger batch in float64": 'batch_size=2 * config.batch_size, precision="float64"',
    "another backend": 'backend="wgpu" if config.backend == "ndarray" else "ndarray"',
}


def changed(code: str, change: str) -> str:
    """A cell in which the configuration is changed right after it is made."""
    (made,) = [
        node for node in ast.parse(code).body if isinstance(node, ast.Assign) and "RunConfig(" in ast.unparse(node)
    ]
    lines = code.splitlines()
    end = made.end_lineno or 0
    added = ["import dataclasses", f"config = dataclasses.replace(config, {change})"]
    return "\n".join([*lines[:end], *added, *lines[end:]])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)
def test_it_runs_with(lesson: Lesson, change: str, tmp_path: Path) -> None:
    if change == "another backend" and WGPU.why_not is not None:
        pytest.skip(WGPU.why_not)
    notebook = parse(read(lesson.path))
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source = changed(first.source, CHANGES[change])
    execute(notebook, lesson.path.parent, timeout=120)
