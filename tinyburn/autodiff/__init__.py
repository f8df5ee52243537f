"""Autodiff: a backend around another that records what the backward pass needs, and runs it on the inside.

Here is all that knows the graph: the rules, what the forward pass records, and the walk back. What a tensor may ask of
it is declared below, in `backend.decorator.Differentiable`.
"""

from tinyburn.tensor.gradients import Gradients

from .checkpointing import BalancedCheckpointing, NoCheckpointing, checkpoint
from .nodes import Node
from .recording import Autodiff

__all__ = ["Autodiff", "BalancedCheckpointing", "Gradients", "NoCheckpointing", "Node", "checkpoint"]
