"""Data: items by number, read from memory or from files, and a loader that makes batches of tensors of them.

What may be here: how items are read, chosen, ordered and put together. What a model does with them is `train`'s.
"""

from tinyburn.base.errors import DataError, NoSuchItem

from .csv import Csv
from .dataset import Dataset
from .images import ImageFolder
from .in_memory import InMemory
from .lines import JsonLines, Lines
from .loader import DataLoader
from .parquet import Parquet
from .report import LoaderReport
from .shipped import breast_cancer, diabetes, digits, iris, shipped, wine
from .stacking import Numbers, stack, to_tensors
from .table import Table

__all__ = [
    "Csv",
    "DataError",
    "DataLoader",
    "Dataset",
    "ImageFolder",
    "InMemory",
    "JsonLines",
    "Lines",
    "LoaderReport",
    "NoSuchItem",
    "Numbers",
    "Parquet",
    "Table",
    "breast_cancer",
    "diabetes",
    "digits",
    "iris",
    "shipped",
    "stack",
    "to_tensors",
    "wine",
]
