"""Takes out of an executed notebook whatever the machine, the moment or chance put in.

What is left depends on the code alone, so that a change in a notebook's file is a change in what it shows.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from itertools import groupby
from typing import Any

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_CELL_METADATA = ("tags", "jupyter")
_WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_LIVE = "tinyburn-live"
"""The mark of `widgets.Live`: what stands beside it in the cell shows the same without a kernel."""
_REFERENCE = re.compile(r"IPY_MODEL_(\w+)")
_PATHS = (
    (re.compile(r"""(?<![^\s"'])[^\s"']*[\\/]ipykernel_\d+[\\/]\d+\.py"""), "<cell>"),
    (re.compile(r"""(?<![^\s"'])[^\s"']*[\\/]site-packages[\\/]"""), ""),
    (re.compile(r"""(?<![^\s"'])[^\s"']*[\\/](?=tinyburn[\\/][\w\\/]{1,200}\.py)"""), ""),
)
"""The file names in a warning. tests/nbval_sanitize.cfg holds the same patterns, for nbval's comparison.

An output can be long, and base64 is one word of it. So each pattern starts only where a word starts, and looks ahead
only so far: its steps grow with the text, and not with its square.
"""


def normalise(notebook: Any) -> None:
    """Changes a notebook in place into the form that depends on its code alone."""
    notebook.metadata["kernelspec"] = dict(_KERNEL)
    notebook.metadata["language_info"] = {"name": "python"}
    _name_cells(notebook)
    count = 0
    for cell in notebook.cells:
        cell.metadata = {key: cell.metadata[key] for key in _CELL_METADATA if key in cell.metadata}
        if cell.cell_type == "code":
            count += cell.execution_count is not None
            cell.execution_count = count if cell.execution_count is not None else None
            _normalise_outputs(cell)
    _rename_widgets(notebook)


def _name_cells(notebook: Any) -> None:
    """A name from the cell's text: it stays the same when another cell comes or goes."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def _normalise_outputs(cell: Any) -> None:
    cell.outputs = _with_streams_joined(cell.outputs)
    for output in cell.outputs:
        if _LIVE in output.get("metadata", {}):
            output.data.pop(_WIDGET_VIEW, None)
        if output.output_type == "execute_result":
            output.execution_count = cell.execution_count
        elif output.output_type == "stream":
            output.text = rewrite_paths(output.text)
        elif output.output_type == "error":
            # The rest of a traceback names files, and each version of Python words it in its own way.
            output.traceback = [f"{output.ename}: {output.evalue}"]


def _with_streams_joined(outputs: list[Any]) -> list[Any]:
    """Between two displays, all of stdout and then all of stderr: a kernel sends them in pieces, by the clock."""
    joined: list[Any] = []
    for is_stream, group in groupby(outputs, key=lambda output: output.output_type == "stream"):
        if not is_stream:
            joined += group
            continue
        by_name: dict[str, list[Any]] = {}
        for output in group:
            by_name.setdefault(output.name, []).append(output)
        for name in sorted(by_name, reverse=True):
            first, *_ = pieces = by_name[name]
            first.text = "".join(piece.text for piece in pieces)
            joined.append(first)
    return joined


def rewrite_paths(text: str) -> str:
    """Takes the folders of this machine out of the file names that a warning prints."""
    for pattern, replacement in _PATHS:
        text = pattern.sub(replacement, text)
    return text


def _rename_widgets(notebook: Any) -> None:
    """Numbers the widgets by first use, and drops those that no output reaches."""
    views = [
        output.data[_WIDGET_VIEW]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if _WIDGET_VIEW in output.get("data", {})
    ]
    widgets = notebook.metadata.pop("widgets", {}).get(_WIDGET_STATE, {})
    models = widgets.get("state", {})
    names = {old: f"{number:032x}" for number, old in enumerate(_reachable(views, models), start=1)}
    for view in views:
        view["model_id"] = names[view["model_id"]]
    if names:
        widgets["state"] = {new: _renamed(models[old], names) for old, new in names.items()}
        notebook.metadata["widgets"] = {_WIDGET_STATE: widgets}


def _reachable(views: list[Any], models: dict[str, Any]) -> list[str]:
    """The ids of the models that the views show, and of those that they refer to, in order of first use."""
    found = list(dict.fromkeys(view["model_id"] for view in views if view["model_id"] in models))
    known = set(found)
    for model in found:  # grows while it is walked
        new = [name for name in dict.fromkeys(_references(models[model])) if name in models and name not in known]
        found += new
        known.update(new)
    return found


def _references(value: Any) -> list[str]:
    """Every model named inside a model's state, by the order of the keys' names."""
    if isinstance(value, dict):
        return [name for key in sorted(value) for name in _references(value[key])]
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    return _REFERENCE.findall(value) if isinstance(value, str) else []


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: f"IPY_MODEL_{names.get(match[1], match[1])}", value)
    return value
