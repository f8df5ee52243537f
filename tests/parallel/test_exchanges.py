"""What ranks exchange does not depend on how it lies in memory. Expected values are NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel import exchanges
from tests.parallel.exchanges import LAYOUTS, values_of
from tests.parallel.ranks import answers, needs_mpi
from tinyburn.base.shares import share

RANKS = 3
pytestmark = needs_mpi


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(Path(exchanges.__file__), RANKS, tmp_path_factory.mktemp("exchanges"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_count_and_not_how_they_lie(ranks: list[Any], layout: str) -> None:
    brought = [values_of(rank, layout) for rank in range(RANKS)]
    total: Any = sum(brought)
    for rank, found in enumerate(one[layout] for one in ranks):
        assert found["kept"], "what a rank brings stays as it is"
        assert found["all_reduce"] == total.tolist()
        assert found["broadcast"] == brought[1].tolist()
        if total.ndim == 1:
            assert found["reduce_scatter"] == total[share(len(total), rank, RANKS)].tolist()
            assert found["all_gather"] == np.concatenate(brought).tolist()
