"""An operation with a derivative of its own: a forward pass in tensors, and a rule for each operand.

    cube = autodiff.operation("cube", lambda x: x * x * x, lambda g, x: g * x * x * 3)

Without it, Autodiff would differentiate each product by itself. With it, the graph has one node of that name, which
keeps what its rules name, and nothing from inside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tinyburn.backend.operations import OPERATIONS, Operation, broadcast
from tinyburn.base.errors import BackendMismatch, ConfigError, DTypeMismatch, ShapeError
from tinyburn.base.scope import enter, leave
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor

from .checkpointing import CHECKPOINT
from .nodes import CONSTANT, LEAF, GraphArray, attach_node, expect_calls
from .recording import plan_of
from .rules import AnyTensor, Derivative, Rule

TAKEN = ("g", "out", "which")
"""Names that mean something else in a rule, so that no parameter can have them."""


def operation(name: str, forward: Callable[..., AnyTensor], *rules: Derivative | None) -> OwnOperation:
    """An operation of tensors, with its derivative.

    Args:
        name: what pictures, logs and errors call it.
        forward: computes the result: one tensor, from tensors and then, if it likes, from other arguments. It gets the
            tensors without the graph.
        rules: for each tensor among the parameters of ``forward``, in their order, how its gradient comes from ``g``,
            the gradient of the result. After ``g`` a rule asks by name for what it needs, and that is kept for the
            backward pass: parameters of ``forward``, or ``out`` for the result. ``x_shape`` and ``x_dtype``, of its
            own tensor ``x``, come first and keep nothing alive. It is written with tensors, so it can be
            differentiated in turn. None stands for no gradient.

    Returns:
        A function of the same parameters, for tensors of any backend.

    Raises:
        ConfigError: the name is taken, or a rule asks for what there is not.
    """
    parameters = tuple(inspect.signature(forward).parameters)
    problems = _problems(name, parameters, rules)
    if problems:
        hint = "write operation('cube', lambda x: x * x * x, lambda g, x: g * x * x * 3)"
        raise ConfigError(f"operation({name!r})", problems, hint=hint)
    declared = Operation(parameters, f"{name}, defined with a rule of its own", broadcast, name=name)
    declared.tensors = tuple(range(len(rules)))
    try:
        return OwnOperation(declared, forward, [(at, OwnRule(declared, at, x)) for at, x in enumerate(rules) if x])
    except TypeError as error:
        raise ConfigError(f"operation({name!r})", str(error), hint="name parameters of forward, or out") from None


def _problems(name: str, parameters: tuple[str, ...], rules: Sequence[Derivative | None]) -> list[str]:
    problems = []
    if not name.isidentifier():
        problems.append("the name has to be one word, as of a function")
    if name in OPERATIONS or name in (LEAF, CONSTANT, CHECKPOINT):
        problems.append("tinyburn has something of this name already, and pictures would take one for the other")
    if not any(rules):
        problems.append("there is no rule, so no gradient could go through")
    if len(rules) > len(parameters):
        problems.append(f"there are {len(rules)} rules, and forward has {len(parameters)} parameters")
    problems += [f"no parameter can have the name {taken}" for taken in TAKEN if taken in parameters]
    return problems


class OwnRule(Rule):
    """A rule that was not written here: nobody knows whether what it gives is new, and it may have the wrong shape."""

    __slots__ = ("_where",)
    is_exclusive = False

    def __init__(self, declared: Operation, at: int, derivative: Derivative) -> None:
        super().__init__(declared, at, derivative)
        self._where = f"the rule of {declared.name} for {declared.parameters[at]}"
        self.operation, self.makes_new = "", False

    def gradient(self, g: AnyTensor, saved: Sequence[Any], parent: Any, is_spare: bool) -> AnyTensor:
        """As of any rule. Raises BackendMismatch, DTypeMismatch or ShapeError for what cannot be the gradient."""
        found = super().gradient(g, saved, parent, is_spare)
        if not isinstance(found, Tensor) or found.device != g.device:
            raise BackendMismatch("backward", f"{self._where} gave no tensor on {g.device}")
        if found.primitive.dtype != parent.dtype:
            raise DTypeMismatch("backward", f"{self._where} gave {found.dtype}, and its tensor is {parent.dtype.name}")
        if found.shape != parent.shape and not _stretches(parent.shape, found.shape):
            reason = f"{self._where} gave shape {found.shape}, and its tensor has {parent.shape}"
            raise ShapeError("backward", reason, hint="a larger gradient is summed where the tensor has size 1")
        return found


def _stretches(shape: Any, wide: Any) -> bool:
    """Whether a shape can be broadcast to a wide one."""
    return len(shape) == len(wide) and all(a in (1, b) for a, b in zip(shape, wide, strict=True))


class OwnOperation:
    """What `operation` returns: call it with tensors."""

    def __init__(self, declared: Operation, forward: Callable[..., AnyTensor], rules: list[tuple[int, Rule]]) -> None:
        self._declared = declared
        self._forward = forward
        self._signature = inspect.signature(forward)
        self._plan = cache(lambda *tracked: plan_of(rules, tracked))

    def __repr__(self) -> str:
        return f"operation({self._declared.name}{self._signature})"

    def __call__(self, *arguments: Any, **options: Any) -> AnyTensor:
        """The result, on the device of the tensors; tracked, if one of them is that has a rule."""
        bound = self._signature.bind(*arguments, **options)
        bound.apply_defaults()
        return self._run(self._checked(bound.args))

    def _checked(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        name, tensors = self._declared.name, [arguments[at] for at in self._declared.tensors]
        for tensor in tensors:
            check_tensor(name, tensor)
            check_operands(name, tensors[0], tensor, dtype=False, shapes=False)
        for parameter, other in list(zip(self._declared.parameters, arguments, strict=False))[len(tensors) :]:
            if isinstance(other, Tensor):
                hint = "give it one, or None where no gradient is wanted; tensors come first"
                raise ConfigError(name, f"{parameter} is a tensor, and the operation has no rule for it", hint=hint)
        backend: Any = tensors[0].device.backend
        while backend.is_decorator and not backend.is_autodiff:
            backend = backend.inner
            if backend.is_autodiff:
                reason = f"{tensors[0].device.backend.__name__} hides the graph of {backend.__name__}"
                raise BackendMismatch(name, reason, hint="put Autodiff outside: Autodiff[Traced[B]]")
        return arguments

    def _run(self, arguments: tuple[Any, ...]) -> AnyTensor:
        """At each level of Autodiff the operation is computed inside, as one, and gets a node."""
        device: Any = arguments[0].device
        if not device.backend.is_autodiff:
            return self._compute(arguments, device)
        inside = self._run(tuple(x.inner() if isinstance(x, Tensor) else x for x in arguments))
        graphs = [x.primitive if isinstance(x, Tensor) else x for x in arguments]
        result = GraphArray(inside.primitive)
        plan = self._plan(*[at for at, x in enumerate(graphs) if type(x) is GraphArray and x.is_tracked])
        if plan is not None and result.dtype.kind == "f":
            values = [x.recipe or x.primitive if type(x) is GraphArray else x for x in graphs]
            saved = plan.pick([*values, inside.primitive])
            expect_calls(saved)
            attach_node(result, self._declared.name, graphs, plan.rules, saved, device.backend.inner)
        return Tensor._around(result, device)

    def _compute(self, arguments: tuple[Any, ...], device: Any) -> AnyTensor:
        """Without a graph; a log has the steps under the operation's name, as those of a module."""
        token = enter(self._declared.name)
        try:
            output = self._forward(*arguments)
        finally:
            leave(token)
        if not isinstance(output, Tensor) or output.device != device:
            found = f"a tensor on {output.device}" if isinstance(output, Tensor) else type(output).__name__
            raise BackendMismatch(self._declared.name, f"forward returned {found}, and not one tensor on {device}")
        return output
