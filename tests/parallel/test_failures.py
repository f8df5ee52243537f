"""A rank that fails and goes on, as in a notebook: the others hear of it, wherever they wait, and all can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.parallel import failures
from tests.parallel.failures import CASES, ODD
from tests.parallel.ranks import answers, needs_mpi

PROGRAM = Path(failures.__file__)
RANKS = 3
WORDS = {
    "before a meeting": "Broken: before a meeting",
    "in a gathering": "Can't pickle",
    "between meeting and exchange": "Broken: before the exchange",
    "in a sharded update": "NonFinite: ",
    "interrupted": "KeyboardInterrupt",
    "all at one place": "Broken: everywhere",
    "loader": "Broken: in the loader",
    "valid": "Broken: in the valid",
    "metric": "Broken: in the metric",
    "after_step": "Broken: in the after_step",
}
pytestmark = needs_mpi


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return answers(PROGRAM, RANKS, tmp_path_factory.mktemp("failures"))


@pytest.mark.parametrize("case", CASES)
def test_the_others_hear_why_and_all_go_on(ranks: list[Any], case: str) -> None:
    odd = f"rank {ODD} has failed: "
    fails_alone = case != "all at one place"
    for rank, (said, goes_on) in enumerate(one[case] for one in ranks):
        assert goes_on
        assert WORDS[case] in said, said
        is_told = fails_alone and rank != ODD
        assert (odd in said) == is_told, said
        assert said.startswith("RanksDiffer: the ranks are at different places") == is_told
        assert ("comm.renew()" in said) == is_told


def test_every_case_has_its_words() -> None:
    assert WORDS.keys() == CASES.keys()
