"""Picture 11, the Jacobian card: every slope of a function at one point, and the same by small steps beside it.

A function of n numbers that gives m has m times n slopes: how much each result changes with each input. Backward finds
a row of them at a time. That they are right can be seen without any calculus: move one input a little to both
sides, and look how far each result moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import BackendMismatch, ConfigError
from tinyburn.base.shape import Shape, num_elements
from tinyburn.base.text import table
from tinyburn.tensor import Tensor

from .cards import Key, sheet
from .cells import HEIGHT, MOST, STYLE, WIDTH, Matrix, digits, draw, largest
from .picture import Picture
from .svg import rect, text, text_width

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Function: TypeAlias = Callable[[AnyTensor], AnyTensor]

MOST_SLOPES = 4096
"""A card for more would be a wall. Each row is a backward pass, and each column two forward passes."""


@dataclass(frozen=True)
class Slopes:
    """The slopes of a function at one point.

    Attributes:
        exact: by backward, of shape (results, inputs).
        by_steps: by differences, of the same shape.
        step: how far each input was moved to either side.
        input_shape, output_shape: of the tensors, whose elements are counted in row-major order.
    """

    exact: Matrix
    by_steps: Matrix
    step: float
    input_shape: Shape
    output_shape: Shape

    @property
    def difference(self) -> float:
        """The largest between the two; NaN if a slope is NaN in one of them only."""
        same = (self.exact == self.by_steps) | (np.isnan(self.exact) & np.isnan(self.by_steps))
        with np.errstate(invalid="ignore"):
            return float(np.abs(np.where(same, 0.0, self.exact - self.by_steps)).max(initial=0.0))

    @property
    def tolerance(self) -> float:
        """How near such steps can come: about the square of their length, times what the slopes amount to."""
        return 100 * self.step**2 * max(largest(self.exact), 1.0)


def jacobian(function: Function, x: AnyTensor) -> Picture:
    """The Jacobian matrix of a function at ``x``, by backward and by central differences.

    Args:
        function: takes a tensor like ``x`` and returns one, of any shapes. It is called several times.
        x: on an Autodiff device. float64 gives many more digits to the differences than float32.

    Raises:
        BackendMismatch: ``x`` is not on an Autodiff backend, or on one without values.
        ConfigError: there are more slopes than fit on a card, or the result is no tensor on the device of ``x``.
    """
    slopes = slopes_of(function, x)
    title = _title(slopes)
    return Picture(title, _text(slopes), _drawing(title, slopes))


def slopes_of(function: Function, x: AnyTensor) -> Slopes:
    """Both matrices."""
    if not (isinstance(x, Tensor) and x.backend.is_autodiff and x.backend.has_values):
        reason = "it needs a tensor with values on an Autodiff device, to run backward from each result"
        raise BackendMismatch(
            "viz.jacobian", reason, hint="make x with Tensor.from_data(values, Autodiff[NdArray].device())"
        )
    leaf = x.detach().require_grad()
    out = function(leaf)
    if not (isinstance(out, Tensor) and out.device == x.device):
        reason = f"the function returned {type(out).__name__}, and not a tensor on the device of x"
        raise ConfigError("viz.jacobian", reason, hint="return the tensor that shall be looked at")
    count = num_elements(out.shape) * num_elements(x.shape)
    if count > MOST_SLOPES:
        reason = f"{out.shape} results of {x.shape} inputs are {count} slopes, and a card has room for {MOST_SLOPES}"
        raise ConfigError("viz.jacobian", reason, hint="look at one row of a batch, or at fewer features")
    step = _step(x)
    return Slopes(_by_backward(leaf, out), _by_differences(function, x, step), step, x.shape, out.shape)


def _by_backward(leaf: AnyTensor, out: AnyTensor) -> Matrix:
    """A row for each result: backward from a gradient that is 1 there and 0 elsewhere."""
    rows = np.zeros((num_elements(out.shape), num_elements(leaf.shape)))
    if not out.primitive.is_tracked:  # it does not depend on x
        return rows
    for row in range(len(rows)):
        one = np.zeros(len(rows))
        one[row] = 1
        start = Tensor.from_data(one.reshape(out.shape), leaf.device.inner, dtype=out.dtype)  # type: ignore[attr-defined]
        found = leaf.grad(out.backward(start, retain_graph=True))
        if found is not None:
            rows[row] = found.to_numpy().ravel()
    return rows


def _by_differences(function: Function, x: AnyTensor, step: float) -> Matrix:
    """A column for each input: its results a step above, minus those a step below, over the way between the two."""
    values, columns = x.to_numpy(), []
    for at in range(values.size):
        ends, places = [], []
        for side in (step, -step):
            moved = values.copy()
            moved.flat[at] += side
            places.append(float(moved.flat[at]))
            ends.append(
                function(Tensor.from_data(moved, x.device, dtype=x.dtype)).to_numpy().astype(np.float64).ravel()
            )
        with np.errstate(all="ignore"):
            columns.append((ends[0] - ends[1]) / (places[0] - places[1]))
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))


def _step(x: AnyTensor) -> float:
    """The cube root of the dtype's precision balances what the curve bends within a step, and what rounding loses.

    Press et al., Numerical Recipes, section 5.7.
    """
    return float(np.cbrt(np.finfo(x.primitive.dtype).eps))


def _title(slopes: Slopes) -> str:
    rows, columns = slopes.exact.shape
    if not slopes.exact.size:
        return "No slopes: there is no result, or no input"
    finding = f"{rows} x {columns} slopes, by backward and by steps of {slopes.step:.0e}"
    if not np.isfinite(slopes.exact).all():
        return f"{finding}: {int((~np.isfinite(slopes.exact)).sum())} by backward are inf or NaN"
    if slopes.difference <= slopes.tolerance:
        return f"{finding}: they agree to {slopes.tolerance:.0e}"
    return f"{finding}: they differ by {slopes.difference:.0e}"


def _text(slopes: Slopes) -> str:
    names = ["result", *[f"by x{at}" for at in range(slopes.exact.shape[1])][:MOST]]
    said = []
    for title, matrix in (("By backward:", slopes.exact), ("By small steps:", slopes.by_steps)):
        rows = [(f"y{at}", *map(digits, values[:MOST])) for at, values in enumerate(matrix[:MOST].tolist())]
        said.append(f"{title}\n{table(names, rows)}")
    return "\n\n".join([*said, *_notes(slopes)])


def _notes(slopes: Slopes) -> list[str]:
    notes = [f"x has shape {slopes.input_shape}, y {slopes.output_shape}; elements are counted row by row."]
    rows, columns = slopes.exact.shape
    if rows > MOST or columns > MOST:
        notes.append(
            f"Of {rows} results and {columns} inputs, the first {min(rows, MOST)} and {min(columns, MOST)} are shown."
        )
    return notes


def _drawing(title: str, slopes: Slopes) -> str:
    rows, columns = [min(size, MOST) for size in slopes.exact.shape]
    scale = largest(slopes.exact, slopes.by_steps)
    left, top, gap = 34.0, 40.0, 60.0
    wide = max(columns * WIDTH, text_width("by small steps"))
    second = left + wide + gap
    drawn = []
    for x, heading, matrix in ((left, "by backward", slopes.exact), (second, "by small steps", slopes.by_steps)):
        drawn.append(text(x, 12, heading, "ink bold"))
        drawn += [text(x + (at + 0.5) * WIDTH, top - 6, f"x{at}", "soft", "middle") for at in range(columns)]
        drawn += [text(x - 6, top + at * HEIGHT + 16, f"y{at}", "soft", "end") for at in range(rows)]
        drawn += draw(matrix, x, top, scale)
    keys = [
        Key(rect(0, 0, 26, 14, "plus", 0, 'fill-opacity="0.65"'), "the result rises with the input"),
        Key(rect(0, 0, 26, 14, "minus", 0, 'fill-opacity="0.65"'), "it falls"),
    ]
    return sheet(title, (second + wide, top + max(rows, 1) * HEIGHT), drawn, keys, _notes(slopes), STYLE)
