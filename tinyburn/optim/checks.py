"""What every optimizer asks before it steps: whether the gradients are those of the model."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from tinyburn.autodiff import Gradients, Node
from tinyburn.base.errors import ConfigError, GraphError
from tinyburn.module import Config, Module, Param, ParamId

AnyParam: TypeAlias = Param[Any, Any]

MOST_NAMED = 6
"""How many gradients an error names."""


def check_rate(asked: str, lr: Any) -> float:
    """A learning rate as Python's float. Raises ConfigError if it is no finite number of 0 or more."""
    try:
        is_fine = bool(0 <= lr < math.inf)
        return float(lr) if is_fine else _no_rate(asked, lr)
    except TypeError:
        return _no_rate(asked, lr)


def _no_rate(asked: str, lr: Any) -> float:
    if isinstance(lr, int | float):
        raise ConfigError(asked, f"the learning rate is {lr}, and must be a finite number of 0 or more")
    hint = "write scheduler.step(), which returns one" if hasattr(lr, "step") else "a number, then the model"
    raise ConfigError(asked, f"{type(lr).__name__} is no learning rate", hint=hint)


def check_gradients(asked: str, model: Module, grads: Gradients[Any]) -> list[tuple[str, AnyParam]]:
    """The parameters that have a gradient, with their paths: at least one, and nothing is left behind in silence.

    Raises:
        ConfigError: ``model`` is no module, or ``grads`` are no gradients; a tracked tensor of the model has a
            gradient, but is no `Param`; or two values of one parameter have one each.
        GraphError: no parameter has a gradient. It names what the gradients belong to.
    """
    if not isinstance(model, Module):
        raise ConfigError(asked, f"{type(model).__name__} is no Module", hint="hand it the model, then the gradients")
    if not isinstance(grads, Gradients):
        reason = f"{type(grads).__name__} holds no gradients"
        raise ConfigError(asked, reason, hint="hand it what loss.backward() returns")
    reached: dict[ParamId, tuple[str, AnyParam]] = {}
    tensors: list[str] = []
    reaches = grads.reaches
    for path, part in model.named_values():
        if isinstance(part, Param):
            if reaches(part.val()):
                before, first = reached.setdefault(part.id, (path, part))
                if first is not part:
                    raise _two_values(asked, before, path)
        elif reaches(part):
            tensors.append(path)
    if tensors:
        raise _no_params(asked, tensors)
    if not reached:
        raise _nothing_reached(asked, model, grads)
    return list(reached.values())


def _two_values(asked: str, first: str, second: str) -> ConfigError:
    reason = f"{first} and {second} are two values of one parameter, and each has a gradient"
    hint = "make the second one with fork(device), or with copy.copy(param) inside a map: both make copies"
    return ConfigError(asked, reason, hint=hint)


def _no_params(asked: str, names: list[str]) -> ConfigError:
    reasons = [f"{name} is tracked and has a gradient, but it is no Param, so no step changes it" for name in names]
    hint = "write Param.from_tensor(...) around it to train it, or keep it as a constant, without require_grad()"
    return ConfigError(asked, reasons, hint=hint)


def _nothing_reached(asked: str, model: Module, grads: Gradients[Any]) -> GraphError:
    paths = {param.id: path for path, param in model.named_params()}
    reasons = [f"no parameter of {type(model).__name__} has a gradient here, so the step would change nothing"]
    params = [param for _, param in model.named_params()]
    if params and all(param.is_frozen for param in params):
        reasons.append("all of them are frozen")
    if params and not any(param.val().backend.is_autodiff for param in params):
        reasons.append("none of them is on an autodiff backend")
    if grads.takers:
        reasons.append(f"{' and '.join(grads.takers)} has taken gradients of them already")
    nodes = grads.nodes()
    reasons += [f"there is a gradient of {_owner(node, paths)}" for node in nodes[:MOST_NAMED]]
    if len(nodes) > MOST_NAMED:
        reasons.append(f"there are gradients of {len(nodes) - MOST_NAMED} more")
    if not nodes:
        reasons.append("there are no gradients left" if grads.takers else "there are no gradients at all")
    if grads.takers or any(node.identity in paths for node in nodes):
        hint = "compute the loss and its gradients anew with this model: each step needs gradients of its own"
    elif nodes and not any(node.is_parameter for node in nodes):
        hint = "compute the loss with this model; a tensor that shall be trained is made a Param.from_tensor(...)"
    else:
        hint = "hand it the model of the loss; fork() and every other way to copy gives parameters of their own"
    return GraphError(asked, reasons, hint=hint)


def _owner(node: Any, paths: dict[ParamId, str]) -> str:
    """What a leaf is, seen from a model whose parameters have these paths."""
    leaf: Node = node
    kind = f"{leaf.shape} {leaf.dtype.name}"
    if node.identity in paths:
        return f"another value of {paths[node.identity]}, {kind}"
    return f"a parameter of another model, {kind}" if leaf.is_parameter else f"a tensor that is no Param, {kind}"


# What a config may hold


def finite_from_zero(config: Config, *names: str) -> list[str]:
    """A reason for each field that is no finite number of 0 or more."""
    return [
        f"{name} is {getattr(config, name)}, and must be a finite number of 0 or more"
        for name in names
        if not 0 <= getattr(config, name) < math.inf
    ]


def above_zero(config: Config, *names: str) -> list[str]:
    """A reason for each field that is no finite number above 0."""
    return [
        f"{name} is {getattr(config, name)}, and must be a finite number above 0"
        for name in names
        if not 0 < getattr(config, name) < math.inf
    ]


def shares(config: Config, *names: str) -> list[str]:
    """A reason for each field that is no share: from 0 to below 1."""
    return [
        f"{name} is {getattr(config, name)}, and must be from 0 to below 1"
        for name in names
        if not 0 <= getattr(config, name) < 1
    ]
