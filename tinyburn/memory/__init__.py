"""Memory: what a tensor needs, and what a job did or will do with it, read from the event log."""

from .allocators import simulate
from .batch import BatchPlan, max_batch_size
from .extras import Row
from .holders import Holder, Saver, holders_at_peak, holders_now
from .lines import Candidate
from .measure import JobError, MemoryReport, measure
from .operations import CategoryBytes, CategoryTable, OperationBytes
from .payload import tensor_payload_bytes
from .plan import plan

__all__ = [
    "BatchPlan",
    "Candidate",
    "CategoryBytes",
    "CategoryTable",
    "Holder",
    "JobError",
    "MemoryReport",
    "OperationBytes",
    "Row",
    "Saver",
    "holders_at_peak",
    "holders_now",
    "max_batch_size",
    "measure",
    "plan",
    "simulate",
    "tensor_payload_bytes",
]
