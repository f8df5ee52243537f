"""What to do with the results that a backward pass needs: the second parameter of `Autodiff`."""

from __future__ import annotations


class NoCheckpointing:
    """Keep every result that a rule names. The fastest way, and the one that takes the most memory."""
