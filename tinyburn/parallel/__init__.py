"""Data-parallel training: the same program in several processes, each with its part of every batch.

A `Communicator` is what they speak through; `Alone` is a single process, so one program serves both. Programs are
started by ``mpiexec``, or by the cluster's own way; `Engines` starts ranks for a notebook.
"""

from .communicator import Alone, Communicator
from .engines import Engines
from .gradients import all_reduce
from .mpi import Mpi
from .nccl import Nccl
from .pretend import Pretend
from .sharded import Sharded
from .start import same_start, sent_bytes, shard
from .timed import Lap, Span, Timed

__all__ = [
    "Alone",
    "Communicator",
    "Engines",
    "Lap",
    "Mpi",
    "Nccl",
    "Pretend",
    "Sharded",
    "Span",
    "Timed",
    "all_reduce",
    "same_start",
    "sent_bytes",
    "shard",
]
