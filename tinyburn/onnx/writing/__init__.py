"""Writing a module as an ONNX file: one forward pass is kept, call by call, and each call is one row of a table."""

from .saving import save

__all__ = ["save"]
