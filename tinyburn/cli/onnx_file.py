"""`tinyburn onnx inspect FILE`: what a model of ONNX holds, and what of it would not run here."""

from __future__ import annotations

from collections.abc import Sequence

from tinyburn import onnx

from .errors import CommandError, need


def inspect(file: str, dims: Sequence[str]) -> int:
    """Prints the table. The exit code is 1 if the model cannot run.

    Args:
        dims: lengths of free dims, as ``batch=16``.

    Raises OnnxError for a file that is damaged, and CommandError for a dim that is written in another way.
    """
    need("onnx", "onnx", "tinyburn onnx")
    words, can_run = onnx.inspect(file, dict(map(_dim, dims)))
    print(words)
    return 0 if can_run else 1


def _dim(text: str) -> tuple[str, int]:
    name, _, length = text.partition("=")
    if not name or not length.isdecimal():
        raise CommandError(f"--dim {text}", "it is no name and length", hint="write --dim batch=16")
    return name, int(length)
