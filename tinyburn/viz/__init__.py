"""The pictures: each one is a pure function of a graph or of an event log.

The pictures of a graph start from `model`, those of memory from the event log; nothing outside asks for more than the
names below.
"""

from .backward_graph import backward_graph
from .batch_lines import batch
from .byte_ladder import byte_ladder
from .depth_fan import depth_fan
from .gradient_flow import gradient_flow
from .graph import graph
from .heatmap import heatmap
from .jacobian import jacobian
from .memory_strip import memory
from .peak_card import peak
from .picture import Picture
from .receipt import receipt
from .stepper import Stepper, stepper
from .update_ratios import update_ratio, update_ratios

__all__ = [
    "Picture",
    "Stepper",
    "backward_graph",
    "batch",
    "byte_ladder",
    "depth_fan",
    "gradient_flow",
    "graph",
    "heatmap",
    "jacobian",
    "memory",
    "peak",
    "receipt",
    "stepper",
    "update_ratio",
    "update_ratios",
]
