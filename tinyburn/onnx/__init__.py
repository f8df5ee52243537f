"""ONNX both ways: models of other stacks are read, drawn, run and trained here, and ours are written for them.

`load` gives a Module that interprets a file, node by node, by a table of operators. `save` writes what a module's
forward pass asks of the backend, by a table of operations. The packages that both need,
``pip install "tinyburn[onnx]"``, are loaded when they are first used.
"""

from . import operators as operators
from .comparison import Comparison, compare
from .eager import Operators
from .graph import Limits
from .inspection import inspect
from .module import OnnxModule, load, result
from .writing import save

__all__ = ["Comparison", "Limits", "OnnxModule", "Operators", "compare", "inspect", "load", "result", "save"]
