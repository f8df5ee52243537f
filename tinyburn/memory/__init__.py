"""Memory: what a tensor needs, and what a job did with it, read from the event log."""

from .measure import MemoryReport, measure
from .payload import tensor_payload_bytes

__all__ = ["MemoryReport", "measure", "tensor_payload_bytes"]
