"""The colours that a picture has on the screen: its style sheet applied, in a light and in a dark theme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from tinyburn.viz.svg import CHARACTER

from .colours import blended

SVG = "{http://www.w3.org/2000/svg}"
_RULE = re.compile(r"@media \(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\}|([^{}]+)\{([^{}]*)\}")

Style = dict[str, str]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Paint:
    """A colour, or none, and how much of it covers what is below."""

    colour: str | None
    opacity: float

    @property
    def is_solid(self) -> bool:
        """Whether nothing shows through."""
        return self.colour is not None and self.opacity == 1


@dataclass(frozen=True)
class Shape:
    """One element that is painted.

    Attributes:
        classes: of its style.
        fill, stroke: its area and its outline. A hatch is here the colour below its lines.
        box: its left, upper, right and lower edge; for a text a band through the middle of its letters; for a path
            nothing.
        words: the text, if it is one.
    """

    kind: str
    classes: tuple[str, ...]
    fill: Paint
    stroke: Paint
    box: Box | None
    words: str

    def covers(self, x: float, y: float) -> bool:
        """Whether it lies over a point. Corners of circles are not taken off."""
        return self.box is not None and self.box[0] <= x <= self.box[2] and self.box[1] <= y <= self.box[3]


def shapes_of(svg: str, *, dark: bool) -> list[Shape]:
    """All that is painted, each over those before it."""
    return list(_Painter(ElementTree.fromstring(svg), dark).shapes())


def ground_at(shapes: list[Shape], x: float, y: float) -> str:
    """The colour that some shapes make at a point."""
    colour = "#ffffff"
    for shape in shapes:
        if shape.kind != "text" and shape.fill.colour is not None and shape.covers(x, y):
            colour = blended(shape.fill.colour, colour, shape.fill.opacity)
    return colour


@dataclass(frozen=True)
class _Place:
    """Where an element stands. A group is moved; a label may be turned."""

    right: float
    down: float
    is_turned: bool

    def inside(self, transform: str) -> _Place:
        """Of the elements in one with this transform."""
        found = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", transform)
        right, down = map(float, found.groups()) if found else (0.0, 0.0)
        return _Place(self.right + right, self.down + down, self.is_turned or "rotate" in transform)

    def box(self, element: ElementTree.Element, kind: str) -> Box | None:
        """`Shape.box`. Of a label that is turned only its end is known."""
        at = {name: float(element.get(name, "0")) for name in _NUMBERS[kind]} if kind in _NUMBERS else {}
        if kind == "rect":
            left, top = self.right + at["x"], self.down + at["y"]
            return left, top, left + at["width"], top + at["height"]
        if kind == "circle":
            x, y, radius = self.right + at["cx"], self.down + at["cy"], at["r"]
            return x - radius, y - radius, x + radius, y + radius
        if kind == "text":
            width = 0.0 if self.is_turned else len(element.text or "") * CHARACTER
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")]
            left, base = self.right + at["x"] - share * width, self.down + at["y"]
            return left, base - 6, left + width, base - 2
        return None


_NUMBERS = {"rect": ("x", "y", "width", "height"), "circle": ("cx", "cy", "r"), "text": ("x", "y")}


class _Painter:
    def __init__(self, root: ElementTree.Element, dark: bool) -> None:
        self._root = root
        styles = [style.text or "" for style in root.findall(f"{SVG}style")]
        self._rules = list(_rules("".join(styles), dark))
        self._patterns = {one.get("id"): one for one in root.iter(f"{SVG}pattern")}
        self._named = {f"#{one.get('id')}": one for one in root.iter() if one.get("id")}

    def shapes(self) -> Iterator[Shape]:
        return self._walk(self._root, {}, _Place(0.0, 0.0, False))

    def _walk(self, element: ElementTree.Element, above: Style, around: _Place) -> Iterator[Shape]:
        kind = element.tag.removeprefix(SVG)
        if kind in ("defs", "style", "title"):
            return
        style, place = self._style(element, above), around.inside(element.get("transform", ""))
        if kind == "use":
            yield from self._walk(self._named[element.get("href", "")], style, place)
        elif kind not in ("svg", "g"):
            words = element.text or "" if kind == "text" else ""
            fill, stroke = self._paint(style, "fill", "#000000"), self._paint(style, "stroke", "none")
            yield Shape(kind, tuple(element.get("class", "").split()), fill, stroke, place.box(element, kind), words)
        for child in element:
            yield from self._walk(child, style, place)

    def _style(self, element: ElementTree.Element, above: Style) -> Style:
        """An attribute is weaker than a rule, and a rule for a class stronger than one for a kind of element."""
        style = {**above, **element.attrib}
        classes = element.get("class", "").split()
        for selectors in ([element.tag.removeprefix(SVG)], [f".{name}" for name in classes]):
            for selector, declared in self._rules:
                if selector in selectors:
                    style.update(declared)
        return {**style, **_declared(element.get("style", ""))}

    def _paint(self, style: Style, kind: str, default: str) -> Paint:
        colour = style.get(kind, default)
        opacity = float(style.get(f"{kind}-opacity", "1")) * float(style.get("opacity", "1"))
        if colour.startswith("url(#"):
            return Paint(self._colour_of_pattern(colour[5:-1]), opacity)
        return Paint(None if colour == "none" else _long(colour), opacity)

    def _colour_of_pattern(self, name: str) -> str | None:
        """Of its area, or of its lines if it has none."""
        paints = [
            self._paint(self._style(part, {}), kind, "none")
            for kind in ("fill", "stroke")
            for part in self._patterns[name]
        ]
        return next((paint.colour for paint in paints if paint.colour is not None), None)


def _long(colour: str) -> str:
    """``#rrggbb``, also for ``#rgb``."""
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])


def _rules(css: str, dark: bool) -> Iterator[tuple[str, Style]]:
    for dark_rules, selectors, declared in _RULE.findall(css):
        if selectors:
            yield from ((selector.strip(), _declared(declared)) for selector in selectors.split(","))
        elif dark:
            yield from _rules(dark_rules, dark)


def _declared(text: str) -> Style:
    pairs = [part.split(":", 1) for part in text.split(";") if ":" in part]
    return {name.strip(): value.strip() for name, value in pairs}
