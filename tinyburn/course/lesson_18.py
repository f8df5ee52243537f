"""The exercises of lesson 18, a backend of your own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from tinyburn import NdArray, Tensor, Traced
from tinyburn.backend import OPERATIONS, Kind

from .exercises import exercise


class Careless(NdArray):
    """Like `NdArray`, but for one operation."""

    @staticmethod
    def remainder(a: Any, b: Any) -> Any:
        """Not everything that the interface says."""
        return np.fmod(a, b)


@exercise(
    "18.1",
    hints=(
        "Read `forward`: it has a product, a sum, and one more call.",
        "`unsqueeze` puts a dim of size 1 in front. Which operation gives the same numbers another shape?",
    ),
    solution='answer = ["matmul", "reshape", "add"]',
    wrong=(
        'answer = ["matmul", "add"]',
        'answer = ["matmul", "unsqueeze", "add"]',
        'answer = ["matmul", "expand", "add"]',
    ),
)
def operations_of_a_block(answer: Collection[str]) -> bool:
    """What a dense block asks its backend for, read from an event log."""
    device: Any = Traced[NdArray].device()
    x, weight, bias = Tensor.ones((3, 2), device), Tensor.ones((2, 1), device), Tensor.ones((1,), device)
    device.log.clear()
    _ = x @ weight + bias.unsqueeze()
    asked = {device.log.names[event[1]] for event in device.log.events if event[0] == Kind.OP}
    return not isinstance(answer, str) and set(answer) == asked & set(OPERATIONS)


@exercise(
    "18.2",
    hints=(
        "You need no more than one call: `check_backend`, with a device of that backend.",
        "`check_backend(Careless.device())` has a table: what was asked, what came, and what should have come.",
    ),
    solution='answer = "remainder"',
    wrong=('answer = "fmod"', 'answer = "div"', 'answer = "floor"'),
)
def careless_operation(answer: str) -> bool:
    """The name of what `Careless` overrides."""
    return answer in OPERATIONS and answer in vars(Careless)


@exercise(
    "18.3",
    hints=(
        "Begin with `Counted`, with `products = 0` in the class. Add to `cls.products`, for matmul alone.",
        "The result has n · m numbers, and each took k multiplications: k is the last size of the first argument.",
    ),
    solution="""
class answer(tb.backend.Decorator):
    products = 0

    @classmethod
    def _wrap_operation(cls, operation):
        compute = super()._wrap_operation(operation)

        def counted(*arguments):
            result = compute(*arguments)
            if operation.name == "matmul":
                cls.products += arguments[0].shape[-1] * int(np.prod(result.shape))
            return result

        return compute and counted
""",
    wrong=(
        """
class answer(tb.backend.Decorator):
    products = 0

    @classmethod
    def _wrap_operation(cls, operation):
        compute = super()._wrap_operation(operation)

        def counted(*arguments):
            cls.products += operation.name == "matmul"
            return compute(*arguments)

        return compute and counted
""",
        """
class answer(tb.backend.Decorator):
    products = 0

    @classmethod
    def _wrap_operation(cls, operation):
        compute = super()._wrap_operation(operation)

        def counted(*arguments):
            result = compute(*arguments)
            cls.products += int(np.prod(result.shape))
            return result

        return compute and counted
""",
    ),
)
def counts_multiplications(answer: Any) -> bool:
    """Its count for two products, with other operations between them; and the results are right."""
    backend = answer[NdArray]
    device, before = backend.device(), backend.products
    a, b = Tensor.full((3, 4), 2.0, device), Tensor.full((4, 5), 3.0, device)
    result = (a @ b * 2.0) @ Tensor.ones((5, 2), device)
    return bool(backend.products - before == 3 * 4 * 5 + 3 * 5 * 2 and (result.to_numpy() == 240).all())
