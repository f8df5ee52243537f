"""Files that training can be resumed from: one safetensors file with a header that says what it holds.

Here is the file format and nothing about layers: a model hands itself over as a `ModelRecord`. No pickle is ever read.
"""

from .files import load, read_model, save
from .inspection import Inspection, inspect
from .keeper import Keeper
from .model_record import Layout, ModelRecord
from .versions import FORMAT

__all__ = ["FORMAT", "Inspection", "Keeper", "Layout", "ModelRecord", "inspect", "load", "read_model", "save"]
