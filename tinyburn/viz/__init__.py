"""The pictures: each one is a pure function of a graph or of an event log.

The pictures of a graph start from `model`, those of memory from the event log; nothing outside asks for more than the
names below.
"""

from .attention import attention
from .backward_graph import backward_graph
from .batch_lines import batch
from .byte_ladder import byte_ladder
from .confusion import confusion
from .curve import curve
from .depth_fan import depth_fan
from .gradient_flow import gradient_flow
from .graph import graph
from .heatmap import heatmap
from .histogram import histogram
from .images import images
from .jacobian import jacobian
from .live_curve import LiveCurve
from .memory_strip import memory
from .peak_card import peak
from .picture import Picture
from .rank_memory import rank_memory
from .rank_timeline import rank_timeline
from .receipt import receipt
from .stepper import Stepper, stepper
from .update_ratios import update_ratio, update_ratios
from .windows import windows

__all__ = [
    "LiveCurve",
    "Picture",
    "Stepper",
    "attention",
    "backward_graph",
    "batch",
    "byte_ladder",
    "confusion",
    "curve",
    "depth_fan",
    "gradient_flow",
    "graph",
    "heatmap",
    "histogram",
    "images",
    "jacobian",
    "memory",
    "peak",
    "rank_memory",
    "rank_timeline",
    "receipt",
    "stepper",
    "update_ratio",
    "update_ratios",
    "windows",
]
