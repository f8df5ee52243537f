"""What is asked of a pool, real or simulated, and what a report says about it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.memory.jobs import JOBS
from tinyburn.memory import MemoryReport
from tinyburn.memory.allocators import Allocator, Chunk

SMALL = [name for name in JOBS if "MB" not in name]


def bytes_of(report: MemoryReport) -> dict[str, int | None]:
    """Payload, padding and cached, and their sum, which is what was reserved."""
    rows = {row.name: row.bytes for row in report.rows}
    padding, cached = rows["padding"], rows["cached"]
    whole = None if padding is None or cached is None else report.peak_bytes + padding + cached
    return {"payload": report.peak_bytes, "padding": padding, "cached": cached, "reserved": whole}


def free(buffer: int) -> str:
    return f"free {buffer}"


Program = list[int | str]
"""What is asked of a pool, in order: the size of a new buffer, or which of them is freed, by its number."""


def reserved_after(allocator: Allocator, program: Program, unit: int = 1) -> list[int]:
    """What is reserved after each step. Sizes and answers are in units of some bytes."""
    chunks: list[Chunk] = []
    answers = []
    for step in program:
        if isinstance(step, int):
            chunks.append(allocator.take(step * unit))
        else:
            allocator.give_back(chunks[int(step.split()[1])])
        assert allocator.reserved >= allocator.in_use >= 0
        answers.append(allocator.reserved // unit)
    return answers


@st.composite
def programs(draw: Any) -> Program:
    """Buffers of all sizes, freed in any order."""
    program: Program = []
    alive: list[int] = []
    made = 0
    for _ in range(draw(st.integers(1, 40))):
        if alive and draw(st.booleans()):
            program.append(free(alive.pop(draw(st.integers(0, len(alive) - 1)))))
        else:
            program.append(draw(st.one_of(st.integers(0, 3000), st.integers(0, 20_000))))
            alive.append(made)
            made += 1
    return program
