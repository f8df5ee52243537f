"""Plain text in columns: the accessible form of everything that tinyburn shows."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns wide enough for their longest cell; numbers to the right, words to the left."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    right = [all(_is_number(row[column]) for row in rows) and bool(rows) for column in range(len(header))]
    padded = (
        [cell.rjust(width) if r else cell.ljust(width) for cell, width, r in zip(line, widths, right, strict=True)]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(" ", "").lstrip("-+").replace(".", "", 1).isdigit()


def thousands(number: int) -> str:
    """A whole number with a space at every third digit."""
    return f"{number:,}".replace(",", " ")


def amount(size: int) -> str:
    """A number of bytes with a space at every third digit: ``1 688 B``."""
    return f"{thousands(size)} B"
