"""Where the first NaN came from: the step that gave it, once more, on a backend that stops at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyburn.backend import Device, Finite
from tinyburn.base.errors import NonFinite
from tinyburn.module import Module
from tinyburn.tensor import Tensor

from .batch import on_device, tensors_of
from .step import StepFunction, run_step


def reasons_for(step: StepFunction, model: Module, batch: Any, device: Device[Any], random: Any) -> list[str]:
    """Why the step of a batch is not finite: NaN in the data or the model, or else the operation that made the first.

    The step runs again on copies, so the model and the data stay as they are. ``random`` is where the random numbers
    stood before the step; where they stand now, they stand afterwards.
    """
    found = [
        f"input {at} of the batch has {kind}" for at, tensor in enumerate(tensors_of(batch)) if (kind := _kind(tensor))
    ]
    for path, part in model.named_values():
        kind = _kind(part if isinstance(part, Tensor) else part.val())
        if kind:
            found.append(f"{path} of the model has {kind} already, so an earlier step has made it")
    return found or [_first_operation(step, model, batch, device, random)]


def _kind(tensor: Tensor[Any, Any, Any]) -> str:
    values = tensor.to_numpy()
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return ""
    return "NaN" if np.isnan(values).any() else "inf"


def _first_operation(step: StepFunction, model: Module, batch: Any, device: Device[Any], random: Any) -> str:
    now = device.random_state()
    device.set_random_state(random)
    try:
        _run_again(step, model, batch, finite_device(device))
    except NonFinite as error:
        return f"the first operation that is not finite is {_one_line(error)}"
    except Exception as error:  # a step of one's own may hold on to tensors of the first device
        return f"which operation made it is not known: the step cannot run on Finite: {type(error).__name__}"
    finally:
        device.set_random_state(now)
    return "no operation made it out of finite numbers when the step ran again"


def _run_again(step: Any, model: Module, batch: Any, device: Device[Any]) -> None:
    there: Callable[..., Any] = step.fork(device) if hasattr(step, "fork") else step
    run_step(there, model.fork(device), on_device(batch, device)).loss.backward()


def _one_line(error: NonFinite) -> str:
    first, *rest = str(error).splitlines()
    because = next((line.strip() for line in rest if line.strip().startswith("because")), "")
    return f"{first}, {because}"


def finite_device(device: Any) -> Device[Any]:
    """The same device with `Finite` around its innermost backend."""
    inner = getattr(device, "inner", None)
    if inner is None:
        return Finite.over(device)
    within = finite_device(inner)
    made: Device[Any] = device.backend.around(within.backend).wrap_device(within)
    return made
