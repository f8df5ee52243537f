"""Layout: boxes do not overlap, lines go down from box to box and through none, with the program and without it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from itertools import combinations
from typing import Any

import pytest

from tests.viz.examples import mlp, normalize_batch, training_step
from tinyburn import viz
from tinyburn.viz import layout
from tinyburn.viz.layout import Edge, Layout, Size

GRAPHS: dict[str, tuple[list[Size], list[Edge]]] = {
    "one box": ([(100, 40)], []),
    "a chain": ([(100, 40), (60, 40), (140, 60)], [(0, 1), (1, 2)]),
    "a diamond": ([(100, 40)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "a shortcut": ([(150, 40)] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 4)]),
    "many into one": ([(90, 40)] * 7, [(box, 6) for box in range(6)]),
    "two parts": ([(90, 40)] * 4, [(0, 1), (2, 3)]),
    "heights": ([(90, 40), (90, 120), (90, 40), (90, 40)], [(0, 2), (1, 2), (2, 3), (0, 3)]),
}


@pytest.fixture(params=["program", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The layout program, and what takes over where it is missing."""
    if request.param == "python":
        monkeypatch.setattr(layout, "find_program", lambda: None)
    else:
        assert layout.find_program(), "graphviz-pure is a dependency, so the tests need it"
    return str(request.param)


def curve_points(route: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points along a Bézier curve, 20 for each part."""
    points = []
    for start in range(0, len(route) - 1, 3):
        a, b, c, d = route[start : start + 4]
        for step in range(21):
            t = step / 20
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            points.append(
                (
                    sum(w * p[0] for w, p in zip(weights, (a, b, c, d), strict=True)),
                    sum(w * p[1] for w, p in zip(weights, (a, b, c, d), strict=True)),
                )
            )
    return points


def inside(point: tuple[float, float], corner: tuple[float, float], size: Size) -> bool:
    return corner[0] + 1 < point[0] < corner[0] + size[0] - 1 and corner[1] + 1 < point[1] < corner[1] + size[1] - 1


def check(made: Layout, sizes: list[Size], edges: list[Edge]) -> None:
    for (x, y), (width, height) in zip(made.corners, sizes, strict=True):
        assert x >= -0.1
        assert y >= -0.1
        assert x + width <= made.width + 0.1
        assert y + height <= made.height + 0.1
    for one, other in combinations(range(len(sizes)), 2):
        (x1, y1), (x2, y2) = made.corners[one], made.corners[other]
        beside = x1 + sizes[one][0] <= x2 or x2 + sizes[other][0] <= x1
        below = y1 + sizes[one][1] <= y2 or y2 + sizes[other][1] <= y1
        assert beside or below
    for (start, end), route in zip(edges, made.routes, strict=True):
        assert route[0][1] == pytest.approx(made.corners[start][1] + sizes[start][1])
        assert route[-1][1] == pytest.approx(made.corners[end][1])
        for box in range(len(sizes)):
            assert not any(inside(point, made.corners[box], sizes[box]) for point in curve_points(route))


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_stand_apart_and_lines_go_around_them(name: str, engine: str) -> None:
    sizes, edges = GRAPHS[name]
    check(layout.arrange(sizes, edges), sizes, edges)


@pytest.mark.parametrize("example", [training_step, normalize_batch, mlp])
def test_the_examples_are_laid_out_without_a_collision(example: Any, engine: str, monkeypatch: Any) -> None:
    """Checks what `graph` asks for, since it knows the real sizes of the boxes."""
    module = importlib.import_module("tinyburn.viz.graph")  # the attribute `viz.graph` is the function
    arrange = layout.arrange

    def checked(sizes: Any, edges: Any, *more: Any) -> Layout:
        made = arrange(sizes, edges, *more)
        check(made, list(sizes), list(edges))
        return made

    monkeypatch.setattr(module, "arrange", checked)
    root, names = example()
    assert viz.graph(root, **names).svg


def test_without_the_program_a_picture_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    root, names = mlp()
    drawn = viz.graph(root, **names)
    monkeypatch.setattr(layout, "find_program", lambda: None)
    again = viz.graph(root, **names)
    assert (again.title, again.text) == (drawn.title, drawn.text)
    assert again.svg != drawn.svg
    assert again == viz.graph(root, **names)


@pytest.mark.parametrize("broken", ["/no/such/program", sys.executable])
def test_a_program_that_does_not_work_is_not_needed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "find_program", lambda: broken)
    sizes, edges = GRAPHS["a diamond"]
    check(layout.arrange(sizes, edges), sizes, edges)


def test_no_program_runs_at_import() -> None:
    code = (
        "import subprocess, sys\n"
        "def refuse(*a, **k): raise AssertionError('a program ran at import')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "import tinyburn.viz\n"
        "assert 'graphviz' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_system_dot_is_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    run = subprocess.run

    def watched(command: Any, **options: Any) -> Any:
        called.append(command[0])
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", watched)
    root, names = training_step()
    viz.graph(root, **names)
    assert [name.rsplit("/", 1)[-1].removesuffix(".exe") for name in called] == ["graphviz-pure"]
