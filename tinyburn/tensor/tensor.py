"""The tensor: checks first, then its backend computes."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload

import numpy as np

from tinyburn.backend.decorator import Differentiable
from tinyburn.backend.device import Device
from tinyburn.backend.interface import Backend
from tinyburn.base import foreign
from tinyburn.base.dtype import Bool, DType, Float, Int
from tinyburn.base.errors import BackendMismatch, DTypeMismatch, ForeignCall, ShapeError
from tinyburn.base.shape import Shape

from . import checks
from .base import DB, B, D, K
from .creation import Creation
from .data import TensorData, host_array
from .dims import Dims
from .elementwise import Elementwise
from .gradients import Gradients
from .masks import Masks
from .movement import Movement
from .order import Order
from .parts import Parts
from .products import Products
from .reduction import Reduction
from .repetition import Repetition
from .scans import Scans
from .statistics import Statistics
from .trigonometry import Trigonometry
from .windows import Windows

_ONLY_COPIES = "a tensor only gives out copies, so that its values cannot change; leave copy=False out"

IB = TypeVar("IB", bound=Backend)
AB = TypeVar("AB", bound="Differentiable[Any]")
ID = TypeVar("ID")
IK = TypeVar("IK")


class Tensor(
    Creation[B, D, K],
    Elementwise[B, D, K],
    Trigonometry[B, D, K],
    Reduction[B, D, K],
    Statistics[B, D, K],
    Scans[B, D, K],
    Order[B, D, K],
    Movement[B, D, K],
    Dims[B, D, K],
    Parts[B, D, K],
    Repetition[B, D, K],
    Windows[B, D, K],
    Masks[B, D, K],
    Products[B, D, K],
):
    """An n-dimensional array of one dtype, on one device of one backend.

    The type says what is known before the program runs: ``Tensor[NdArray, D2, Float]`` has the backend `NdArray`,
    rank 2 and real numbers. Type checkers reject what does not fit; the same checks run again when the program does.

    ``Tensor[NdArray, 2].zeros((16, 8), device)`` makes a tensor and checks it against the type in brackets.
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy leaves `array * tensor` to the tensor, which refuses it with a hint
    __array_ufunc__ = None

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> TypedTensor:
            """``Tensor[B]``, ``Tensor[B, rank]`` or ``Tensor[B, rank, kind]``."""
            return TypedTensor(cls, parameters)

        def __setitem__(self, index: Any, values: Any) -> None:
            reason = "values never change; a new tensor has the new ones"
            raise ForeignCall("x[...] = values", reason, hint="write x = x.slice_assign(index, values)")

    # Out of the framework

    def into_data(self) -> TensorData:
        """A copy of the values on the host. Raises BackendMismatch on a backend that has none."""
        if not self.backend.has_values:
            reason = f"{self.backend.__name__} keeps shapes only: there are no values to read"
            raise BackendMismatch("into_data", reason, hint="run the same program on NdArray")
        return TensorData.owning(self.backend.to_numpy(self.primitive))

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the values, as a NumPy array that the caller owns. Raises as `into_data` does."""
        values = self.into_data().values
        values.flags.writeable = True
        return values

    def into_scalar(self) -> Any:
        """The one element, as a Python number. Raises ShapeError if there is not exactly one."""
        if self.primitive.shape.count(1) != self.rank:
            reason = "into_scalar needs exactly one element"
            raise ShapeError("into_scalar", reason, given={"shape": self.shape}, hint="reduce it first, as in .mean()")
        return self.into_data().values.item()

    def item(self) -> Any:
        """`into_scalar`, under the name that NumPy and PyTorch have for it."""
        return self.into_scalar()

    def __bool__(self) -> bool:
        if self.primitive.shape.count(1) != self.rank:
            reason = "each of its elements has a truth value of its own"
            hint = "say .any() or .all(), as in `if (x > 0).all()`; masks combine with & and |, not with `and` and `or`"
            raise ShapeError("truth of a tensor", reason, given={"shape": self.shape}, hint=hint)
        return bool(self.into_scalar())

    def __float__(self) -> float:
        return float(self.into_scalar())

    def __int__(self) -> int:
        return int(self.into_scalar())

    def __format__(self, spec: str) -> str:
        return format(self.into_scalar(), spec) if spec else repr(self)

    if not TYPE_CHECKING:  # a checker would let NumPy take a tensor beside an array, which raises

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
            self._check_on_host("conversion to a NumPy array")
            if copy is False:
                raise ValueError(_ONLY_COPIES)
            return np.asarray(self.to_numpy(), dtype=dtype)

        @property
        def __numpy_dtype__(self) -> np.dtype[Any]:
            """NumPy's name for the dtype, by which JAX asks before it converts; `dtype` here is one of our own."""
            return np.dtype(self.dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """DLPack's capsule around a copy of the values, which whoever takes it may write to.

        Raises BackendMismatch off the host, and BufferError where the protocol forbids a copy or wants another device.
        """
        self._check_on_host("exchange by DLPack")
        if copy is False:
            raise BufferError(_ONLY_COPIES)
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        known = {name: value for name, value in asked.items() if value is not None}  # before 2.1 NumPy had one alone
        return self.to_numpy().__dlpack__(**known)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers for the CPU. Raises BackendMismatch off the host."""
        self._check_on_host("exchange by DLPack")
        return (1, 0)

    def _check_on_host(self, asked: str) -> None:
        """Raises BackendMismatch where other libraries cannot have the values without a word of the user's."""
        if self.backend.has_values and not self.backend.on_host:
            reason = f"the values are on {self.device}, and no copy between devices happens silently"
            raise BackendMismatch(asked, reason, hint="call .into_data() or .to_numpy()")

    def __len__(self) -> int:
        return self.shape[0]

    if TYPE_CHECKING:
        __iter__: None  # not iterable: without it a checker would take ``x[0], x[1], ...`` for the way
    else:

        def __iter__(self) -> Any:
            reason = "a tensor is not iterated: its parts keep its rank, so the loop would never reach numbers"
            raise DTypeMismatch("iteration", reason, hint="use x[i], chunks of x[i:j], or x.to_numpy()")

    def __repr__(self) -> str:
        """Values to 4 digits, folded in the middle when there are many, then shape, device, backend, kind, dtype."""
        lines = ["Tensor {", *_data_lines(self)]
        lines += [
            f"  shape:   {list(self.shape)}",
            f"  device:  {self.device.name}",
            f"  backend: {self.backend.__name__}",
            f"  kind:    {self.kind.__name__}",
            f"  dtype:   {self.dtype}",
            "}",
        ]
        return "\n".join(lines)

    # Between devices

    def to_device(self, device: Device[DB]) -> Tensor[DB, D, K]:
        """The values on another device or backend: the only way there. The copy is a constant for autodiff."""
        checks.check_device("to_device", device)
        if device == self.device:
            return cast("Tensor[DB, D, K]", self)
        data = self.into_data()
        return cast("Tensor[DB, D, K]", Tensor._around(device.backend.from_numpy(data.values, device), device))

    def __copy__(self) -> Tensor[B, D, K]:
        return self._new(self.primitive)

    def __deepcopy__(self, _: dict[int, Any]) -> Tensor[B, D, K]:
        """A constant, or a leaf of its own if this is a leaf. Values never change, so the two share a buffer."""
        return self._new(self.backend.separate(self.primitive))

    def __reduce__(self) -> Any:
        """The values, and the device by name: a pickle makes a constant of them, or a leaf if this is a leaf."""
        values = self.into_data().values if self.backend.has_values else None
        return _restored, (values, self.shape, self.dtype, self.device, self.is_require_grad)

    # Autodiff. These need a backend that is wrapped: Autodiff[...]

    def require_grad(self: Tensor[Differentiable[IB], D, Float]) -> Tensor[B, D, Float]:
        """A leaf with these values whose gradient `backward` will find.

        Raises:
            BackendMismatch: the backend is not under Autodiff.
            DTypeMismatch: only Float tensors have gradients; labels and masks never do.
            GraphError: the tensor is the result of tracked operations; call ``detach()`` first.
        """
        if self.primitive.dtype.kind != "f":
            reason = f"only float tensors have gradients; this one is {self.kind.__name__}, as labels and masks are"
            raise DTypeMismatch("require_grad", reason, given={"tensor": checks.describe(self)})
        leaf: Any = self._new(self._autodiff("require_grad").require_grad(self.primitive))
        return cast("Tensor[B, D, Float]", leaf)

    @property
    def is_require_grad(self) -> bool:
        """Whether this is a leaf that `backward` will find a gradient for."""
        return bool(self.backend.is_autodiff and self._autodiff("is_require_grad").is_leaf(self.primitive))

    def detach(self) -> Tensor[B, D, K]:
        """The same values as a constant, cut off from the graph."""
        return self._new(self.backend.detach(self.primitive))

    def inner(self: Tensor[Differentiable[IB], D, K]) -> Tensor[IB, D, K]:
        """The values on the backend inside the decorator, without the graph."""
        device: Any = self.device
        if not device.backend.is_decorator:
            reason = f"{device.backend.__name__} is not a decorator: it has no inner backend"
            raise BackendMismatch("inner", reason, hint=f"use Autodiff[{device.backend.__name__}]")
        return Tensor._around(self.primitive.primitive, device.inner)

    @overload
    @staticmethod
    def from_inner(inner: Tensor[IB, ID, IK]) -> Tensor[Any, ID, IK]: ...
    @overload
    @staticmethod
    def from_inner(inner: Tensor[IB, ID, IK], device: Device[AB]) -> Tensor[AB, ID, IK]: ...
    @staticmethod
    def from_inner(inner: Tensor[IB, ID, IK], device: Device[Any] | None = None) -> Tensor[Any, ID, IK]:
        """A constant on ``Autodiff[B]`` around a tensor of ``B``; ``device`` says which, where there are several."""
        checks.check_tensor("from_inner", inner)
        target: Any = Differentiable.over(inner.device) if device is None else device
        checks.check_device("from_inner", target)
        if not target.backend.is_autodiff:
            reason = f"{target} is not a device of Autodiff"
            raise BackendMismatch("from_inner", reason, hint="leave the device out, or use Autodiff[B].device()")
        if target.inner != inner.device:
            reason = f"the tensor is on {inner.device}, and inside {target} is {target.inner}"
            raise BackendMismatch("from_inner", reason, hint="use .to_device(...) first")
        return Tensor._around(target.backend.from_inner(inner.primitive), target)

    def backward(
        self: Tensor[Differentiable[IB], D, Float],
        gradient: Tensor[IB, D, Float] | None = None,
        retain_graph: bool = False,
        record_flow: bool = False,
        retain_grads: Sequence[Tensor[Any, Any, Float]] = (),
    ) -> Gradients[IB]:
        """The gradient of this tensor's sum with respect to every leaf that it depends on.

        Args:
            gradient: where to start instead of ones: the gradient of something further on, of this shape.
            retain_graph: keep the saved buffers, so that `backward` can run again.
            record_flow: note the size of every gradient on its way, for ``viz.gradient_flow``.
            retain_grads: results on the way whose gradients are wanted too; else only those of leaves are kept.

        Raises:
            BackendMismatch: the backend is not under Autodiff.
            GraphError: nothing here is tracked, or an earlier `backward` used the graph up.
            ShapeError, DTypeMismatch, DeviceMismatch: ``gradient`` does not fit; nothing has changed.
        """
        grads: Gradients[IB] = self._autodiff("backward").backward(
            self, gradient, retain_graph, record_flow, retain_grads
        )
        return grads

    def grad(self: Tensor[Differentiable[IB], D, K], grads: Gradients[IB]) -> Tensor[IB, D, K] | None:
        """This leaf's gradient, on the inner backend; None if it was not tracked or not reached."""
        return _checked("grad", grads).get(self)

    def grad_remove(self: Tensor[Differentiable[IB], D, K], grads: Gradients[IB]) -> Tensor[IB, D, K] | None:
        """Like `grad`, and takes it out of ``grads``, so that its memory can go."""
        return _checked("grad_remove", grads).remove(self)

    def _autodiff(self, op: str) -> Any:
        backend = self.device.backend
        if not backend.is_autodiff:
            hint = f"make the device with Autodiff[{backend.__name__}].device()"
            reason = f"{backend.__name__} records no graph"
            raise BackendMismatch(op, reason, given={"tensor": checks.describe(self)}, hint=hint)
        return backend


def _checked(op: str, value: Gradients[IB]) -> Gradients[IB]:
    if not isinstance(value, Gradients):
        reason = f"{type(value).__name__} holds no gradients"
        raise DTypeMismatch(op, reason, hint="hand it what backward() returns")
    return value


def _restored(
    values: np.ndarray[Any, Any] | None, shape: Shape, dtype: DType, device: Device[Any], is_leaf: bool
) -> Tensor[Any, Any, Any]:
    """The tensor of a pickle; ``values`` is None for a backend that keeps shapes only."""
    if values is None:
        primitive = device.backend.full(shape, 0, dtype, device)
    else:
        primitive = device.backend.from_numpy(host_array(values), device)
    tensor = Tensor._around(primitive, device)
    return tensor.require_grad() if is_leaf else tensor


if not TYPE_CHECKING:  # a call in the way of NumPy or PyTorch, such as x.sum(0), is told ours
    for _name in foreign.called(dir(Tensor)):
        _found = inspect.getattr_static(Tensor, _name)
        _explained = foreign.explained(_name, getattr(_found, "__func__", _found))
        setattr(Tensor, _name, staticmethod(_explained) if isinstance(_found, staticmethod) else _explained)
    foreign.leave_out(Tensor, "x")


# How a tensor prints: its values, then the fields that Burn shows


def _data_lines(tensor: Tensor[Any, Any, Any]) -> list[str]:
    if not tensor.backend.has_values:
        return ["  data:    none, this backend keeps shapes only"]
    values = tensor.backend.to_numpy(tensor.primitive)
    # Every option is given, so that the caller's own settings do not show.
    with np.printoptions(suppress=False, nanstr="nan", infstr="inf", sign="-", formatter=None, legacy=False):
        layout: Any = {"precision": 4, "threshold": 200, "edgeitems": 3, "floatmode": "maxprec"}
        text = np.array2string(values, 100, separator=", ", prefix="    ", **layout)
    return ["  data:", f"    {text}"]


# ``Tensor[NdArray, 2]`` at run time: the constructors of Tensor, held to a backend, a rank and a kind


_MAKERS = {"from_data", "zeros", "ones", "full", "empty", "random", "arange", "eye", "from_inner"}
_MAKERS |= {"tril_mask", "triu_mask", "diag_mask", "cartesian_grid"}


class TypedTensor(types.GenericAlias):
    """A type alias like ``list[int]``, so annotations work; its constructors check what they made."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in _MAKERS:
            return found
        backend, rank, kind = _expectations(super().__getattribute__("__args__"))

        @functools.wraps(found)  # an editor shows the constructor's own signature
        def make(*args: Any, **options: Any) -> Any:
            if name == "from_data" and kind in (Int, Bool) and len(args) < 3:
                device = options["device"] if "device" in options else list(args)[-1]
                checks.check_device(name, device)
                options.setdefault("dtype", device.int_dtype if kind is Int else "bool")
            return _held_to_type(name, found(*args, **options), backend, rank, kind)

        return make


def _expectations(parameters: tuple[Any, ...]) -> tuple[Any, int | None, Any]:
    """Backend, rank and kind from what stands in the brackets; a type variable expects nothing."""
    backend, rank, kind = [*parameters, None, None][:3]
    if not isinstance(rank, int):
        rank = next(iter(get_args(rank)), None)
    return (
        backend if isinstance(backend, type) else None,
        rank if isinstance(rank, int) else None,
        kind if kind in (Float, Int, Bool) else None,
    )


def _held_to_type(op: str, tensor: Any, backend: Any, rank: int | None, kind: Any) -> Any:
    if backend is not None and tensor.backend is not backend:
        reason = f"the type says {backend.__name__}, the device belongs to {tensor.backend.__name__}"
        raise BackendMismatch(op, reason, hint=f"use {backend.__name__}.device()")
    if rank is not None and tensor.rank != rank:
        reason = f"the type says rank {rank}, the values have rank {tensor.rank}"
        raise ShapeError(op, reason, given={"shape": tensor.shape})
    if kind is not None and tensor.kind is not kind:
        reason = f"the type says {kind.__name__}, the values are {tensor.kind.__name__} ({tensor.dtype})"
        raise DTypeMismatch(op, reason, hint="give dtype=..., or convert the tensor")
    return tensor
