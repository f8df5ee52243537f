"""Derivatives as functions over functions: what goes in is a function of tensors, and so is what comes out.

Each of them puts one more `Autodiff` around the backend of the tensors, lets the function run on that, and takes it off
again. So they work on plain tensors, which stay plain, and on tracked ones, through whose graph the derivative can be
differentiated once more: ``grad(grad(f))`` is the second derivative of ``f``.

The function gets its tensors on the backend ``Autodiff[B]``. What it computes with has to come in as an argument: a
tensor of ``B`` that it reaches in another way does not meet them, and the error says so. That also keeps the levels of
nested derivatives apart.

A function that does not depend on an argument has the derivative 0 there, and that is what comes out. It is never None,
which ``x.grad(grads)`` says of a tensor that no gradient has reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from tinyburn.backend.interface import Backend
from tinyburn.base.dtype import Float
from tinyburn.base.errors import BackendMismatch, ConfigError, ShapeError
from tinyburn.base.shape import num_elements
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_operands, check_tensor

from .recording import Autodiff
from .rules import AnyTensor

B = TypeVar("B", bound=Backend)
D = TypeVar("D")

Function: TypeAlias = Callable[..., AnyTensor]
Pull: TypeAlias = Callable[[AnyTensor], tuple[AnyTensor, ...]]
"""From a gradient of a function's result to the gradients of its inputs."""


# One level up, and down again


def _lifted(asked: str, inputs: Sequence[Any], wrt: Sequence[int]) -> list[Any]:
    """The inputs one `Autodiff` further out: those at ``wrt`` as leaves, other tensors as constants."""
    for at in wrt:
        if not 0 <= at < len(inputs):
            raise ShapeError(asked, f"there is no input {at} among {len(inputs)}", hint="wrt counts from 0")
        check_tensor(asked, inputs[at])
        check_operands(asked, inputs[wrt[0]], inputs[at], dtype=False, shapes=False)
    device = Autodiff.over(inputs[wrt[0]].device)
    lifted = [Tensor.from_inner(x, device) if isinstance(x, Tensor) else x for x in inputs]
    for at in wrt:
        lifted[at] = lifted[at].require_grad()
    return lifted


def _run(asked: str, function: Function, lifted: Sequence[Any], wrt: Sequence[int]) -> AnyTensor:
    """The function's result. Raises BackendMismatch for one that is not a tensor beside the inputs."""
    output = function(*lifted)
    device = lifted[wrt[0]].device
    if isinstance(output, Tensor) and output.device == device:
        return output
    found = f"a tensor on {output.device}" if isinstance(output, Tensor) else type(output).__name__
    raise BackendMismatch(asked, f"the function returned {found}, and not one tensor on {device}")


def _pulled(output: AnyTensor, leaves: Sequence[AnyTensor], g: AnyTensor | None, keep: bool) -> tuple[AnyTensor, ...]:
    """The gradients of the leaves, zeros where there is none."""
    if not output.primitive.is_tracked:
        return tuple(leaf.inner().zeros_like() for leaf in leaves)
    grads = output.backward(g, retain_graph=keep)
    found = [leaf.grad(grads) for leaf in leaves]
    return tuple(leaf.inner().zeros_like() if one is None else one for one, leaf in zip(found, leaves, strict=True))


# Backwards: from a gradient of the result to those of the inputs


def vjp(function: Function, *inputs: AnyTensor) -> tuple[AnyTensor, Pull]:
    """The function's value, and a function that multiplies a vector by its Jacobian, from the left.

    Args:
        function: takes the inputs and returns one tensor, of any shape.
        inputs: float tensors on one device.

    Returns:
        The value, and ``pull``. For a tensor ``g`` of the value's shape, ``pull(g)`` is a tuple with the gradient of
        ``(value * g).sum()`` for each input. It can be called again, and keeps the graph until it goes.
    """
    wrt = range(len(inputs))
    lifted = _lifted("vjp", inputs, wrt or (0,))
    output = _run("vjp", function, lifted, wrt)

    def pull(g: AnyTensor) -> tuple[AnyTensor, ...]:
        check_operands("vjp", output.inner(), g, shapes=False)
        if g.shape != output.shape:
            raise ShapeError("vjp", f"the gradient has shape {g.shape}, and the function's value {output.shape}")
        return _pulled(output, lifted, g, keep=True)

    return output.inner(), pull


@overload
def value_and_grad(function: Function, wrt: int = 0) -> Callable[..., tuple[AnyTensor, AnyTensor]]: ...
@overload
def value_and_grad(
    function: Function, wrt: tuple[int, ...]
) -> Callable[..., tuple[AnyTensor, tuple[AnyTensor, ...]]]: ...
def value_and_grad(function: Function, wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function that computes ``function`` and its gradient.

    Args:
        function: returns a single number, as a tensor of any rank.
        wrt: the position of the argument that is differentiated, or a tuple of several.

    Returns:
        A function of the same arguments. It gives the value, and the gradient in the argument's shape and dtype; a
        tuple of gradients, if ``wrt`` is a tuple. It raises ShapeError where ``function`` returns several numbers.

    Raises ConfigError for what is not a function.
    """
    if not callable(function):
        reason = f"{type(function).__name__} is not a function"
        raise ConfigError("grad", reason, hint="write grad(function)(x); for a loss that is there, loss.backward()")
    places = wrt if isinstance(wrt, tuple) else (wrt,)

    def differentiated(*inputs: Any) -> tuple[AnyTensor, Any]:
        lifted = _lifted("grad", inputs, places)
        output = _run("grad", function, lifted, places)
        if num_elements(output.shape) != 1:
            reason = f"the function returned shape {output.shape}, and a gradient is that of one number"
            raise ShapeError("grad", reason, hint="add them up with .sum(), or take autodiff.vjp or autodiff.jacobian")
        found = _pulled(output, [lifted[at] for at in places], None, keep=False)
        return output.inner(), found if isinstance(wrt, tuple) else found[0]

    return differentiated


@overload
def grad(function: Function, wrt: int = 0) -> Callable[..., AnyTensor]: ...
@overload
def grad(function: Function, wrt: tuple[int, ...]) -> Callable[..., tuple[AnyTensor, ...]]: ...
def grad(function: Function, wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function that computes the gradient of ``function``: `value_and_grad` without the value."""
    both = value_and_grad(function, wrt)
    return lambda *inputs: both(*inputs)[1]


def jacobian(function: Function, wrt: int = 0) -> Callable[..., AnyTensor]:
    """The function that computes all derivatives: of each number of the result, by each number of an argument.

    It runs ``function`` once, and goes back through it once for each number of the result.

    Returns:
        A function of the same arguments, whose result has the dims of the value of ``function``, and then those of the
        argument at ``wrt``.
    """

    def differentiated(*inputs: Any) -> AnyTensor:
        lifted = _lifted("jacobian", inputs, (wrt,))
        output = _run("jacobian", function, lifted, (wrt,))
        value, x = output.inner(), lifted[wrt].inner()
        shape, count = (*value.shape, *x.shape), num_elements(value.shape)
        if not count:
            return Tensor.zeros(shape, x.device, x.dtype)
        units: AnyTensor = Tensor.eye(count, x.device).cast(value.dtype)
        rows = [
            _pulled(output, [lifted[wrt]], units[at : at + 1].reshape(value.shape), keep=True)[0].unsqueeze()
            for at in range(count)
        ]
        return Tensor.cat(rows, 0).reshape(shape)

    return differentiated


# Forwards: from a direction at the inputs to that of the result


def jvp(
    function: Function, inputs: Sequence[AnyTensor], directions: Sequence[AnyTensor]
) -> tuple[AnyTensor, AnyTensor]:
    """The function's value, and its derivative along a direction: the Jacobian times a vector, from the right.

    There are no rules for the way forward. But ``pull`` of `vjp` is linear, ``pull(g) = g J``, so what it gives
    along a direction, ``(g J) v``, has the gradient ``J v`` by ``g``, at any ``g``: two ways back make one forward.

    Args:
        function: takes the inputs and returns one tensor, of any shape.
        inputs: float tensors on one device.
        directions: one for each input, of its shape and dtype.
    """
    if not inputs or len(inputs) != len(directions):
        raise ShapeError("jvp", f"there are {len(inputs)} inputs, and {len(directions)} directions")
    for x, v in zip(inputs, directions, strict=True):
        _check_direction("jvp", x, v)
    device = Autodiff.over(inputs[0].device)
    points, along = ([Tensor.from_inner(x, device) for x in tensors] for tensors in (inputs, directions))
    value, pull = vjp(function, *points)
    g = value.zeros_like().require_grad()
    parts = [(part * v).sum() for part, v in zip(pull(g), along, strict=True)]
    (result,) = _pulled(Tensor.cat(parts, 0).sum(), [g], None, keep=False)
    return value.inner(), result


def hvp(function: Function, x: Tensor[B, D, Float], direction: Tensor[B, D, Float]) -> Tensor[B, D, Float]:
    """The second derivatives of a function of one tensor, times a vector: how the gradient changes along it.

    It takes two ways back, and never makes the square of all second derivatives.

    Args:
        function: takes ``x`` and returns a single number.
        x: a float tensor.
        direction: of the shape and dtype of ``x``.
    """
    _check_direction("hvp", x, direction)
    slope = grad(function)
    result: Tensor[B, D, Float] = grad(lambda at, along: (slope(at) * along).sum())(x, direction)
    return result


def _check_direction(asked: str, x: AnyTensor, direction: AnyTensor) -> None:
    check_operands(asked, x, direction, shapes=False)
    if direction.shape != x.shape:
        raise ShapeError(asked, f"the direction has shape {direction.shape}, and the input {x.shape}")
