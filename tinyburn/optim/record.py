"""The state of an optimizer as plain dicts, by the paths of the parameters, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tinyburn.base.errors import ConfigError
from tinyburn.module import Module
from tinyburn.tensor import Tensor, TensorData

from .checks import AnyParam
from .update import State, States

KeptFor: TypeAlias = Callable[[str, AnyParam], tuple[str, ...]]
"""The names of the tensors in the state of a parameter."""


def written_states(states: States, model: Module) -> dict[str, dict[str, Any]]:
    """For each path the count of steps and the tensors by name."""
    rows = {}
    for path, param in model.named_params():
        state = states.get(param.id, State()).shared()
        rows[path] = {"steps": state.steps, **state.tensors}
    return rows


def read_states(name: str, keeps_for: KeptFor, written: Any, model: Module) -> States:
    """What the optimizer of this name has written. Raises ConfigError with everything that does not fit."""
    asked = f"{name}.load_state"
    if not isinstance(written, dict) or not isinstance(written.get("params"), dict):
        raise ConfigError(asked, "it is no state of an optimizer", hint="hand it what optimizer.state(model) returns")
    params, rows = dict(model.named_params()), written["params"]
    reasons = [] if written.get("optimizer") == name else [f"it is the state of {written.get('optimizer')}, not {name}"]
    reasons += [f"{path} has no state" for path in params if path not in rows]
    reasons += [f"there is a state of {path}, and no such parameter" for path in rows if path not in params]
    if reasons:
        hint = "load it for a model with the same paths, into an optimizer of the same config"
        raise ConfigError(asked, reasons, hint=hint)
    placed = {path: _placed(rows[path], param) for path, param in params.items()}
    for path, param in params.items():
        reasons += _misfits(path, param, placed[path], keeps_for(path, param))
    if reasons:
        raise ConfigError(asked, reasons, hint="load it with the config, the shapes and the device of its model")
    return {
        param.id: State(placed[path]["steps"], _tensors(placed[path]))
        for path, param in params.items()
        if _is_used(placed[path])
    }


def _placed(row: Any, param: AnyParam) -> Any:
    """The state of a parameter with what comes from a file, and so from the host, on the parameter's device."""
    if not isinstance(row, dict):
        return row
    value: Any = param.val()
    device = (value.inner() if value.backend.is_autodiff else value).device
    return {
        name: Tensor.from_data(item, device, dtype=item.dtype) if isinstance(item, TensorData) else item
        for name, item in row.items()
    }


def _tensors(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "steps"}


def _is_used(row: dict[str, Any]) -> bool:
    return row["steps"] > 0 or len(row) > 1


def _misfits(path: str, param: AnyParam, row: Any, names: tuple[str, ...]) -> list[str]:
    """What is wrong with the state of one parameter."""
    if not isinstance(row, dict) or type(row.get("steps")) is not int:
        return [f"the state of {path} has no whole number of steps"]
    if not _is_used(row):
        return []
    reasons = [f"{path} has no {name}" for name in names if name not in row]
    for name, tensor in _tensors(row).items():
        if name not in names:
            reasons.append(f"{path} has a {name}, which is not used")
        elif not isinstance(tensor, Tensor):
            reasons.append(f"{name} of {path} is {type(tensor).__name__}, and should be a Tensor")
        else:
            reasons += _other_kind(f"{name} of {path}", tensor, param)
    return reasons


def _other_kind(name: str, tensor: Tensor[Any, Any, Any], param: AnyParam) -> list[str]:
    value: Any = param.val()
    value = value.inner() if value.backend.is_autodiff else value
    pairs = (("shape", tensor.shape, value.shape), ("dtype", tensor.dtype, value.dtype))
    reasons = [
        f"{name} has the {what} {found}, and the parameter {wanted}" for what, found, wanted in pairs if found != wanted
    ]
    if tensor.device != value.device:
        reasons.append(f"{name} is on {tensor.device}, and the parameter on {value.device}")
    return reasons
