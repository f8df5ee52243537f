"""The tensor: values with a backend, a rank and a kind, and the checks that keep them apart."""

from .data import TensorData
from .tensor import Tensor

__all__ = ["Tensor", "TensorData"]
