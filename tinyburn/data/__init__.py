"""Data: items by number, read from memory or from files, and a loader that makes batches of tensors of them.

What may be here: how items are read, chosen, ordered and put together. What a model does with them is `train`'s.
"""

from tinyburn.base.errors import DataError, NoSuchItem

from .dataset import Dataset
from .in_memory import InMemory
from .loader import DataLoader
from .report import LoaderReport
from .shipped import breast_cancer, diabetes, digits, iris, shipped, wine
from .stacking import Numbers, stack, to_tensors

__all__ = [
    "DataError",
    "DataLoader",
    "Dataset",
    "InMemory",
    "LoaderReport",
    "NoSuchItem",
    "Numbers",
    "breast_cancer",
    "diabetes",
    "digits",
    "iris",
    "shipped",
    "stack",
    "to_tensors",
    "wine",
]
