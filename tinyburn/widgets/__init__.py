"""Pictures with controls: what a reader moves, the kernel draws again.

A widget here is a few controls of ipywidgets, and a function of `tinyburn.viz` that draws a picture from what they say;
there is no JavaScript of our own. Where no widget can run (a fresh clone, GitHub, a converted page), it is a picture
that stands for all of its states. `ipywidgets` is loaded when a widget is first shown.
"""

from .attention import attention
from .batch_lines import batch
from .depth_fan import depth_fan
from .live import Live
from .memory_strip import memory
from .stepper import stepper
from .update_ratios import update_ratios
from .windows import windows

__all__ = ["Live", "attention", "batch", "depth_fan", "memory", "stepper", "update_ratios", "windows"]
