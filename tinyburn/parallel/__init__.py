"""Data-parallel training: the same program in several processes, each with its part of every batch.

A `Communicator` is what they speak through; `Alone` is a single process, so one program serves both. Nothing here
starts a process: ``mpiexec`` does, or the cluster's own way to start one.
"""

from .communicator import Alone, Communicator
from .gradients import all_reduce
from .mpi import Mpi
from .nccl import Nccl
from .pretend import Pretend
from .sharded import Sharded
from .start import same_start, shard
from .timed import Lap, Span, Timed

__all__ = [
    "Alone",
    "Communicator",
    "Lap",
    "Mpi",
    "Nccl",
    "Pretend",
    "Sharded",
    "Span",
    "Timed",
    "all_reduce",
    "same_start",
    "shard",
]
