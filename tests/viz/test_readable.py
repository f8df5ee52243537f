"""Every picture can be read as it stands in a notebook: large enough, never made smaller, with tips on its boxes."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from tests.memory.jobs import training_step as job
from tests.viz.examples import mlp, new_device, normalize_batch, texts, training_step
from tests.viz.test_rank_timeline import even_and_slow
from tinyburn import Autodiff, NdArray, Tensor, Traced, memory, nn, viz
from tinyburn.viz import Picture
from tinyburn.viz.svg import SMALLEST, Tip, page, without_tips

Draw = Callable[[], Picture]


def flow() -> Picture:
    loss, names = training_step()
    return viz.gradient_flow(loss, loss.backward(record_flow=True), **names)


def report() -> Any:
    return memory.measure(job, Autodiff[NdArray].device(), 16)


def in_graph(draw: Any, example: Any) -> Picture:
    tensor, names = example()
    picture: Picture = draw(tensor, **names)
    return picture


def numbers() -> Picture:
    loss, names = training_step()
    return viz.graph(loss, loss.backward(record_flow=True), **names)


def stepped() -> viz.Stepper:
    loss, names = training_step(Autodiff[Traced[NdArray]].device())
    loss.backward()
    return viz.stepper(loss, **names)


PICTURES: dict[str, Draw] = {
    "graph": lambda: in_graph(viz.graph, training_step),
    "graph with numbers": numbers,
    "graph of modules": lambda: in_graph(viz.graph, mlp),
    "backward graph": lambda: in_graph(viz.backward_graph, normalize_batch),
    "gradient flow": flow,
    "memory strip": lambda: viz.memory(report()),
    "peak card": lambda: viz.peak(report()),
    "byte ladder": lambda: viz.byte_ladder(report()),
    "batch lines": lambda: viz.batch(memory.max_batch_size(job, 100_000)),
    "receipt": lambda: viz.receipt(report(), memory.plan(job, 16)),
    "heat map": lambda: viz.heatmap(Tensor.from_data([[1.0, -2.0], [0.0, 3.0]], NdArray.device())),
    "curve": lambda: viz.curve({"a": [1.0, 0.5], "b": [2.0, 3.0]}),
    "histogram": lambda: viz.histogram(Tensor.from_data([[1.0, -2.0], [0.0, 3.0]], NdArray.device())),
    "confusion matrix": lambda: viz.confusion([[8, 2], [0, 5]], ["a", "b"]),
    "images": lambda: viz.images(Tensor.from_data([[1.0, -2.0], [0.0, 3.0]], NdArray.device()), ["a"], ["b"]),
    "depth fan": lambda: viz.depth_fan({"a": [1e-8, 1.0], "b": [1.0, 1.0]}),
    "ratio clock": lambda: viz.update_ratios([{"a": 1e-3}, {"a": 1e-5}], {1: "rate halved"}),
    "stepper": lambda: stepped().frames[0],
    "strip of steps": lambda: stepped(),
    "attention": lambda: viz.attention(Tensor.from_data([[1.0, 0.0], [0.3, 0.7]], NdArray.device()), "a ", position=1),
    "rank timeline": lambda: viz.rank_timeline(even_and_slow()),
    "rank memory": lambda: viz.rank_memory({1: report()}, {2: memory.plan(job, 8)}),
    "windows": lambda: viz.windows((8, 8), 3, stride=2, padding=1),
    "jacobian": lambda: viz.jacobian(lambda x: x**2, Tensor.from_data([[1.0, 2.0]], new_device())),
}
WITH_TIPS = (
    "graph",
    "graph with numbers",
    "graph of modules",
    "gradient flow",
    "memory strip",
    "peak card",
    "byte ladder",
    "histogram",
    "images",
    "rank timeline",
    "rank memory",
)


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_smaller_than_12_pixels(name: str) -> None:
    sizes = [float(size) for size in re.findall(r"font-size[:=]\"?([\d.]+)", PICTURES[name]().svg)]
    assert sizes
    assert min(sizes) >= SMALLEST == 12


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_cannot_make_it_smaller(name: str) -> None:
    """Jupyter's style has a maximal width for images; its own style wins, and the frame around it scrolls."""
    html = PICTURES[name]().html
    assert html.startswith('<div style="overflow-x:auto">')
    assert re.search(r'<img alt="[^"]+" style="max-width:none" src="data:image/svg', html)
    assert html.count("<div") == html.count("</div>")


@pytest.mark.parametrize("name", WITH_TIPS)
def test_each_box_has_its_row_of_the_table_as_a_tip(name: str) -> None:
    picture = PICTURES[name]()
    _, tips = without_tips(picture.svg)
    assert tips
    shown = " ".join(picture.text.split())
    width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture.svg)[0])
    for tip in tips:
        for line in tip.text.split("\n"):
            assert " ".join(line.split(": ", 1)[-1].split()) in shown
        assert 0 <= tip.x < tip.x + tip.width <= width
        assert 0 <= tip.y < tip.y + tip.height <= height
    titles = [unescape(words) for words in re.findall(r'<span style="[^"]+" title="([^"]+)"></span>', picture.html)]
    assert titles == [tip.text for tip in tips]


def test_tips_come_back_as_they_were_written() -> None:
    tips = [Tip(1, 2.5, 30, 4, 'a "b" <c> & d\nsecond line'), Tip(0, 0, 9, 9, "")]
    svg = page(40, 20, "title", ["<g/>"], tips=tips)
    plain, found = without_tips(svg)
    assert found == tips
    assert plain == page(40, 20, "title", ["<g/>"])


def test_a_shared_parameter_says_by_how_many_operations() -> None:
    device = new_device()
    layer = nn.LinearConfig(3, 3).init(device)
    x = Tensor.ones((2, 3), device)
    once, twice = layer(x).sum(), layer(layer(x)).sum()
    assert "shared by 2 operations" not in texts(viz.graph(once, layer=layer))
    assert texts(viz.graph(twice, layer=layer)).count("shared by 2 operations") == 2
    picture = viz.gradient_flow(twice, twice.backward(record_flow=True), layer=layer)
    assert texts(picture).count("shared by 2 operations") == 2
