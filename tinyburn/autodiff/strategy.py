"""What to keep for the backward pass: the second parameter of `Autodiff`."""

from __future__ import annotations

COMPUTE_BOUND = frozenset({"matmul", "gather", "scatter", "select", "select_assign", "erf"})
"""Operations that take long for the bytes that they make. The others pass over memory once: cheap to repeat."""


class NoCheckpointing:
    """Keep every result that a rule names. The fastest way, and the one that takes the most memory."""

    @staticmethod
    def recomputes(operation: str) -> bool:
        """Whether a result of an operation is computed again in the backward pass instead of being kept."""
        return False


class BalancedCheckpointing:
    """Keep the results of compute-bound operations, and recompute those of memory-bound ones from them."""

    @staticmethod
    def recomputes(operation: str) -> bool:
        """All but the operations in `COMPUTE_BOUND`."""
        return operation not in COMPUTE_BOUND
