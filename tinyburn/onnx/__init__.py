"""ONNX both ways: models of other stacks are read, drawn, run and trained here, and ours are written for them.

`load` gives a Module that interprets a file, node by node, by a table of operators. The packages that it needs,
``pip install "tinyburn[onnx]"``, are loaded when they are first used.
"""

from . import operators as operators
from .graph import Limits
from .module import OnnxModule, load

__all__ = ["Limits", "OnnxModule", "load"]
