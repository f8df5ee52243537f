"""Forward passes of a module for several batches, on a device that computes nothing and keeps what it is asked for."""

from __future__ import annotations

from typing import Any

from tinyburn.backend import Device, NdArray
from tinyburn.base.errors import BackendMismatch, OnnxError, TinyburnError
from tinyburn.base.scope import Scope, leave, start
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

from .ports import AnyTensor, Example, tensors_in
from .tracing import Call, Exported


class Passes:
    """Forward passes of one module on a device that keeps what is asked for."""

    def __init__(self, module: Module, example: Example) -> None:
        self.device = _device_of(module, example)
        self.example = example
        constants = {path: self._constant(path, tensor) for path, tensor in module.named_tensors()}
        self.module = module.map(self._parameter).with_tensors(constants)

    def __repr__(self) -> str:
        return f"Passes({type(self.module).__name__})"

    def _parameter(self, path: str, param: Param[Any, Any]) -> Param[Any, Any]:
        tensor = param.val()
        call = Call("parameter", (), tensor.shape, tensor.primitive.dtype, label=path)
        return Param(Tensor._around(call, self.device))

    def _constant(self, path: str, tensor: AnyTensor) -> AnyTensor:
        value = tensor.detach().to_numpy()
        return Tensor._around(Call("constant", (), value.shape, value.dtype, value, path), self.device)

    def run(self, batch: int | None) -> list[Call]:
        """The outputs for a batch; None for the example's."""
        ports = self.example.ports

        def given(inside: str, tensor: AnyTensor) -> AnyTensor:
            call = Call("input", (), ports[inside].shape(batch), tensor.primitive.dtype, label=ports[inside].name)
            return Tensor._around(call, self.device)

        token = start(Scope("", self.module))
        try:
            return self._calls(self.example.call(self.module.forward, given))
        except BackendMismatch as error:
            reason = (
                f"the forward pass reads the numbers of a tensor, and what it decides by them is in no file: {error}"
            )
            raise OnnxError("onnx.save", reason, hint="compute it with tensors, as in mask_where") from error
        finally:
            leave(token)

    def _calls(self, result: Any) -> list[Call]:
        tensors = tensors_in(result)
        if not tensors:
            raise OnnxError("onnx.save", f"forward returns {type(result).__name__}, in which there is no tensor")
        return [
            tensor.primitive if tensor.device == self.device else self._constant("", tensor).primitive
            for tensor in tensors.values()
        ]


def _device_of(module: Module, example: Example) -> Device[Any]:
    """A device that keeps calls, with the dtypes of the module's own."""
    tensors = [value.val() if isinstance(value, Param) else value for _, value in module.named_values()]
    tensors += [port.tensor for port in example.ports.values()]
    if not tensors:
        raise OnnxError("onnx.save", "the module has neither parameters nor inputs")
    home = tensors[0].device
    backend: Any = Exported[NdArray]
    device: Device[Any] = backend.device(float_dtype=str(home.float_dtype), int_dtype=str(home.int_dtype))
    return device


def several_batches(passes: Passes) -> tuple[list[int], list[list[Call]]]:
    """The outputs for three batches: the example's and two others. A batch of 1 is none of them: it broadcasts."""
    port = passes.example.free
    if port is None or port.dim is None:
        return [0], [passes.run(None)]
    length = port.tensor.shape[port.dim]
    if not length:
        raise OnnxError("onnx.save", "the example's batch is empty", hint="give it one sample or more")
    first = passes.run(length)  # what it raises is not about the batch
    batches = [2, 3, 4] if length == 1 else [length, 2 * length, 3 * length]
    others = [_other_batch(passes, batch) for batch in batches if batch != length]
    return batches, others if length == 1 else [first, *others]


def _other_batch(passes: Passes, batch: int) -> list[Call]:
    try:
        return passes.run(batch)
    except TinyburnError as error:
        reason = f"with a batch of {batch} forward raises {type(error).__name__}: {error}"
        hint = "onnx.save(..., batch=None) keeps the example's batch; batch_dims= says which dims of which inputs it is"
        raise OnnxError("onnx.save: the batch is not free", reason, hint=hint) from error
