"""The pictures: each one is a pure function of a graph or of an event log."""

from .backward import backward_graph
from .flow import gradient_flow
from .graph import graph
from .memory import memory
from .picture import Picture

__all__ = ["Picture", "backward_graph", "gradient_flow", "graph", "memory"]
