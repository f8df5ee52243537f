"""The controls of ipywidgets in a notebook, as a screen reader meets them and as a keyboard moves them.

They are read from the browser's accessibility tree, over the protocol of its developer tools. So nobody lists them: a
new widget in a lesson is found by what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .jupyterlab import WIDGET, Notebook

KEYS = {
    "slider": ("ArrowRight", "ArrowLeft"),
    "spinbutton": ("ArrowUp", "ArrowDown"),
    "combobox": ("Alt+ArrowDown ArrowDown Enter", "Alt+ArrowDown ArrowUp Enter"),
    "listbox": ("Alt+ArrowDown", "Alt+ArrowUp"),
    "radio": ("Space",),
    "checkbox": ("Space",),
    "button": ("Space",),
    "textbox": ("1 Enter",),
}
"""The roles of controls, and the keys that change each: from an end of its range only one row of keys does.

Without Alt an arrow up or down is JupyterLab's, and goes to another cell.
"""
STATES = ("checked", "selected", "expanded", "disabled", "url")
"""Properties that say what a node is set to, or shows, beside its value."""
LOOKS = 40
"""How often a test looks for what a key changes, 50 milliseconds apart: the kernel may have to answer."""

Node = dict[str, Any]


@dataclass(frozen=True)
class Control:
    """One control.

    Attributes:
        widget: the number of the widget that it is in, from the top of the notebook.
        role: what it is.
        name: what it is called.
        nth: which one it is of those in its widget that have this role and name.
        value: what it is set to; None for a button.
        is_disabled: whether it cannot be moved now.
        node: the browser's number for its element.
    """

    widget: int
    role: str
    name: str
    nth: int
    value: Any
    is_disabled: bool
    node: int

    @property
    def identity(self) -> tuple[int, str, str, int]:
        """What stays the same when it moves, or is drawn anew."""
        return self.widget, self.role, self.name, self.nth


class Controls:
    """All controls in the outputs of a notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._page = notebook.page
        self._root = notebook.root
        self._tools = notebook.page.context.new_cdp_session(notebook.page)

    def found(self) -> list[Control]:
        """In the order in which they are read."""
        widgets = range(self._page.locator(f"{self._root} {WIDGET}").count())
        return [control for widget in widgets for control in self._found_in(widget)]

    def _found_in(self, widget: int) -> list[Control]:
        return list(_controls(widget, self._nodes(widget)))

    def said(self, widget: int) -> list[tuple[str, ...]]:
        """What a screen reader can say of a widget now."""
        return [
            (*[_text(node, key) for key in ("role", "name", "value")], str(_states(node)))
            for node in self._nodes(widget)
        ]

    def is_shown(self, control: Control) -> bool:
        """Whether it takes any room on the page."""
        box = self._tools.send("DOM.getBoxModel", {"backendNodeId": control.node})["model"]
        return bool(box["width"] > 0 and box["height"] > 0)

    def move(self, control: Control) -> bool:
        """Focuses it and presses its keys, one after the other, until its widget changes. Returns whether it did."""
        before = self.said(control.widget)
        for keys in KEYS[control.role]:
            (now,) = [found for found in self._found_in(control.widget) if found.identity == control.identity]
            if now.is_disabled:
                return False
            self._tools.send("DOM.focus", {"backendNodeId": now.node})
            for key in keys.split():
                self._page.keyboard.press(key)
            if self._differs(control.widget, before):
                return True
        return False

    def by_tab(self, controls: list[Control]) -> list[int | None]:
        """What has the focus when Tab goes through the controls of one widget: the browser's numbers."""
        self._tools.send("DOM.focus", {"backendNodeId": controls[0].node})
        reached = [self._focused(controls[0].widget)]
        for _ in controls[1:]:
            self._page.keyboard.press("Tab")
            reached.append(self._focused(controls[0].widget))
        return reached

    def _focused(self, widget: int) -> int | None:
        return next((node["backendDOMNodeId"] for node in self._nodes(widget) if _has_focus(node)), None)

    def _differs(self, widget: int, before: list[tuple[str, ...]]) -> bool:
        for _ in range(LOOKS):
            if self.said(widget) != before:
                return True
            self._page.wait_for_timeout(50)
        return False

    def _nodes(self, widget: int) -> list[Node]:
        """The accessibility tree of a widget, in reading order.

        JupyterLab draws nothing of a cell that is far from the window, and its tree is empty; so it is brought there.
        """
        self._page.locator(f"{self._root} {WIDGET}").nth(widget).scroll_into_view_if_needed()
        for _ in range(LOOKS):
            if nodes := self._tree(widget):
                return nodes
            self._page.wait_for_timeout(50)
        raise AssertionError(f"widget {widget} is not on the page")

    def _tree(self, widget: int) -> list[Node]:
        document = self._tools.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
        asked = {"nodeId": document, "selector": f"{self._root} {WIDGET}"}
        element = self._tools.send("DOM.querySelectorAll", asked)["nodeIds"][widget]
        tree = self._tools.send("Accessibility.queryAXTree", {"nodeId": element})["nodes"]
        return [node for node in tree if not node["ignored"]]


def _controls(widget: int, nodes: Iterable[Node]) -> Iterator[Control]:
    seen: Counter[tuple[str, str]] = Counter()
    text = ""
    for node in nodes:
        role = _text(node, "role")
        if role == "StaticText":
            text = _text(node, "name")
        elif role in KEYS:
            # ipywidgets gives its sliders no name: a screen reader says the text before one, and then its value.
            name = _text(node, "name") or (text if role == "slider" else "")
            states = _states(node)
            value = node.get("value", {}).get("value", states.get("checked"))
            nth = seen[role, name]
            yield Control(widget, role, name, nth, value, "disabled" in states, node["backendDOMNodeId"])
            seen[role, name] += 1


def _text(node: Node, key: str) -> str:
    return str(node.get(key, {}).get("value", ""))


def _states(node: Node) -> dict[str, Any]:
    return {one["name"]: one["value"].get("value") for one in node.get("properties", []) if one["name"] in STATES}


def _has_focus(node: Node) -> bool:
    return any(one["name"] == "focused" and one["value"].get("value") for one in node.get("properties", []))


def check_controls(notebook: Notebook) -> list[Control]:
    """Each control is shown, has a name, is reached by Tab, and is moved by a key: at once, or when others have been.

    A button that goes back has nowhere to go at first.
    """
    controls = Controls(notebook)
    found = waiting = controls.found()
    hidden = [control for control in found if not controls.is_shown(control)]
    assert not hidden, f"not on the page: {hidden}"
    nameless = [control for control in found if not control.name]
    assert not nameless, f"no name: {nameless}"
    for widget in dict.fromkeys(control.widget for control in found):
        inside = [control for control in found if control.widget == widget and not control.is_disabled]
        assert controls.by_tab(inside) == [control.node for control in inside], f"Tab does not reach them: {inside}"
    while waiting:
        still = [control for control in waiting if not controls.move(control)]
        assert len(still) < len(waiting), f"no key changes anything: {still}"
        waiting = still
    return found
