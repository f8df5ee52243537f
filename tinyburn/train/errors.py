"""The error that ends a training which has gone wrong."""

from __future__ import annotations

from tinyburn.base.errors import NonFinite


class NonFiniteLoss(NonFinite):
    """A loss, or a gradient where that was asked for, is NaN or inf: every step from here on would make it worse.

    The learner has the model as it was before the step.
    """
