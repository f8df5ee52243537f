"""The pictures: each one is a pure function of a graph or of an event log."""

from .backward import backward_graph
from .batch import batch
from .byte_ladder import byte_ladder
from .flow import gradient_flow
from .graph import graph
from .memory import memory
from .peak import peak
from .picture import Picture
from .receipt import receipt

__all__ = [
    "Picture",
    "backward_graph",
    "batch",
    "byte_ladder",
    "gradient_flow",
    "graph",
    "memory",
    "peak",
    "receipt",
]
