"""Picture 1: what is in the graph is on the picture, in words and in the drawing, and nothing else is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from tests.viz.examples import SVG, Mlp, chain, columns, mlp, new_device, normalize_batch, tangle, texts, training_step
from tinyburn import (
    Autodiff,
    BackendMismatch,
    ConfigError,
    GraphError,
    Meta,
    Module,
    NdArray,
    Param,
    Tensor,
    nn,
    viz,
)
from tinyburn.viz.fold import MOST_BYTES
from tinyburn.viz.model import read_graph

PICTURES = {"graph": viz.graph, "backward_graph": viz.backward_graph}


def test_the_training_step_is_told_line_by_line() -> None:
    loss, names = training_step()
    assert columns(viz.graph(loss, **names), "name", "operation", "formula", "shape", "gradient") == [
        ("x", "constant", "", "(16, 8)", "no"),
        ("W", "leaf", "", "(8, 4)", "yes"),
        ("t1", "matmul", "x @ W", "(16, 4)", "yes"),
        ("b", "leaf", "", "(4,)", "yes"),
        ("t2", "reshape", "reshape(b, (1, 4))", "(1, 4)", "yes"),
        ("t3", "add", "t1 + t2", "(16, 4)", "yes"),
        ("target", "constant", "", "(16, 4)", "no"),
        ("t4", "sub", "t3 - target", "(16, 4)", "yes"),
        ("t5", "pow", "t4 ** 2", "(16, 4)", "yes"),
        ("loss", "mean", "mean(t5)", "(1,)", "yes"),
    ]


def test_the_title_states_the_finding() -> None:
    loss, names = training_step()
    assert viz.graph(loss, **names).title == "6 operations; 2 of 4 leaves get a gradient"
    result, names = normalize_batch()
    assert viz.graph(result, **names).title == "7 operations; x is the only leaf, and gets a gradient"


def test_bytes_are_those_of_the_values() -> None:
    loss, names = training_step()  # float64: 8 bytes an element
    rows = (
        dict(columns(viz.graph(loss, **names), "name", "dtype")),
        dict(columns(viz.graph(loss, **names), "name", "bytes")),
    )
    assert rows[0]["W"] == "float64"
    assert {name: rows[1][name] for name in ("x", "W", "t1", "loss")} == {
        "x": "1 024", "W": "256", "t1": "512", "loss": "8",
    }  # fmt: skip


def test_the_drawing_has_what_the_table_has() -> None:
    loss, names = training_step()
    drawn = " | ".join(texts(viz.graph(loss, **names)))
    for part in (
        "= x @ W",
        "= t4 ** 2",
        "= mean(t5)",
        "pow (16, 4) float64 512 B",
        "(8, 4) float64 256 B",
        "no gradient",
    ):
        assert part in drawn


def test_parameters_have_a_letter_and_constants_a_dashed_frame() -> None:
    loss, names = training_step()
    root = ElementTree.fromstring(viz.graph(loss, **names).svg)
    rects = [element.get("class") for element in root.iter(f"{SVG}rect") if float(element.get("height", 0)) > 20]
    assert rects.count("ghost frame") == 2  # x and target
    assert rects.count("box sI frame") == 2  # W and b: tracked, but no Param has made parameters of them
    assert rects.count("box rule thick") == 1  # the loss
    letters = [element.text for element in root.iter(f"{SVG}text") if element.text == "I"]
    assert len(letters) == 3  # W, b and the legend


def test_a_param_is_drawn_as_a_parameter_under_any_name() -> None:
    weight = Param.from_tensor(Tensor.ones((2, 2), new_device()))
    drawn = viz.graph(weight.val() * 2.0, w=weight.val()).svg
    assert "box sP frame" in drawn
    assert "parameter: gets a gradient" in drawn


def test_arrows_from_constants_are_dashed() -> None:
    loss, names = training_step()
    arrows = [e for e in ElementTree.fromstring(viz.graph(loss, **names).svg).iter(f"{SVG}path") if e.get("marker-end")]
    assert len(arrows) == 9
    assert sum("off" in (arrow.get("class") or "") for arrow in arrows) == 2


def test_leaves_without_a_name_are_numbered_in_the_order_of_discovery() -> None:
    loss, _ = training_step()
    names = [name for (name,) in columns(viz.graph(loss), "name")]
    assert names == ["constant 1", "leaf 1", "t1", "leaf 2", "t2", "t3", "constant 2", "t4", "t5", "loss"]


def test_a_result_can_have_a_name_and_automatic_names_avoid_it() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    doubled = x * 2.0
    picture = viz.graph(doubled.exp() + x, x=x, t1=doubled)
    assert columns(picture, "name", "formula")[1:] == [("t1", "x * 2"), ("t2", "exp(t1)"), ("result", "t2 + x")]


def test_a_module_names_its_parameters_by_their_paths() -> None:
    loss, names = mlp()
    kinds = dict(columns(viz.graph(loss, **names), "name", "operation"))
    assert kinds["model.layers.0.weight"] == kinds["model.layers.2.bias"] == "parameter"
    assert kinds["x"] == "constant"


def test_a_param_is_a_parameter() -> None:
    w = Param.from_tensor(Tensor.ones((2, 2), new_device()))
    assert columns(viz.graph(w.val() * 2.0, w=w), "name", "operation")[0] == ("w", "parameter")


def test_a_tensor_may_be_called_tensor() -> None:
    x = Tensor.ones((2,), new_device()).require_grad()
    assert columns(viz.graph(x * 2.0, tensor=x), "name")[0] == ("tensor",)


def test_what_was_named_and_is_not_in_the_graph_is_said() -> None:
    loss, names = training_step()
    other = Tensor.ones((3,), new_device())
    picture = viz.graph(loss, **names, mask=other)
    assert "not in this graph: mask" in picture.text
    assert "not in this graph: mask" in texts(picture)


def test_a_leaf_alone_is_a_graph() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    for draw in PICTURES.values():
        assert ElementTree.fromstring(draw(x, x=x).svg) is not None
    assert columns(viz.graph(x, x=x), "name", "operation") == [("x", "leaf")]


def test_one_tensor_used_twice_is_drawn_once() -> None:
    x = Tensor.ones((2, 2), new_device()).require_grad()
    assert columns(viz.graph(x * x, x=x), "name", "formula") == [("x", ""), ("result", "x * x")]


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: -x, "-x"),
        (lambda x: x + 1e-6, "x + 1e-06"),
        (lambda x: 2.0 / x, "2 / x"),
        (lambda x: x**-1.5, "x ** -1.5"),
        (lambda x: x.mean_dim(1), "mean(x, dim=1)"),
        (lambda x: x.transpose(), "permute(x, (1, 0))"),
        (lambda x: x[0:1, 1:3], "x[0:1, 1:3]"),
        (lambda x: x.clamp(0.0, 0.5), "clamp(x, 0, 0.5)"),
        (lambda x: x.mask_fill(x > 0.0, 1.0), "where(constant 1, 1, x)"),
        (lambda x: x.cast("float32"), "cast(x, float32)"),
    ],
)
def test_formulas_read_as_the_program_does(compute: Any, expected: str) -> None:
    x = Tensor.ones((2, 3), new_device()).require_grad()
    assert columns(viz.graph(compute(x), x=x), "formula")[-1] == (expected,)


def test_it_can_be_drawn_after_backward() -> None:
    loss, names = training_step()
    before = viz.graph(loss, **names)
    loss.backward()
    assert viz.graph(loss, **names) == before


def test_shapes_without_values_have_the_same_graph() -> None:
    loss, names = training_step()
    shapes, shape_names = training_step(Autodiff[Meta].device(float_dtype="float64"))
    for draw in PICTURES.values():
        assert draw(shapes, **shape_names) == draw(loss, **names)


def test_the_graph_of_a_gradient_can_be_drawn() -> None:
    device = Autodiff[Autodiff[NdArray]].device()
    inner = Tensor.ones((2,), Autodiff[NdArray].device()).require_grad()
    x = Tensor.from_inner(inner, device).require_grad()
    gradient = x.grad((x**3).backward())
    assert gradient is not None
    assert ("x", "leaf") in columns(viz.graph(gradient, x=inner), "name", "operation")


# Errors


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_tensor_without_a_graph_is_refused_with_the_way_out(draw: Any) -> None:
    with pytest.raises(BackendMismatch, match=r"hint: make the device with Autodiff\[NdArray\]"):
        draw(Tensor.ones((2,), NdArray.device()))
    with pytest.raises(GraphError, match=r"hint: call \.require_grad\(\)"):
        draw(Tensor.ones((2,), new_device()) * 2.0)
    with pytest.raises(ConfigError, match=r"(?s)the result is of type (list|float).*give a Tensor that was computed"):
        draw([1.0])


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_name_for_something_else_is_refused(draw: Any) -> None:
    loss, _ = training_step()
    with pytest.raises(ConfigError, match=r"(?s)x is of type int.*hint: give a Tensor, a Param or a Module"):
        draw(loss, x=3)
    with pytest.raises(BackendMismatch, match="x is on NdArray"):
        draw(loss, x=Tensor.ones((2,), NdArray.device()))
    with pytest.raises(BackendMismatch, match=r"model\.layers\.0\.weight is on NdArray"):
        draw(loss, model=Mlp([4, 2], NdArray.device()))


# Large graphs


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
@pytest.mark.parametrize("example", [lambda: chain(1000), lambda: mlp(60), lambda: tangle(1000), lambda: tangle(3000)])
def test_a_thousand_operations_stay_small_and_say_what_is_folded(draw: Any, example: Any) -> None:
    loss, names = example()
    picture = draw(loss, **names)
    root = ElementTree.fromstring(picture.svg)
    boxes = [rect for rect in root.iter(f"{SVG}rect") if "box" in (rect.get("class") or "")]
    assert len(boxes) < 300
    assert len(picture.html) < MOST_BYTES
    assert "are not drawn one by one" in picture.text
    assert any("are not drawn one by one" in line for line in texts(picture))
    assert len(picture.text.splitlines()) < 300


def test_a_chain_of_100_000_needs_no_recursion() -> None:
    loss, names = chain(100_000)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        picture = viz.graph(loss, **names)
    finally:
        sys.setrecursionlimit(limit)
    assert picture.title == "100 000 operations; x is the only leaf, and gets a gradient"
    assert ("99 998 more: add", "99 998 operations") in columns(picture, "name", "operation")
    assert viz.backward_graph(loss, **names).title.startswith("Backward needs no saved buffer")


# Every process, every reader

PROGRAM = """
from tests.viz.examples import mlp, tangle, training_step
from tinyburn import viz
for example in (training_step, mlp, lambda: mlp(40), lambda: tangle(300)):
    loss, names = example()
    for draw in (viz.graph, viz.backward_graph):
        print(draw(loss, **names).html, repr(draw(loss, **names)))
    grads = loss.backward(record_flow=True)
    print(viz.gradient_flow(loss, grads, **names).html, viz.gradient_flow(loss, grads, **names))
"""


def test_two_processes_draw_the_same_bytes() -> None:
    def run(seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True).stdout

    first = run("1")
    assert len(first) > 10_000
    assert first == run("2")


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_reader_without_eyes_gets_the_finding(draw: Any) -> None:
    loss, names = mlp()
    picture = draw(loss, **names)
    root = ElementTree.fromstring(picture.svg)
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == picture.title
    assert root.get("role") == "img"
    assert f'alt="{picture.title}"' in picture.html


class Odd(Module):
    def __init__(self, device: Any) -> None:
        self.parts = {'<a & "b">\x00': nn.LinearConfig(2, 2).init(device)}

    def forward(self, x: Any) -> Any:
        return next(iter(self.parts.values()))(x)


def test_strange_names_make_well_formed_pictures() -> None:
    device = new_device()
    model = Odd(device)
    result = model(Tensor.ones((1, 2), device))
    for draw in PICTURES.values():
        assert any('<a & "b">' in line for line in texts(draw(result, model=model)))


def test_long_names_do_not_widen_a_box_without_end() -> None:
    x = Tensor.ones((2, 3), new_device()).require_grad()
    picture = viz.graph(x * 2.0, **{"a" * 300: x})
    assert "a" * 300 in picture.text
    boxes = [rect for rect in ElementTree.fromstring(picture.svg).iter(f"{SVG}rect") if rect.get("class") != "paper"]
    assert max(float(rect.get("width", 0)) for rect in boxes) < 400


def test_several_results_are_drawn_in_one_graph() -> None:
    """What they share is there once; each is a root of its own."""
    device = new_device()
    x = Tensor.ones((4, 2), device).require_grad()
    hidden = (x * 3.0).exp()
    first, second = hidden.sum(), hidden.mean()
    rows = columns(viz.graph([first, second, hidden], x=x), "name", "operation", "formula")
    assert rows == [
        ("x", "leaf", ""),
        ("t1", "mul", "x * 3"),
        ("result 1", "exp", "exp(t1)"),
        ("loss 1", "sum", "sum(result 1)"),
        ("loss 2", "mean", "mean(result 1)"),
    ]
    assert viz.graph((first, first), x=x).svg == viz.graph(first, x=x).svg


@pytest.mark.parametrize("picture", PICTURES)
def test_a_model_or_a_parameter_alone_is_told_to_compute_first(picture: str) -> None:
    model = Mlp((2, 2), new_device())
    for wrong in (model, next(param for _, param in model.named_params())):
        with pytest.raises(ConfigError, match=rf"viz\.{picture}\(model\(x\), model=model\)"):
            PICTURES[picture](wrong)  # type: ignore[arg-type]


def test_an_empty_list_of_results_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        viz.graph([])


# The drawing itself: where arrows begin and end, and what a box is filled with


class DrawnBox(NamedTuple):
    """A box of a drawing: what it is called, its letter and fill if it has any, and where it is."""

    label: str
    letter: str
    fill: str
    x: float
    y: float
    width: float
    height: float


def drawn_boxes(picture: viz.Picture) -> list[DrawnBox]:
    """Each box, read from the elements that follow its frame."""
    found: list[DrawnBox] = []
    for element in ElementTree.fromstring(picture.svg).find(f"{SVG}g") or []:
        style, text = (element.get("class") or "").split(), element.text or ""
        if {"box", "ghost"} & set(style):
            numbers = [float(element.get(name) or "") for name in ("x", "y", "width", "height")]
            found.append(DrawnBox("", "", "", *numbers))
        elif element.tag == f"{SVG}rect" and element.get("fill"):
            found[-1] = found[-1]._replace(fill=element.get("fill") or "")
        elif "bold" in style and element.get("text-anchor") == "middle":
            found[-1] = found[-1]._replace(letter=text)
        elif "bold" in style:
            found[-1] = found[-1]._replace(label=text)
    return found


def drawn_edges(picture: viz.Picture) -> set[tuple[str, str]]:
    """Each arrow, as the box whose lower edge it leaves and the box whose upper edge it reaches."""
    boxes, edges = drawn_boxes(picture), set()
    for path in ElementTree.fromstring(picture.svg).iter(f"{SVG}path"):
        if path.get("marker-end"):
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d") or "")]
            starts = [box.label for box in boxes if _touches(numbers[:2], box, box.y + box.height)]
            ends = [box.label for box in boxes if _touches(numbers[-2:], box, box.y)]
            assert (len(starts), len(ends)) == (1, 1)
            edges.add((starts[0], ends[0]))
    return edges


def _touches(point: list[float], box: DrawnBox, edge: float) -> bool:
    return abs(point[1] - edge) < 0.2 and box.x - 0.2 <= point[0] <= box.x + box.width + 0.2


@pytest.mark.parametrize("example", [training_step, normalize_batch, lambda: chain(4), lambda: tangle(10)])
def test_the_arrows_are_the_edges_of_the_graph(example: Any) -> None:
    loss, names = example()
    graph = read_graph("graph", loss, names)
    edges = {(graph.items[parent].label, item.label) for item in graph.items for parent in item.parents}
    assert drawn_edges(viz.graph(loss, **names)) == edges


def test_a_fill_is_that_of_the_letter() -> None:
    """P for a parameter, I for a tracked input; a constant and a result have none."""
    device = new_device()
    weight = Param.from_tensor(Tensor.ones((2, 2), device))
    x, y = Tensor.ones((2, 2), device).require_grad(), Tensor.ones((2, 2), device)
    found = {
        box.label: (box.letter, box.fill) for box in drawn_boxes(viz.graph(x @ weight.val() + y, w=weight, x=x, y=y))
    }
    assert found["w"][0] == "P"
    assert found["x"] == ("I", "url(#hI)")
    assert found["y"] == found["t1"] == ("", "")
