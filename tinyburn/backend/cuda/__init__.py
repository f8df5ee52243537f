"""Cuda: NVIDIA's GPUs, through CuPy. Importing this does not import CuPy."""

from .backend import Cuda, CudaDevice

__all__ = ["Cuda", "CudaDevice"]
