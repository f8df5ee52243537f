"""Picture 9, the depth fan: how the size of a gradient changes from layer to layer, for several models side by side.

A layer multiplies the gradient that passes by some factor. Twenty equal layers multiply it by the twentieth power of
that factor: so it vanishes or explodes unless the factor is near 1. On an axis of powers of ten equal factors make
a straight line, and models that differ in it a fan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients, Node
from tinyburn.autodiff.observer import Flow, GradientSize
from tinyburn.base.errors import ConfigError
from tinyburn.base.text import table

from .axes import ticks
from .cards import sheet
from .lines import MOST_LINES, STYLES, End, draw_ends, draw_line, draw_zeros
from .picture import Picture
from .scale import Powers, powers_around, sizes_text

Sizes: TypeAlias = Gradients[Any] | Sequence[float]
"""What ``backward(record_flow=True)`` returned, or a size for each layer, the first layer first."""

_FACTOR = 100.0
"""From the last layer to the first, a gradient that changes by more than this has vanished or exploded."""
_TOP, _WIDTH, _HEIGHT = 16.0, 480.0, 260.0
_POWERS_WIDTH = 60.0  # of the numbers at the axis


@dataclass(frozen=True)
class Ray:
    """One model of a fan.

    Attributes:
        name: what the caller calls it.
        sizes: the root mean square of each layer's gradient; the layer nearest to the input comes first.
    """

    name: str
    sizes: tuple[float, ...]

    @property
    def change(self) -> float:
        """The first layer's gradient over the last one's; NaN if either is no ordinary number."""
        first, last = self.sizes[0], self.sizes[-1]
        return first / last if last > 0 and math.isfinite(first) and math.isfinite(last) else math.nan

    @property
    def verdict(self) -> str:
        """What becomes of the gradient on its way from the last layer to the first."""
        if not all(map(math.isfinite, self.sizes)):
            return "overflows"
        if not all(self.sizes):
            return "is zero"
        if self.change < 1 / _FACTOR:
            return "vanishes"
        return "explodes" if self.change > _FACTOR else "stays"

    @property
    def factor(self) -> str:
        """By what a layer multiplies the gradient, on average."""
        if math.isnan(self.change) or self.change <= 0 or len(self.sizes) < 2:
            return "-"
        return f"{self.change ** (1 / (len(self.sizes) - 1)):.2f}"

    @property
    def summary(self) -> str:
        """Both in a few words."""
        return self.verdict if self.factor == "-" else f"{self.factor} a layer, {self.verdict}"


def depth_fan(models: Mapping[str, Sizes], chosen: str | None = None) -> Picture:
    """The size of each layer's gradient, by depth.

    Args:
        models: by name, what ``backward(record_flow=True)`` returned for each. A layer is then an operation that a
            weight goes into, a parameter of rank 2 or more, and its gradient is that of the result. Instead of
            gradients there can be a list of sizes, such as those of activations.
        chosen: the name of the one that the title is about; its line is thick.

    Raises ConfigError if there are no models, too many to tell apart, or one without layers or without its flow; or if
    none has the chosen name.
    """
    if not isinstance(models, Mapping) or not 1 <= len(models) <= MOST_LINES:
        given = f"{len(models)} models" if isinstance(models, Mapping) else f"a {type(models).__name__}"
        hint = "write viz.depth_fan({'tanh, gain 1': loss.backward(), ...})"
        raise ConfigError("viz.depth_fan", f"got {given}, and draws 1 to {MOST_LINES} by their names", hint=hint)
    if chosen is not None and chosen not in models:
        reason = f"no model is called {chosen!r}"
        raise ConfigError("viz.depth_fan", reason, hint=f"the models are {', '.join(models)}")
    rays = [Ray(name, _sizes(name, sizes)) for name, sizes in models.items()]
    title = _title(rays, chosen)
    return Picture(title, _text(rays), _drawing(title, rays, chosen))


def _sizes(name: str, sizes: Sizes) -> tuple[float, ...]:
    if not isinstance(sizes, Gradients):
        found = tuple(float(size) for size in sizes)
    elif sizes.flow is None:
        reason = f"the gradients of {name} came without their flow: those between the layers are gone"
        raise ConfigError("viz.depth_fan", reason, hint="record it: loss.backward(record_flow=True)")
    else:
        found = tuple(_rms(sizes.flow.nodes[node]) for node in layers_of(sizes.flow))
    if not found:
        reason = f"{name} has no layer: no operation that a parameter of rank 2 or more goes into"
        raise ConfigError("viz.depth_fan", reason, hint="hand it the gradients of a model with weights")
    return found


def layers_of(flow: Flow) -> list[Node]:
    """The operations that a weight goes into, from the input's side to the loss."""
    found = [node for node in flow.nodes if any(_is_weight(parent) for parent in node.parents)]
    return sorted(found, key=lambda node: node.number)


def _is_weight(node: Node) -> bool:
    """Whether a value is a parameter of rank 2 or more, or one in another shape."""
    while node.op in ("reshape", "permute", "expand"):
        node = node.parents[0]
    return node.is_parameter and len(node.shape) > 1


def _rms(size: GradientSize) -> float:
    return math.nan if size.nonfinite else size.rms


def _title(rays: Sequence[Ray], chosen: str | None) -> str:
    """The finding: what becomes of it, and in how many of the models."""
    begin = "From the last layer to the first the gradient"
    first = next((ray for ray in rays if ray.name == chosen or len(rays) == 1), None)
    others = [ray.verdict for ray in rays if ray is not first]
    said = ", ".join(f"{verdict} in {others.count(verdict)}" for verdict in _VERDICTS if verdict in others)
    if first is None:
        return f"{begin} {said} of {len(rays)} models"
    one = f"{begin} of {first.name} {first.verdict}"
    return f"{one}; it {said} of {len(others)} other{'s' if len(others) > 1 else ''}" if others else one


_VERDICTS = ("vanishes", "is zero", "stays", "explodes", "overflows")


def _text(rays: Sequence[Ray]) -> str:
    ends = sizes_text([size for ray in rays for size in (ray.sizes[0], ray.sizes[-1])])
    rows = [
        (ray.name, str(len(ray.sizes)), first, last, ray.factor, ray.verdict)
        for ray, first, last in zip(rays, ends[::2], ends[1::2], strict=True)
    ]
    header = ("model", "layers", "first layer", "last layer", "factor a layer", "the gradient")
    return f"{table(header, rows)}\n\n{_NOTE}"


_NOTE = (
    "A size is the root mean square. Vanishes, explodes: "
    f"by more than {_FACTOR:.0f} times from the last layer to the first."
)


def _drawing(title: str, rays: Sequence[Ray], chosen: str | None) -> str:
    """The run begins at the right, where the axis stands, and ends at the left, where the fan is open and labelled."""
    ends = [End(ray.sizes[0], ray.name, ray.summary, style) for ray, style in zip(rays, STYLES, strict=False)]
    low, high = powers_around(size for ray in rays for size in ray.sizes)
    deepest = max(len(ray.sizes) for ray in rays) - 1
    powers = Powers(low, high, deepest, max(end.width for end in ends), _TOP, _WIDTH, _HEIGHT)
    steps = [(layer, str(layer)) for layer in ticks(deepest)]
    drawn = powers.axes("layers: the input's side is left, and backward runs from right to left", steps, "right")
    for ray, end in zip(rays, ends, strict=True):
        points = list(enumerate(ray.sizes))
        drawn += draw_line(powers, points, end.style, 4 if ray.name == chosen else 2) + draw_zeros(powers, points)
    drawn += draw_ends(powers, ends, "left")
    return sheet(title, (powers.right + _POWERS_WIDTH, powers.base + 44), drawn, (), [_NOTE])
