"""What every tensor method stands on: the primitive, its device, and the check of operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Never, TypeAlias

from typing_extensions import TypeVar

from tinyburn.backend.device import Device
from tinyburn.backend.interface import Array, Backend, Operand
from tinyburn.base.dtype import DTYPES, DType, Float, TensorKind
from tinyburn.base.errors import ForeignCall, ShapeError
from tinyburn.base.shape import Shape, broadcasts, normalize_dim, normalize_dims, num_elements

from . import checks

if TYPE_CHECKING:
    import numpy as np

    from .tensor import Tensor

B = TypeVar("B", bound=Backend, covariant=True)
D = TypeVar("D", default=Any)
K = TypeVar("K", default=Float)

# Of a single method. A static method needs its own: those above belong to a tensor, and it has none yet.
DB = TypeVar("DB", bound=Backend)  # the backend of a device that is handed in

Scalar: TypeAlias = "float | np.floating[Any] | np.integer[Any]"
"""A number beside a tensor: Python's, or NumPy's."""


class TensorBase(Generic[B, D, K]):
    """Holds a primitive: whatever the backend computes with (a NumPy array, a GPU buffer, a graph node).

    The value of a tensor never changes. Every method makes a new one, so two names of one tensor
    can never surprise each other, and memory can be shared between tensors without care.
    """

    __slots__ = ("__weakref__", "device", "primitive")

    primitive: Array
    device: Device[B]

    def __init__(self, *data: Never, **options: Never) -> None:
        """Raises ForeignCall: a tensor is made from data, filled or drawn, and says so in the name of the call."""
        hint = "write Tensor.from_data([1.0, 2.0], device); for others Tensor.zeros, ones, full, random, arange, eye"
        raise ForeignCall("Tensor(...)", "the class itself makes no tensor", hint=hint)

    @classmethod
    def _around(cls, primitive: Array, device: Device[DB]) -> Tensor[DB, Any, Any]:
        """A tensor around a primitive that nobody else holds, for who makes tensors inside tinyburn."""
        tensor: Tensor[DB, Any, Any] = _allocate(cls)
        tensor.primitive = primitive
        tensor.device = device
        return tensor

    @property
    def shape(self) -> Shape:
        """The size of each dim; a tensor of rank 1 or more always has one."""
        shape: Shape = self.primitive.shape
        return shape

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.primitive.shape)

    @property
    def dtype(self) -> DType:
        """The format of one scalar."""
        return DTYPES[self.primitive.dtype]

    @property
    def kind(self) -> TensorKind:
        """`Float`, `Int` or `Bool`."""
        return self.dtype.kind

    @property
    def backend(self) -> type[B]:
        """The class that computes with this tensor."""
        return self.device.backend

    @property
    def payload_bytes(self) -> int:
        """Bytes that the values need, row-major and without padding: elements times bytes of a scalar."""
        return num_elements(self.shape) * self.dtype.bytes

    def _new(self, primitive: Array) -> Tensor[B, Any, Any]:
        """A tensor of the same device around another primitive."""
        tensor: Tensor[B, Any, Any] = _allocate(self.__class__)  # a call of the class takes twice as long
        tensor.primitive = primitive
        tensor.device = self.device
        return tensor

    def _ask(self, operation: str, *arguments: Any) -> Tensor[B, Any, Any]:
        """An operation that no method has: asks the backend for it by name, and checks nothing."""
        function = getattr(self.device.backend, operation)
        if len(arguments) == 1:  # nearly always
            (x,) = arguments
            return self._new(function(self.primitive, x.primitive if isinstance(x, TensorBase) else x))
        return self._new(
            function(self.primitive, *[x.primitive if isinstance(x, TensorBase) else x for x in arguments])
        )

    def _operand(self, op: str, other: Any) -> Operand:
        """The other side of a binary op as the backend takes it: a checked primitive, or a number.

        The usual case, two tensors of one device and dtype whose shapes fit, is decided by the cheap tests here.
        """
        mine = self.primitive
        if mine.dtype.kind == "b" and op not in _BOOL_OPS:
            raise checks.reject_dtype(op, self, "number")
        if not isinstance(other, TensorBase):
            return checks.check_scalar(op, self, other)
        theirs = other.primitive
        fits = other.device is self.device and theirs.dtype is mine.dtype
        if not (fits and (theirs.shape == mine.shape or broadcasts(theirs.shape, mine.shape))):
            checks.check_operands(op, self, other)
        return theirs

    def _dim(self, op: str, dim: int, more: int = 0) -> int:
        """A dim counted from the front, in a shape with ``more`` dims added. Raises ShapeError if it does not exist."""
        return normalize_dim(op, dim, self.primitive.shape + (1,) * more)

    def _dims(self, op: str, dims: tuple[int, ...]) -> tuple[int, ...]:
        """Several dims, counted from the front, which must differ."""
        return normalize_dims(op, dims, self.primitive.shape)

    def _of_kind(self, op: str, kind: str) -> Array:
        """The primitive, for an op that only tensors of one kind have."""
        if self.primitive.dtype.kind not in _LETTERS[kind]:
            raise checks.reject_dtype(op, self, kind)
        return self.primitive

    def _single(self, value: float, rank: int) -> Tensor[B, Any, Any]:
        """One number in this dtype and on this device, in a shape that broadcasts, which an operation is made of."""
        backend = self.device.backend
        return as_temporary(self._new(backend.full((1,) * rank, value, self.dtype, self.device)))

    def _wide(self, op: str) -> Array:
        """The primitive for a sum or a product. Small integers are cast to the widest that the backend has, as in
        NumPy: 100 + 100 is more than a uint8 can hold."""
        if self.primitive.dtype.kind == "f":
            return self.primitive
        array, widest = self._of_kind(op, "number"), self.device.backend.widest_int
        return array if array.dtype.name == widest else self.device.backend.cast(array, DType(widest))

    def _not_empty(self, op: str, dims: Any) -> None:
        """Guards the reductions that have no value for no elements."""
        if 0 in self.primitive.shape and any(self.shape[dim] == 0 for dim in dims):
            reason = "the tensor has no elements along the reduced dims (an empty batch?)"
            hint = "skip an empty batch, or use sum(), which is 0"
            raise ShapeError(op, reason, given={"shape": self.shape}, hint=hint)


def as_temporary(tensor: Tensor[DB, D, K]) -> Tensor[DB, D, K]:
    """A tensor that an operation has made for its own use: in the memory log it is no input of the user's."""
    if tensor.device.backend.observed:
        tensor.device.backend.note(tensor.primitive, "temporary")
    return tensor


_allocate: Any = object.__new__

# NumPy's one-letter codes for the kinds of a dtype.
_LETTERS = {"float": "f", "int": "iu", "bool": "b", "number": "fiu"}

# The binary ops that truth values have too: the others are arithmetic or need an order.
_BOOL_OPS = {"equal", "not_equal", "mask_where", "bool_and", "bool_or", "bool_xor"}
