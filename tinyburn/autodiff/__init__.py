"""Autodiff: a backend around another that records what the backward pass needs, and runs it on the inside."""

from .checkpoint import checkpoint
from .decorator import Autodiff
from .gradients import Gradients
from .graph import Node
from .strategy import BalancedCheckpointing, NoCheckpointing

__all__ = ["Autodiff", "BalancedCheckpointing", "Gradients", "NoCheckpointing", "Node", "checkpoint"]
