"""The derivatives of scans. All of them but that of a sum go back along a dim in one way, without any division:

    total[k] = g[k] + step[k] * total[k + 1]

The gradient of a result comes in at its own place, and takes steps towards the front. Of a product, a step over an
element multiplies by it; of a maximum, a step leads on (times 1) as long as the maximum is the same, and then no
further (times 0).
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from tinyburn.tensor import Tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]


def cumsum(g: AnyTensor, dim: int) -> AnyTensor:
    """Each element is in its own sum and in all that follow: the sums of ``g`` from the end."""
    return g.flip((dim,)).cumsum(dim).flip((dim,))


def cumprod(g: AnyTensor, a: AnyTensor, out: AnyTensor, dim: int) -> AnyTensor:
    """The product of all factors before the element, times what comes back over the factors after it."""
    size = a.shape[dim]
    if size < 2:
        return g
    one = Tensor.full((1,) * a.rank, 1, a.device, a.dtype).expand(a.narrow(dim, 0, 1).shape)
    before = Tensor.cat([one, out.narrow(dim, 0, size - 1)], dim)
    return _times(_back(g, a.narrow(dim, 1, size - 1), dim), before)


def cumulative_extreme(g: AnyTensor, a: AnyTensor, out: AnyTensor, dim: int) -> AnyTensor:
    """Of each result, the elements up to it that equal it have an equal share."""
    size = a.shape[dim]
    if size < 2:
        return g
    hits = (a == out).cast(g.dtype)
    leads_on = (out.narrow(dim, 1, size - 1) == out.narrow(dim, 0, size - 1)).cast(g.dtype)
    counts = _back(hits.flip((dim,)), leads_on.flip((dim,)), dim).flip((dim,))
    return _times(_back(_times(g, 1.0 / counts), leads_on, dim), hits)


def logcumsumexp(g: AnyTensor, a: AnyTensor, out: AnyTensor, dim: int) -> AnyTensor:
    """``exp(a - out)``, the share that the element has in its own result, and by the steps ``exp(out - next out)`` in
    all that follow: no exponent is above 0. Where a result is -inf, so are all before it, and no share is left."""
    size = a.shape[dim]
    nothing = out == -math.inf
    share = (a - out).mask_fill(nothing, -math.inf).exp()
    if size < 2:
        return _times(g, share)
    mine, following = out.narrow(dim, 0, size - 1), out.narrow(dim, 1, size - 1)
    step = (mine - following).mask_fill(nothing.narrow(dim, 0, size - 1), -math.inf).exp()
    return _times(_back(g, step, dim), share)


def _times(g: AnyTensor, b: AnyTensor) -> AnyTensor:
    """``g * b``, but 0 wherever ``g`` is 0."""
    return g._ask("multiply_no_nan", b)


def _back(g: AnyTensor, step: AnyTensor, dim: int) -> AnyTensor:
    """``total[k] = g[k] + step[k] * total[k + 1]``, where ``step`` is one shorter than ``g``.

    By doubling: when each total has taken in the ``far`` entries that follow it, and each step leads over ``far``
    entries, it takes in the total that is ``far`` away, and two steps become one.
    """
    size, far = g.shape[dim], 1
    while far < size:
        near, distant = g.narrow(dim, 0, size - far), g.narrow(dim, far, size - far)
        g = Tensor.cat([near + _times(distant, step), g.narrow(dim, size - far, far)], dim)
        if 2 * far < size:
            step = step.narrow(dim, 0, size - 2 * far) * step.narrow(dim, far, size - 2 * far)
        far *= 2
    return g
