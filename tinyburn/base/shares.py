"""How a number of things is shared out among ranks: one rule, for samples and for the numbers of a parameter."""

from __future__ import annotations


def share(count: int, rank: int, size: int) -> slice:
    """The part of ``range(count)`` that is one rank's: in order, without gaps, and of sizes that differ by 1 at most.

    The first ranks have one more where it does not come out even, so the last ones have none if there are too few.
    """
    least, more = divmod(count, size)
    start = rank * least + min(rank, more)
    return slice(start, start + least + (rank < more))


def share_counts(count: int, size: int) -> list[int]:
    """How many each rank has."""
    least, more = divmod(count, size)
    return [least + (rank < more) for rank in range(size)]
