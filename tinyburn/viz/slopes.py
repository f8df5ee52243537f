"""What a rule computes, as a line of mathematics with the real names in it: ``a.mT @ g``.

The line comes from the rule itself: it runs once on `Written`, a decorator that writes down what each operation does.
``g`` is the gradient of the operation's result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tinyburn.autodiff import Node
from tinyburn.autodiff.checkpointing import CHECKPOINT
from tinyburn.backend import Meta
from tinyburn.backend.decorator import Decorator
from tinyburn.backend.interface import Array
from tinyburn.backend.operations import OPERATIONS, Operation
from tinyburn.backend.strided import StridedArray
from tinyburn.tensor import Tensor

from .formula import argument_text, formula

_MOVES = {"expand": "for every element", "reshape": "reshaped back", "permute": "permuted back", "cast": "cast back"}
"""Operations that change no value, and how a line says at its end that they were the last ones; the first counts."""
_OPENED = ("softmax_backward", "log_softmax_backward", "standardize_backward")
"""Derivatives that are composed of other operations on every backend, and say more as these."""
_PRODUCTS = ("mul", "multiply_no_nan", "scaled_mul")
_OF_LINEAR: dict[str, Callable[..., str]] = {
    "linear_input": lambda g, weight: f"{g} @ {weight}.mT",
    "linear_weight": lambda g, x: f"{x}.mT @ {g}",
    "linear_bias": lambda g: f"the sum of all rows of {g}",
}
"""The derivatives of a linear layer, as the products that they are."""
_CHOICE, _SUM, _PRODUCT = range(3)
"""What holds a text together: ``a if b, else c`` and ``a > b``; ``a + b``; ``a * b`` and whatever is one piece."""


@dataclass(frozen=True)
class Expression:
    """A primitive, and in words how it came about: as a product, of one factor where it is none.

    Attributes:
        factors: what is multiplied.
        divisors: what the product of those is divided by.
        is_negative: whether a minus stands before it.
        firmness: how firmly a single factor holds together: what does so less than its neighbours gets brackets.
        moves: the operations of `_MOVES` that made it from what the words say.
    """

    primitive: Array
    factors: tuple[str, ...]
    divisors: tuple[str, ...] = ()
    is_negative: bool = False
    firmness: int = _PRODUCT
    moves: tuple[str, ...] = ()

    @property
    def shape(self) -> Any:
        """That of the primitive."""
        return self.primitive.shape

    @property
    def dtype(self) -> Any:
        """That of the primitive."""
        return self.primitive.dtype

    @property
    def text(self) -> str:
        """The gradient first, then numbers, then all else; what is multiplied by itself as a square."""
        others = [factor for factor in self.factors if factor not in ("g", "1")]
        numbers = [factor for factor in others if factor[0].isdigit()]
        rest = {factor: others.count(factor) for factor in others if factor not in numbers}
        powers = [factor if times == 1 else f"{factor} ** {times}" for factor, times in rest.items()]
        product = " * ".join([*["g"] * self.factors.count("g"), *numbers, *powers] or ["1"])
        return " / ".join([f"-{product}" if self.is_negative else product, *self.divisors])

    def beside(self, firmness: int) -> str:
        """The text beside a sign that holds together so firmly."""
        return f"({self.text})" if self.firmness < firmness else self.text

    @property
    def as_unit(self) -> str:
        """The text below a division, as a base or before a dot."""
        is_unit = len(self.factors) == 1 and not (self.divisors or self.is_negative) and self.firmness == _PRODUCT
        text = self.text if is_unit else f"({self.text})"
        return f"{text}.mT" if self.moves[-1:] == ("permute",) else text


class Written(Decorator):
    """Computes as the backend inside does. Its primitives are expressions.

    A derivative that our backends compute in one go is written as what it is composed of.
    """

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        compute = getattr(cls.inner, operation.name)
        if (operation.fused and operation.in_place) or operation.name in _OPENED:
            return None

        def written(*arguments: Any) -> Expression:
            plain = [x.primitive if isinstance(x, Expression) else x for x in arguments]
            return _written(operation.name, compute(*plain), arguments)

        return written

    @classmethod
    def full(cls, shape: Any, value: Any, dtype: Any, device: Any) -> Expression:
        """The number itself, however often it stands there."""
        return replace(_number(value), primitive=cls.inner.full(shape, value, dtype, device.inner))


def _number(value: Any) -> Expression:
    return Expression(None, (f"{abs(value):g}",), (), value < 0)


def _written(op: str, result: Array, arguments: tuple[Any, ...]) -> Expression:
    """The expression for the result of one operation."""
    first: Expression = next(x for x in arguments if isinstance(x, Expression))
    if op in _MOVES:
        return replace(first, primitive=result, moves=(*first.moves, op))
    parts = [_number(x) if isinstance(x, float | int) else x for x in arguments]
    if op in _PRODUCTS:
        return _product(result, parts)
    if op == "div":
        return _product(result, [parts[0], Expression(None, ("1",), (parts[1].as_unit,))])
    if op == "neg":
        return _product(result, [parts[0], Expression(None, ("1",), (), True)])
    if op in ("mask_where", "slice_assign", "relu_backward"):
        return Expression(result, (_choice(op, parts),), firmness=_CHOICE)
    if op in ("equal", "greater", "lower"):
        return Expression(result, (formula(op, [x.beside(_SUM) for x in parts]),), firmness=_CHOICE)
    if op in ("add", "sub"):
        return Expression(result, (formula(op, [parts[0].beside(_SUM), parts[1].beside(_PRODUCT)]),), firmness=_SUM)
    if op == "matmul":
        return Expression(result, (formula(op, [x.as_unit for x in parts]),), firmness=_SUM)
    if op in _OF_LINEAR:
        return Expression(result, (_OF_LINEAR[op](*[x.as_unit for x in parts]),), firmness=_SUM)
    if op in ("powf", "powf_scalar"):
        exponent = parts[1].as_unit if op == "powf" else parts[1].text
        return Expression(result, (formula(op, [parts[0].as_unit, exponent]),))
    texts = [x.text if isinstance(x, Expression) else argument_text(x) for x in arguments]
    return Expression(result, (formula(op, texts),))


def _product(result: Array, parts: Iterable[Expression]) -> Expression:
    """All factors and divisors together."""
    factors: list[str] = []
    divisors: list[str] = []
    minuses = 0
    for part in parts:
        factors += [part.beside(_PRODUCT)] if part.firmness < _PRODUCT else part.factors
        divisors += part.divisors
        minuses += part.is_negative
    return Expression(result, tuple(factors), tuple(divisors), minuses % 2 == 1)


def _choice(op: str, parts: list[Any]) -> str:
    """Which of two values it is, and where."""
    if op == "relu_backward":
        return f"{parts[0].text} if {parts[1].text} > 0, else 0"
    first, where, second = parts
    if op == "slice_assign":
        return f"{second.text} in [{argument_text(where)}], else {first.text}"
    if first.text == "0":
        return f"{second.text} where {where.text}, else 0"
    both = first.text.removesuffix(", else 0")
    joint = " and not" if both != first.text and second.text == "0" else " where not"
    return f"{both if joint == ' and not' else first.text}{joint} {where.text}, else {second.text}"


def has_loop(node: Node) -> bool:
    """Whether a node stands for a loop, which runs back as a whole."""
    return any(hasattr(rule, "inside") for _, rule, _, _ in node.rules)


def gradient_line(node: Node, at: int, label: Callable[[Node], str]) -> str:
    """The gradient of the operand at one position among a node's arguments; ``label`` gives the name of a value."""
    if node.op == CHECKPOINT:
        return "its part, when the segment runs again"
    if has_loop(node):
        return "its part, when the loop runs back"
    found, shape = _gradient(node, at, label), node.arguments[at].shape
    ending = next((words for op, words in _MOVES.items() if op in found.moves and "g" in found.factors), "")
    line = f"{found.text}, {ending}" if ending else found.text
    return line if found.shape == shape else f"{line}, summed to {shape}"


def slope_line(node: Node, label: Callable[[Node], str]) -> str:
    """What an elementwise operation of one operand multiplies ``g`` by; empty for any other operation."""
    operation = OPERATIONS.get(node.op)
    if operation is None or not operation.elementwise or len(operation.tensors) != 1:
        return ""
    found = _gradient(node, operation.tensors[0], label)
    if found.firmness < _PRODUCT:
        return found.text.replace("g", "1", 1)  # `1 if out > 0, else 0`
    slope = replace(found, factors=tuple(factor for factor in found.factors if factor != "g") or ("1",)).text
    return slope[1:-1] if slope.startswith("(") and slope.endswith(")") else slope


def _gradient(node: Node, at: int, label: Callable[[Node], str]) -> Expression:
    """Runs a rule on the expressions of what it names. Where n elements share a gradient, each gets one n-th."""
    rule = {index: rule for index, rule, _, _ in node.rules}[at]
    arguments = {**dict(zip(rule.parameters, node.arguments, strict=True)), "out": node}
    saved = tuple([_named(arguments[name], label) for name in rule.names])
    g = Tensor._around(Expression(_without_values(node), ("g",)), Written.over(Meta.device()))
    found: Expression = rule.gradient(g, saved, node.arguments[at], False).primitive
    count = prod(node.arguments[at].shape) // max(prod(node.shape), 1)
    share = f"{1 / count:g}" if count > 1 else ""
    if share not in found.factors:
        return found
    return replace(found, factors=tuple(x for x in found.factors if x != share), divisors=(*found.divisors, "n"))


def _named(value: Any, label: Callable[[Node], str]) -> Any:
    return Expression(_without_values(value), (label(value),)) if isinstance(value, Node) else value


def _without_values(node: Node) -> StridedArray:
    return StridedArray(node.shape, node.dtype, object())
