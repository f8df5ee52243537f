"""The tensors of a model by their paths, and a model with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from tinyburn.base.errors import ConfigError
from tinyburn.module import Module, Param
from tinyburn.module.module import _copied, _Rebuilding
from tinyburn.tensor import Tensor, TensorData

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
M = TypeVar("M", bound=Module)


def values_of(model: Module) -> dict[str, AnyTensor]:
    """Each parameter, and each other tensor, by its path, on the backend inside autodiff. One that is shared comes
    once."""
    seen: set[int] = set()
    found = {}
    for path, part in model.named_values():
        if id(part) not in seen:
            seen.add(id(part))
            tensor: AnyTensor = part.val() if isinstance(part, Param) else part
            found[path] = tensor.inner() if tensor.backend.is_autodiff else tensor
    return found


def with_values(model: M, values: Mapping[str, AnyTensor | TensorData], asked: str) -> M:
    """The same parameters with other values, and other tensors in the places of the rest.

    They can be tensors, or what a file holds. Raises ConfigError, with everything that does not fit: paths that are
    missing or unknown, another shape, dtype or device.
    """
    own = values_of(model)
    placed: dict[str, Any] = {path: _placed(value, own.get(path)) for path, value in values.items()}
    reasons = [f"{path} has no value" for path in own if path not in placed]
    reasons += [f"there is a value of {path}, and no such place" for path in placed if path not in own]
    for path in own.keys() & placed.keys() if not reasons else ():
        reasons += _misfits(path, placed[path], own[path])
    if reasons:
        raise ConfigError(asked, sorted(reasons), hint="load it into a model that was made by the same config")
    by_part = {id(part): placed[path] for path, part in reversed(list(model.named_values())) if path in placed}
    return _copied(
        model,
        lambda param: param.replaced(_on_its_device(by_part[id(param)], param.val())),
        lambda tensor: _on_its_device(by_part[id(tensor)], tensor),
    )


def _placed(value: Any, own: AnyTensor | None) -> Any:
    """What comes from a file, and so from the host, on the device of the tensor whose place it takes."""
    if own is None or not isinstance(value, TensorData):
        return value
    return Tensor.from_data(value, own.device, dtype=value.dtype)


def _on_its_device(value: AnyTensor, place: AnyTensor) -> AnyTensor:
    moved: AnyTensor = Tensor.from_inner(value, place.device) if place.backend.is_autodiff else value
    return moved


def _misfits(path: str, value: object, own: AnyTensor) -> list[str]:
    if not isinstance(value, Tensor):
        return [f"{path} is {type(value).__name__}, and should be a Tensor"]
    pairs = (("shape", value.shape, own.shape), ("dtype", value.dtype, own.dtype), ("device", value.device, own.device))
    return [
        f"{path} has the {what} {found}, and the model {wanted}" for what, found, wanted in pairs if found != wanted
    ]


def with_tensors(model: M, tensors: Mapping[str, AnyTensor]) -> M:
    """The same parameters, and these tensors in the places of the others: what a forward pass has changed goes back."""
    earlier = {id(tensor): tensors[path] for path, tensor in model.named_tensors()}
    return _Rebuilding(lambda param: param, lambda tensor: earlier[id(tensor)]).of(model)
