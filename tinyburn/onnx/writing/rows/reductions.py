"""Reductions, scans, and what brings numbers along a dim into a common size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyburn.onnx.writing.writer import Edge, Writer

from .table import EXPORTS, export

INT64 = np.dtype(np.int64)
_OPERATORS = {"sum_dims": "ReduceSum", "mean_dims": "ReduceMean", "max_dims": "ReduceMax", "min_dims": "ReduceMin"}


def _reduction(operator: str) -> Any:
    def row(g: Writer, a: Edge, dims: tuple[int, ...]) -> Edge:
        return g.node(operator, a, list(dims), keepdims=1) if dims else a

    return row


EXPORTS.update({name: _reduction(operator) for name, operator in _OPERATORS.items()})


@export("prod_dim")
def prod_dim(g: Writer, a: Edge, dim: int) -> Edge:
    """The product along one dim."""
    return g.node("ReduceProd", a, [dim], keepdims=1)


@export("argmax")
def argmax(g: Writer, a: Edge, dim: int, dtype: Any) -> Edge:
    """Of equal ones the first."""
    return g.cast(g.node("ArgMax", a, axis=dim, keepdims=1, dtype=INT64), np.dtype(dtype))


@export("argmin")
def argmin(g: Writer, a: Edge, dim: int, dtype: Any) -> Edge:
    """Of equal ones the first."""
    return g.cast(g.node("ArgMin", a, axis=dim, keepdims=1, dtype=INT64), np.dtype(dtype))


@export("argsort")
def argsort(g: Writer, a: Edge, dim: int, descending: bool, dtype: Any) -> Edge:
    """The indices of the largest, or the smallest, of which all are wanted. Of equal ones the first comes first."""
    options: dict[str, Any] = {"axis": dim, "largest": int(descending), "sorted": 1}
    return g.cast(g.node("TopK", a, [a.shape[dim]], outputs=2, take=1, dtype=INT64, **options), np.dtype(dtype))


@export("cumsum")
def cumsum(g: Writer, a: Edge, dim: int) -> Edge:
    """The sums of all elements up to each one."""
    return g.node("CumSum", a, np.array(dim, np.int64))


@export("softmax")
def softmax(g: Writer, a: Edge, dim: int) -> Edge:
    """Of no numbers but -inf, ONNX makes NaN."""
    return g.node("Softmax", a, axis=dim)


@export("masked_softmax")
def masked_softmax(g: Writer, a: Edge, dim: int) -> Edge:
    """A softmax of what a mask has set to -inf. Where that is all of a row, it gives zeros, as it does here."""
    largest = g.node("ReduceMax", a, [dim], keepdims=1)
    is_hidden = g.node("Equal", largest, -math.inf, dtype=bool)
    return g.node("Where", is_hidden, g.edge(0, a.dtype), g.node("Softmax", a, axis=dim), dtype=a.dtype)


@export("log_softmax")
def log_softmax(g: Writer, a: Edge, dim: int) -> Edge:
    """Its logarithm."""
    return g.node("LogSoftmax", a, axis=dim)
