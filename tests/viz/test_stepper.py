"""Picture 3: the strip, its table, and each frame say the same, in words and in the drawing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.viz.examples import columns, mlp, new_device, normalize_batch, tangle, texts, training_step
from tests.viz.geometry import assert_readable
from tests.viz.same_bytes import outputs_of_two_processes
from tests.viz.test_steps import EXAMPLES, diamond, line_squared, segmented, traced
from tinyburn import (
    Autodiff,
    BackendMismatch,
    ConfigError,
    GraphError,
    Meta,
    NdArray,
    Tensor,
    Traced,
    viz,
)
from tinyburn.memory.measure import find_log
from tinyburn.viz.fold import MOST_BYTES
from tinyburn.viz.step_strip import MOST
from tinyburn.viz.stepper import MOST_ROWS


def stepped(name: str) -> viz.Stepper:
    loss, names = EXAMPLES[name](traced())
    loss.backward()
    return viz.stepper(loss, **names)


def long_chain(length: int) -> viz.Stepper:
    x = Tensor.ones((1,), traced()).require_grad()
    y = x
    for _ in range(length):
        y = y + 1.0
    y.backward()
    return viz.stepper(y, x=x)


every_example = pytest.mark.parametrize("name", EXAMPLES)


# Words


def test_the_table_tells_a_line_squared() -> None:
    """By hand: 3 · 2 + 1 = 7, squared 49; back 1, 2 · 7 = 14, and 14 · 2 = 28."""
    picture = stepped("line squared")
    assert columns(picture, "step", "phase", "what happens", "numbers") == [
        ("1", "start", "w, x and b are there", ""),
        ("2", "forward", "t1 = w * x", "w = 3, x = 2 → 6"),
        ("3", "forward", "t2 = t1 + b", "t1 = 6, b = 1 → 7"),
        ("4", "free", "t1 is freed", ""),
        ("5", "forward", "loss = t2 ** 2", "t2 = 7 → 49"),
        ("6", "backward", "the gradient of loss is 1", "1"),
        ("7", "backward", "t2 gets g * 2 * t2", "g = 1, t2 = 7 → 14"),
        ("8", "free", "t2 and gradient of loss are freed", ""),
        ("9", "backward", "b gets g", "g = 14 → 14"),
        ("10", "backward", "t1 gets g", "g = 14 → 14"),
        ("11", "backward", "w gets g * x", "g = 14, x = 2 → 28"),
        ("12", "free", "gradient of t2/b/t1 and gradient of w are freed", ""),
    ]


def test_each_step_says_why_it_comes_now() -> None:
    reasons = [why for (why,) in columns(stepped("line squared"), "why now")]
    assert reasons[1] == "After its operands: w and x from the start."
    assert reasons[2] == "After its operands: b from the start, t1 since step 2."
    assert reasons[3] == "t1: right after the last use, in step 3."
    assert reasons[6] == "The way back begins with the gradient of loss."
    assert reasons[8].startswith(
        "Only loss uses t2, and its part came in step 7: the gradient of t2 is whole. g itself"
    )
    assert reasons[10] == "Only t2 uses t1, and its part came in step 10: the gradient of t1 is whole."
    assert reasons[11].endswith("the program has let go of its gradients.")


def test_a_sum_names_its_parts_and_the_visit_waits_for_them() -> None:
    rows = columns(stepped("diamond"), "what happens", "numbers", "why now")
    assert rows[9] == (
        "the parts of p's gradient are added",
        "from loss = 1, from t1 = 3 → 4",
        "p is used more than once: parts came from loss and t1, in steps 7 and 9, and parts add.",
    )
    assert rows[11][2] == "loss and t1 use p, and the parts of all came in steps 7 and 9: the gradient of p is whole."


def test_a_name_that_holds_a_buffer_is_blamed() -> None:
    device = traced()
    w = Tensor.from_data([3.0], device).require_grad()
    h = w * 2.0
    y = (h + 1.0).exp()
    y.backward()
    del h
    rows = columns(viz.stepper(y, w=w), "what happens", "why now")
    (why,) = [why for happens, why in rows if "t1" in happens and "freed" in happens]
    assert "t1: the last use was step 3; the program has held it since, for example by a name." in why


def test_a_segment_says_why_it_runs_again() -> None:
    rows = columns(stepped("segmented"), "phase", "what happens", "why now")
    again = [happens for phase, happens, why in rows if phase == "backward" and "so it runs again" in why]
    assert again[0].endswith("= t1 @ layer.weight + layer.bias")
    assert "the backward of tanh" in again


def test_the_title_states_the_finding() -> None:
    assert stepped("line squared").title == (
        "12 steps: 3 operations forward, 4 rules on the way back; most bytes, 56 B, in step 7: t2 gets g * 2 * t2"
    )
    loss, names = line_squared(traced())
    assert "3 operations forward, backward() has not run" in viz.stepper(loss, **names).title


def test_a_gradient_that_was_given_is_not_called_one() -> None:
    loss, names = diamond(traced())
    loss.backward(Tensor.from_data([5.0], loss.device.inner))
    rows = columns(viz.stepper(loss, **names), "what happens", "numbers")
    assert ("the gradient of loss is given", "") in rows
    assert all(numbers == "" for happens, numbers in rows if " gets " in happens)


def test_what_is_not_shown_is_said() -> None:
    device = traced()
    diamond(device)[0].backward()
    kept = Tensor.ones((3,), device)
    loss, names = line_squared(device)
    loss.backward()
    text = viz.stepper(loss, x=names["x"], w=names["w"], kept=kept).text
    assert "Not counted: 24 B of other computations on this device." in text
    assert "Without a name, so that the numbers are not known: leaf 1." in text
    assert "not in this graph: kept" in text


# The drawing


@every_example
def test_every_frame_has_its_words_and_its_bytes(name: str) -> None:
    picture = stepped(name)
    rows = columns(picture, "step", "what happens", "bytes")
    assert len(picture.frames) == len(rows)
    for frame, (number, happens, size) in zip(picture.frames, rows, strict=True):
        words = " ".join(texts(frame))
        assert f"Step {number} of {len(rows)} · " in words
        assert happens in words
        assert f"in all {size} B" in words
        assert frame.title.startswith(f"Step {number} of {len(rows)} · ")
        assert f"{size} B alive" in frame.title


@every_example
def test_no_words_meet_and_none_leaves_the_page(name: str) -> None:
    picture = stepped(name)
    assert_readable(picture)
    for frame in picture.frames:
        assert_readable(frame)


def test_the_active_box_and_what_is_alive_are_marked() -> None:
    """In step 7 the loss is visited; the value and the gradient of s are alive, and so is the gradient of the loss."""
    frame = stepped("line squared").frames[6]
    assert frame.svg.count('class="box rule thick"') == 2  # the box, and its key
    assert frame.svg.count('class="rule go"') == 2  # the arrow, and its key
    letters = [letter for letter in texts(frame) if letter in "PIAGTY"]
    on_the_graph = letters[7 + 4 :]  # after the list of 7 buffers, and the legend of 4 categories
    assert sorted(on_the_graph) == sorted("III" + "A" + "T" + "TT")


def test_all_frames_have_one_size() -> None:
    sizes = {re.findall(r'viewBox="([^"]+)"', frame.svg)[0] for frame in stepped("training step").frames}
    assert len(sizes) == 1


def test_frames_are_counted_as_a_sequence_counts() -> None:
    frames = stepped("line squared").frames
    assert frames[-1].svg == frames[11].svg
    with pytest.raises(IndexError, match="there are 12 steps"):
        frames[12]


def test_few_steps_are_all_drawn_and_of_many_the_turning_points() -> None:
    few = stepped("line squared")
    assert [number for line in texts(few) for number in re.findall(r"^Step (\d+) of 12", line)] == [
        str(number) for number in range(1, 13)
    ]
    many = stepped("mlp")
    drawn = [int(number) for line in texts(many) for number in re.findall(r"^Step (\d+) of ", line)]
    assert drawn == sorted(drawn)
    assert len(drawn) == MOST
    peak, seed = re.findall(r"in step (\d+):", many.title), columns(many, "what happens").index
    assert {int(peak[0]), seed(("the gradient of loss is 1",)) + 1, 1, len(many.frames)} <= set(drawn)
    assert f"{MOST} of {len(many.frames)} steps are drawn: {', '.join(map(str, drawn))}." in many.text


def test_pictures_stay_small() -> None:
    loss, _ = tangle(120, device=traced())
    loss.backward()
    picture = viz.stepper(loss)
    for each in (picture, picture.frames[0], picture.frames[len(picture.frames) // 2]):
        assert len(each.html) < MOST_BYTES


def test_a_long_table_is_cut_and_says_so() -> None:
    picture = long_chain(300)
    assert len(picture.frames) > MOST_ROWS
    assert f"… and {len(picture.frames) - MOST_ROWS} more steps" in picture.text


def test_shapes_alone_have_steps_and_bytes_and_no_numbers() -> None:
    device: Any = Autodiff[Traced[Meta]].device(float_dtype="float64")
    loss, names = line_squared(device)
    loss.backward()
    rows = columns(viz.stepper(loss, **names), "what happens", "numbers", "bytes")
    measured = columns(stepped("line squared"), "what happens", "bytes")
    assert [(happens, size) for happens, _, size in rows] == measured
    assert {numbers for _, numbers, _ in rows} == {""}


SAME = """
from tests.viz.test_steps import segmented, traced
from tinyburn import viz
loss, names = segmented(traced())
loss.backward()
made = viz.stepper(loss, **names)
picture = viz.Picture(made.title, made.text + repr([frame.svg for frame in made.frames]), made.svg)
"""


def test_the_same_bytes_in_any_process() -> None:
    first, second = outputs_of_two_processes(SAME)
    assert first == second


# Errors


def test_a_device_without_a_log_is_told_how_to_get_one() -> None:
    loss, names = training_step(new_device())
    with pytest.raises(BackendMismatch, match=r"writes no log") as caught:
        viz.stepper(loss, **names)
    assert "RunConfig(trace=True)" in str(caught.value)
    with pytest.raises(BackendMismatch, match="records no graph"):
        viz.stepper(Tensor.ones((1,), NdArray.device()))


def test_a_leaf_and_a_model_have_no_steps() -> None:
    device = traced()
    with pytest.raises(GraphError, match="is a leaf: nothing was computed yet"):
        viz.stepper(Tensor.ones((1,), device).require_grad())
    _, names = mlp(2, device)
    with pytest.raises(ConfigError, match="draw a result"):
        viz.stepper(names["model"])


def test_a_log_that_was_cleared_is_told_apart() -> None:
    loss, names = line_squared(traced())
    find_log(loss.device).clear()
    with pytest.raises(GraphError, match=r"log\.clear\(\)"):
        viz.stepper(loss, **names)
    half = Tensor.ones((1,), loss.device).require_grad() * 2.0
    find_log(loss.device).clear()
    with pytest.raises(GraphError, match=r"log\.clear\(\)"):
        viz.stepper(half + 1.0)


def test_the_number_of_boxes_is_checked() -> None:
    loss, names = normalize_batch(traced())
    with pytest.raises(ConfigError, match="boxes is 2"):
        viz.stepper(loss, boxes=2, **names)
    assert len(viz.stepper(loss, boxes=4, **names).frames) == len(viz.stepper(loss, **names).frames)
    assert segmented(traced())[0].shape == (1,)
