"""Orders drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def shuffled(blocks: NDArray[np.int64], seed: Sequence[int], window: int) -> NDArray[np.int64]:
    """The numbers from 0 to ``len(blocks)`` in an order drawn from whole numbers.

    They are sorted by random keys, which are bits of NumPy's PCG64: these are promised to stay the same in every
    version, as the draws of its ``permutation`` are not.

    Args:
        blocks: the block in which each item lies. The blocks are drawn in any order too, and the items of each
            ``window`` of them are shuffled together.
        seed: numbers of 0 or more, such as a seed and an epoch.
        window: a number of blocks.
    """
    bits = np.random.PCG64([*seed])
    keys = np.asarray(bits.random_raw(len(blocks)))
    count = int(blocks.max(initial=0)) + 1
    if count == 1:
        return np.argsort(keys, kind="stable")
    turns = np.argsort(np.argsort(np.asarray(bits.random_raw(count)), kind="stable"))
    return np.lexsort((keys, (turns // window)[blocks]))
