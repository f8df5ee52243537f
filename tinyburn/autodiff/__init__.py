"""Autodiff: a backend around another that records what the backward pass needs, and runs it on the inside.

Here is all that knows the graph: the rules, what the forward pass records, and the walk back. What a tensor may ask of
it is declared below, in `backend.decorator.Differentiable`.
"""

from tinyburn.tensor.gradients import Gradients

from .checkpointing import BalancedCheckpointing, NoCheckpointing, checkpoint
from .functions import grad, hvp, jacobian, jvp, value_and_grad, vjp
from .nodes import Node
from .own import operation
from .recording import Autodiff

__all__ = [
    "Autodiff",
    "BalancedCheckpointing",
    "Gradients",
    "NoCheckpointing",
    "Node",
    "checkpoint",
    "grad",
    "hvp",
    "jacobian",
    "jvp",
    "operation",
    "value_and_grad",
    "vjp",
]
