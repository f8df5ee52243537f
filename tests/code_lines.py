"""How much code there is to read: the one way to count it. ``python -m tests.code_lines`` prints the count.

A line of code holds a token of the program: blank lines, comments and docstrings do not count, imports do.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterable
from pathlib import Path

from tinyburn.text import table, thousands

PACKAGE = Path(__file__).parents[1] / "tinyburn"
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_WITH_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

ONLY_FOR_GPUS = ("backend/gpus.py", "backend/cuda", "backend/wgpu")
"""What only a reader of the GPU backends needs."""
LISTENERS = (
    *("backend/log.py", "backend/traced.py"),
    *("autodiff/observer.py", "autodiff/recipes.py", "autodiff/checkpointing.py"),
)
"""What `Traced` and the checkpointing need, and ``(x @ w).sum().backward()`` on NdArray does not."""
MORE_METHODS = (
    *("tensor/repetition.py", "tensor/parts.py", "tensor/dims.py", "tensor/masks.py", "tensor/statistics.py"),
    *("tensor/products.py", "tensor/einsum.py", "tensor/trigonometry.py", "tensor/scans.py", "tensor/order.py"),
    *("tensor/windows.py",),
)
"""Methods of a tensor, a file for each idea; that step calls none of them."""
MORE_OPERATIONS = (
    *("backend/elementary.py", "backend/activations.py", "backend/training.py", "backend/scans.py"),
    *("backend/normalization.py", "backend/indexing.py"),
    *("backend/convolution.py", "backend/moments.py", "backend/random.py", "backend/finite.py"),
    *("autodiff/scan_rules.py", "autodiff/own.py", "autodiff/functions.py"),
)
"""Operations and their rules, a decorator, and functions of functions; none of it runs in that step."""
NAMES_OF_OTHERS = ("base/habits.py",)
"""A table that nothing reads before a name of NumPy or PyTorch is missing."""


def code_lines(path: Path) -> int:
    """The lines of code of a file."""
    lines: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in _SILENT:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for statement in node.body if isinstance(node, _WITH_DOCSTRING) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                lines -= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(lines)


def files(*rooms: str, without: Iterable[str] = ()) -> list[Path]:
    """The files in some folders of the package, or the files of these names."""
    paths = [path for room in rooms for path in [PACKAGE / room, *sorted((PACKAGE / room).rglob("*.py"))]]
    skipped = [PACKAGE / name for name in without]
    return [path for path in paths if path.is_file() and not any(path.is_relative_to(other) for other in skipped)]


FLOORS = ("base", "backend", "tensor", "autodiff")
ROOMS: dict[str, list[Path]] = {
    "base, tensor, autodiff, and backend without the GPUs": files(*FLOORS, without=ONLY_FOR_GPUS),
    "of these, for (x @ w).sum().backward() on NdArray": files(
        *FLOORS, without=(*ONLY_FOR_GPUS, *LISTENERS, *MORE_METHODS, *MORE_OPERATIONS, *NAMES_OF_OTHERS)
    ),
    "backend/wgpu": files("backend/wgpu"),
    "backend/cuda": files("backend/cuda"),
    "module, nn, optim": files("module", "nn", "optim"),
    "memory": files("memory"),
    "viz": files("viz"),
    "all of tinyburn": files("."),
}


def main() -> None:
    """Prints a table."""
    rows = [(name, str(len(paths)), thousands(sum(map(code_lines, paths)))) for name, paths in ROOMS.items()]
    print(table(("", "files", "lines of code"), rows))


if __name__ == "__main__":
    main()
