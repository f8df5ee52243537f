"""The pictures: each one is a pure function of a graph or of an event log."""

from .graph import graph
from .picture import Picture

__all__ = ["Picture", "graph"]
