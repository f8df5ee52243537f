"""Matrix products, and the notation that names all sums of products."""

from __future__ import annotations

from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, lifted, reshaped
from tinyburn.tensor import Tensor

from .creation import cast_to


@operator("MatMul", 1, 9, 13)
def matmul(a: Value, b: Value) -> Value:
    """Over the last two dims; the others broadcast."""
    return product(a, b)


def product(a: Value, b: Value) -> Value:
    """A vector is a row on the left and a column on the right, and the result lacks the dim that it gets for this."""
    left = a if a.rank > 1 else reshaped(a, (1, *a.shape))
    right = b if b.rank > 1 else reshaped(b, (*b.shape, 1))
    rank = max(left.rank, right.rank)
    result = left.tensor.unsqueeze(rank) @ right.tensor.unsqueeze(rank)
    rows, columns = result.shape[-2:]
    kept = [rows] if a.rank > 1 else []
    kept += [columns] if b.rank > 1 else []
    return reshaped(Value(result), (*result.shape[:-2], *kept))


@operator("Gemm", 7, 9, 11, 13)
def gemm(
    a: Value,
    b: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803  # the standard's names
    transB: int = 0,  # noqa: N803
) -> Value:
    """``alpha * a @ b + beta * c``, with each matrix transposed if that is asked for; c broadcasts."""
    left = a.tensor.transpose() if transA else a.tensor
    right = b.tensor.transpose() if transB else b.tensor
    if alpha == beta == 1.0 and c is not None and _is_linear(left, right, c):
        return Value(left._new(left.device.backend.linear(left.primitive, right.primitive, c.tensor.primitive)))
    result = _scaled(Value(left @ right), alpha)
    return result if c is None else lifted(Tensor.add, result, _scaled(c, beta))


def _is_linear(x: AnyTensor, weight: AnyTensor, bias: Value) -> bool:
    """Whether it is what a `Linear` layer computes, which is one operation of the backend."""
    left, right, added = x.primitive, weight.primitive, bias.tensor.primitive
    if not left.dtype == right.dtype == added.dtype or left.dtype.kind != "f" or bias.is_scalar:
        return False
    return len(left.shape) == 2 and left.shape[1:] == right.shape[:1] and added.shape == right.shape[1:]


def _scaled(x: Value, factor: float) -> Value:
    """A product of whole numbers is cut off to a whole number."""
    if factor == 1.0:
        return x
    return (
        Value(x.tensor * factor, x.is_scalar)
        if x.is_float
        else cast_to(_scaled(cast_to(x, "float32"), factor), x.dtype)
    )


@operator("Einsum", 12, 28)
def einsum(first: Value, *others: Value, equation: str) -> Value:
    """Einstein's notation: see `Tensor.einsum`. An operand of rank 0 only multiplies."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    operands = list(zip(left.split(","), (first, *others), strict=True))
    tensors = [value.tensor for _, value in operands if not value.is_scalar]
    if not tensors:
        return lifted(_product_of, *[value for _, value in operands])
    letters = ",".join([term for term, value in operands if not value.is_scalar])
    result = Tensor.einsum(f"{letters}{arrow}{right}", *tensors)
    for _, value in operands:
        if value.is_scalar:
            result = result * value.tensor.unsqueeze(result.rank)
    return reshaped(Value(result), result.shape if _has_dims(left, arrow, right, operands) else ())


def _product_of(first: AnyTensor, *others: AnyTensor) -> AnyTensor:
    for other in others:
        first = first * other
    return first


def _has_dims(left: str, arrow: str, right: str, operands: list[tuple[str, Value]]) -> bool:
    """Whether a result has letters, or dims that the three dots stand for."""
    dots = any("..." in term and value.rank > len(term) - 3 for term, value in operands)
    if arrow:
        return right not in ("", "...") or (right == "..." and dots)
    return dots or any(left.count(letter) == 1 for letter in left if letter.isalpha())
