"""The tensors among a forward pass's arguments and results, each with a name, however they are nested."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

from tinyburn.base.errors import OnnxError
from tinyburn.module import Module
from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Replace: TypeAlias = Callable[[str, AnyTensor], Any]


def replaced(value: Any, name: str, replace: Replace) -> Any:
    """The same value with something in place of each tensor in it: in tuples, lists, dicts and dataclasses."""
    if isinstance(value, Tensor):
        return replace(name, value)
    below = f"{name}." if name else ""
    if isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        items = [replaced(item, f"{below}{at}", replace) for at, item in zip(names, value, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: replaced(item, f"{below}{key}", replace) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(
            value, **{field: replaced(getattr(value, field), f"{below}{field}", replace) for field in fields}
        )
    return value


def tensors_in(value: Any, name: str = "") -> dict[str, AnyTensor]:
    """The tensors in a value by their names."""
    found: dict[str, AnyTensor] = {}

    def keep(name: str, tensor: AnyTensor) -> AnyTensor:
        found[name] = tensor
        return tensor

    replaced(value, name, keep)
    return found


class Port:
    """An input of the file.

    Attributes:
        dim: that of the batch; None if it has none.
    """

    def __init__(self, name: str, tensor: AnyTensor, dim: int | None) -> None:
        self.name, self.tensor, self.dim = name, tensor, dim

    def __repr__(self) -> str:
        return f"Port({self.name}, {self.tensor.shape})"

    def shape(self, batch: int | None) -> tuple[int, ...]:
        """The example's, but for the batch."""
        shape = tuple(self.tensor.shape)
        if self.dim is None or batch is None:
            return shape
        return (*shape[: self.dim], batch, *shape[self.dim + 1 :])


class Example:
    """The arguments that a module is run with.

    Attributes:
        arguments: by the names of forward's parameters, in their order.
        ports: the tensors among them, by the names that they have there.
        batch: the length of the batch; None if it is fixed.
    """

    def __init__(
        self, module: Module, inputs: Any, names: Sequence[str] | None, batch_dims: Mapping[str, int] | None
    ) -> None:
        self._bound = _bound(module, inputs)
        self.arguments: dict[str, Any] = dict(self._bound.arguments)
        found = tensors_in(self.arguments)
        given = list(found) if names is None else list(names)
        if len(given) != len(found) or len(set(given)) != len(given):
            reason = f"there are {len(found)} tensors, {', '.join(found) or 'none'}, and the names {', '.join(given)}"
            raise OnnxError("onnx.save", reason, hint="names= has another name for each, or leave it out")
        dims = self._dims(dict(zip(given, found.values(), strict=True)), batch_dims)
        pairs = zip(found.items(), given, strict=True)
        self.ports = {inside: Port(name, tensor, dims.get(name)) for (inside, tensor), name in pairs}

    def __repr__(self) -> str:
        return f"Example({', '.join(map(repr, self.ports.values()))})"

    @property
    def free(self) -> Port | None:
        """The first input that has the batch."""
        return next((port for port in self.ports.values() if port.dim is not None), None)

    def fix(self) -> None:
        """The batch is that of the example."""
        for port in self.ports.values():
            port.dim = None

    def call(self, forward: Callable[..., Any], replace: Replace) -> Any:
        """Runs a forward with something in place of each tensor."""
        self._bound.arguments.update(replaced(self.arguments, "", replace))
        return forward(*self._bound.args, **self._bound.kwargs)

    def _dims(self, tensors: Mapping[str, AnyTensor], batch_dims: Mapping[str, int] | None) -> dict[str, int]:
        """The dim of the batch, of each input that has one."""
        if batch_dims is None:
            lengths = {name: tensor.shape[0] for name, tensor in tensors.items()}
            first = next(iter(lengths.values()), None)
            return {name: 0 for name, length in lengths.items() if length == first}
        unknown = [name for name in batch_dims if name not in tensors]
        if unknown:
            reason = f"batch_dims names {', '.join(unknown)}, and the inputs are {', '.join(tensors)}"
            raise OnnxError("onnx.save", reason)
        dims = {name: dim % tensors[name].rank for name, dim in batch_dims.items()}
        lengths = {name: tensors[name].shape[dim] for name, dim in dims.items()}
        if len(set(lengths.values())) > 1:
            reason = "the batch has one length in all inputs"
            raise OnnxError("onnx.save", reason, given=lengths, hint="batch_dims has the dim of the batch by input")
        return dims


def _bound(module: Module, inputs: Any) -> Any:
    """The inputs as forward's parameters."""
    forward = signature(module.forward)
    try:
        if isinstance(inputs, Mapping):
            return forward.bind(**inputs)
        return forward.bind(*(inputs if isinstance(inputs, (tuple, list)) else (inputs,)))
    except TypeError as error:
        reason = f"the inputs do not fit forward{forward}: {error}"
        hint = "give the tensors in a tuple, or by the names of forward's parameters in a dict"
        raise OnnxError("onnx.save", reason, hint=hint) from error
