"""Which cells of a notebook have to run, and which of them check an exercise: read from their code.

A lesson trains models whose results no exercise needs. To leave them out makes grading several times faster.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from symtable import SymbolTable, symtable

_MAGIC = ("%", "!")
_OTHER_PROCESSES = "%%px"
"""How a cell begins that ranks run: see `tinyburn.parallel.Engines`."""
_CHECK = re.compile(r"""\bcheck\(\s*["'](\d+\.\d+)["']""")
_ANSWER = ast.parse("answer", mode="eval").body


@dataclass(frozen=True)
class Code:
    """The text of a cell as Python: without IPython's lines, such as ``%%time``."""

    source: str

    @cached_property
    def tree(self) -> ast.Module | None:
        """What it says here; None if it has a mistake. What it says to other processes is said there."""
        if self.source.lstrip().startswith(_OTHER_PROCESSES):
            return ast.Module([], [])
        lines = [line for line in self.source.splitlines() if not line.lstrip().startswith(_MAGIC)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as a wrong escape in a text
                return ast.parse("\n".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All parts of the tree."""
        return list(ast.walk(self.tree)) if self.tree else []

    @cached_property
    def used(self) -> set[str]:
        """The names that it reads from other cells, or from itself; what is local to a function is not among them."""
        try:
            return set(_names_read(symtable(ast.unparse(self.tree), "cell", "exec"))) if self.tree else set()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {node.id for node in self.nodes if isinstance(node, ast.Name)}

    @cached_property
    def made(self) -> set[str]:
        """The names that it gives a value, also in a function, and those whose attributes or items it sets."""
        return {name for node in self.nodes for name in _names_made(node)}

    def checks(self) -> Iterator[tuple[str, ast.expr]]:
        """The number and the answer of each ``tb.course.check("5.1", answer)``, whatever ``tb`` may be there."""
        if self.tree is None:
            yield from ((number, _ANSWER) for number in _CHECK.findall(self.source))
        for node in self.nodes:
            if isinstance(node, ast.Call) and len(node.args) >= 2 and _last_name(node.func) == "check":
                number, answer, *_ = node.args
                if isinstance(number, ast.Constant) and isinstance(number.value, str):
                    yield number.value, answer


def needed(cells: Sequence[Code], own: Sequence[bool]) -> list[bool]:
    """Which cells run in the first try: those that are the reader's own, and each that makes a name that they need.

    What a cell changes by a call, as ``learner.fit(...)`` does, cannot be seen here. So whoever leaves cells out has to
    run all of them if something is not as it should be.
    """
    runs = list(own)
    new = [at for at, is_own in enumerate(own) if is_own]
    before = cells[: new[-1]] if new else []
    while new:  # a function may use one that is defined below it
        wanted = {name for at in new for name in cells[at].used}
        new = [at for at, cell in enumerate(before) if not runs[at] and cell.made & wanted]
        for at in new:
            runs[at] = True
    return runs


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _names_read(table: SymbolTable) -> Iterator[str]:
    is_cell = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() if is_cell else symbol.is_global():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _names_read(inner)


def _names_made(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
