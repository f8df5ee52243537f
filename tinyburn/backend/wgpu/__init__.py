"""Wgpu: any GPU, through WebGPU. The kernels are text in WGSL, made from one table for each kind of operation."""

from .backend import Wgpu, WgpuDevice

__all__ = ["Wgpu", "WgpuDevice"]
