"""Groups of parameters by their paths: each with an optimizer, a weight decay and a learning rate of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeAlias

from tinyburn.base.errors import ConfigError
from tinyburn.module import Config, Module, ParamId

from .checks import AnyParam
from .optimizer import Optimizer
from .update import Primitive, Update

Where: TypeAlias = str | Callable[[str, AnyParam], bool]


class _OptimizerConfig(Protocol):
    """The config of any optimizer."""

    def init(self) -> Optimizer[Any]:
        """The optimizer, without any state yet."""
        ...


@dataclass(frozen=True)
class Group:
    """Some parameters of a model, and how they are trained.

    Attributes:
        where: their paths, as in ``"*.bias"``, where ``*`` stands for anything; or a function of a path and a
            parameter that says whether it belongs here.
        config: of the optimizer that trains them, as in ``AdamConfig()``.
        lr_factor: their learning rate is that of the step times this.
    """

    where: Where
    config: _OptimizerConfig
    lr_factor: float = 1.0

    def __post_init__(self) -> None:
        reasons = []
        if not (isinstance(self.where, str) or callable(self.where)):
            reasons.append(f"where is {self.where!r}, and should be a path or a function of a path and a parameter")
        if not (isinstance(self.config, Config) and hasattr(self.config, "init")):
            reasons.append(f"config is {self.config!r}, and should be that of an optimizer, as AdamConfig()")
        if not 0 <= self.lr_factor < math.inf:
            reasons.append(f"lr_factor is {self.lr_factor}, and must be a finite number of 0 or more")
        if reasons:
            raise ConfigError("Group", reasons)

    def has(self, path: str, param: AnyParam) -> bool:
        """Whether a parameter fits."""
        return fnmatchcase(path, self.where) if isinstance(self.where, str) else bool(self.where(path, param))


class Groups(Optimizer[Any]):
    """An optimizer that is made of several, one for each group; a parameter is of the first group that it fits.

    ``optim.Groups([Group("*.bias", SgdConfig()), Group("*", AdamConfig(weight_decay=0.01))])``

    A step raises ConfigError if a parameter of the model is in no group, or a group has no parameters. Clipping is done
    within each group; for the norm of all gradients together, `clip_by_global_norm` comes before the step.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        wrong = [repr(one) for one in groups if not isinstance(one, Group)]
        if wrong or not groups:
            reasons = [f"{one} is no Group" for one in wrong] or ["there are no groups"]
            raise ConfigError("Groups", reasons, hint='write optim.Groups([optim.Group("*", optim.AdamConfig())])')
        super().__init__(tuple(groups))
        self._members = [group.config.init() for group in groups]
        self._group_of: dict[ParamId, int] = {}

    def __repr__(self) -> str:
        return f"Groups({', '.join(map(repr, self.config))})"

    def check_model(self, asked: str, model: Module, found: list[tuple[str, AnyParam]]) -> None:
        """See `Optimizer`; it also finds the group of each parameter."""
        super().check_model(asked, model, found)
        if not all(param.id in self._group_of for _, param in found):
            self._group_of = self._grouped(asked, model)

    def _grouped(self, asked: str, model: Module) -> dict[ParamId, int]:
        """The number of the group of each parameter."""
        chosen: dict[ParamId, int] = {}
        left = []
        for path, param in model.named_params():
            number = next((at for at, group in enumerate(self.config) if group.has(path, param)), None)
            if number is None:
                left.append(path)
            else:
                chosen[param.id] = number
        reasons = [f"{path} is in no group" for path in left]
        reasons += [
            f"no parameter is left for the group {group.where!r}" if isinstance(group.where, str) else _unused(at)
            for at, group in enumerate(self.config)
            if at not in chosen.values()
        ]
        if reasons:
            hint = (
                f'a last group "*" takes the rest; the paths are {", ".join(path for path, _ in model.named_params())}'
            )
            raise ConfigError(asked, reasons, hint=hint)
        return chosen

    def _clipped(self, updates: Iterable[tuple[AnyParam, Update]]) -> Iterable[tuple[AnyParam, Update]]:
        if all(member._clipping is None for member in self._members):
            return updates
        parts: list[list[tuple[AnyParam, Update]]] = [[] for _ in self._members]
        for param, update in updates:
            parts[self._group_of[param.id]].append((param, update))
        return [pair for member, part in zip(self._members, parts, strict=True) for pair in member._clipped(part)]

    def _next(self, lr: float, p: Update) -> Primitive:
        number = self._group_of[p.identity]
        return self._members[number]._next(lr * self.config[number].lr_factor, p)

    def kept_names(self) -> tuple[str, ...]:
        """Every name that some group has."""
        return tuple(dict.fromkeys(name for member in self._members for name in member.kept_names()))

    def names_for(self, path: str, param: AnyParam) -> tuple[str, ...]:
        """Those of its group."""
        for group, member in zip(self.config, self._members, strict=True):
            if group.has(path, param):
                return member.kept_names()
        return ()


def _unused(number: int) -> str:
    return f"no parameter is left for group number {number}, whose function said no to all or came too late"
