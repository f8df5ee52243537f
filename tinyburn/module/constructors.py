"""What somebody gets who makes a layer as in PyTorch, ``nn.Embedding(10, 3)``: an error that names the config.

A layer's own constructor takes the parameters that its config has made, so most calls of that kind do not fit it.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import wraps
from typing import Any

from tinyburn.base.errors import ForeignCall

from .config import Config


def explain_constructors(folder: str, names: dict[str, Any]) -> None:
    """Gives each class with a config an error of ours for a call that does not fit its constructor.

    Args:
        folder: where users find the classes, such as ``nn``.
        names: the classes and the configs, by their names.
    """
    for name, config in list(names.items()):
        made = names.get(name.removesuffix("Config"))
        if name.endswith("Config") and made is not None and issubclass(config, Config):
            made.__init__ = _explained(f"{folder}.{made.__name__}", made.__init__, f"write {_call(folder, config)}")


def _call(folder: str, config: type[Config]) -> str:
    """How the config is used: with the fields that have no default, and a device if it needs one."""
    missing = dataclasses.MISSING
    needed = [x.name for x in dataclasses.fields(config) if x.default is missing and x.default_factory is missing]
    device = inspect.signature(getattr(config, "init")).parameters.get("device")  # noqa: B009  # mypy knows no init
    arguments = "device" if device is not None and device.default is inspect.Parameter.empty else ""
    more = ", and step(lr, model, grads)" if folder == "optim" else ""
    return f"{folder}.{config.__name__}({', '.join(needed)}).init({arguments}){more}"


def _explained(name: str, init: Any, hint: str) -> Any:
    @wraps(init)
    def call(self: Any, *arguments: Any, **options: Any) -> None:
        try:
            init(self, *arguments, **options)
            return
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the constructor
        raise ForeignCall(name, "it is made by its config", hint=hint)

    return call
