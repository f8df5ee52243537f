"""What every backend around another backend has in common: one class for each inside, and the way through it."""

from __future__ import annotations

import copy
import copyreg
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from tinyburn.base.distribution import AnyDistribution
from tinyburn.base.dtype import DType
from tinyburn.base.errors import BackendMismatch
from tinyburn.base.shape import Shape

from .device import DecoratedDevice, Device
from .interface import Array, Backend, Number, Swap
from .operations import OPERATIONS, Operation, called

IB = TypeVar("IB", bound=Backend, covariant=True)


class NamedByParts(type):
    """The class of the decorators' classes.

    ``Autodiff[NdArray]`` stands under no name in a module, so `pickle` takes it by its parts: the decorator, the
    backend inside and the options, each by its own name.
    """


def _parts_of(cls: Any) -> Any:
    if "_origin" not in vars(cls):
        return cls.__qualname__  # written out in a module, as Autodiff is
    return _from_parts, (cls._origin, cls.inner, *cls._options)


def _from_parts(decorator: type[Decorator], inner: type[Backend], *options: type[Any]) -> type[Decorator]:
    return decorator._class_for(inner, *options)


copyreg.pickle(NamedByParts, _parts_of)


class Wrapped:
    """An inner primitive, and nothing beside it: what a decorator has whose tensors carry no more than that."""

    __slots__ = ("dtype", "primitive", "shape")

    def __init__(self, primitive: Array) -> None:
        self.primitive = primitive
        self.shape = primitive.shape
        self.dtype = primitive.dtype

    def __repr__(self) -> str:
        return f"Wrapped({self.shape}, {self.dtype.name})"


class Decorator(Backend, metaclass=NamedByParts):
    """``Decorator[B]`` is a class, made on first use, so ``Traced[NdArray] is Traced[NdArray]``.

    A decorator says what it adds to an operation in `_wrap_operation`, and what it adds to a new primitive in
    `_wrap_made`. Its primitives keep the inner one in ``primitive``. As it stands it adds nothing: each primitive is
    `Wrapped`, and each operation is handed on.
    """

    is_decorator: ClassVar[bool] = True
    inner: ClassVar[type[Backend]]
    _origin: ClassVar[type[Decorator]]
    _options: ClassVar[tuple[type[Any], ...]]
    _made_from: ClassVar[tuple[Any, ...]]
    _classes: ClassVar[dict[Any, type[Decorator]]] = {}

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> Any:
            given = parameters if isinstance(parameters, tuple) else (parameters,)
            if any(isinstance(parameter, TypeVar) for parameter in given):
                return super().__class_getitem__(parameters)
            return cls._class_for(*given)

    @classmethod
    def _class_for(cls, inner: type[Backend], *options: type[Any]) -> type[Decorator]:
        """The class for what stands in the brackets: the same one each time."""
        if not (isinstance(inner, type) and issubclass(inner, Backend)):
            hint = "name a backend class, as in Autodiff[NdArray]"
            raise BackendMismatch(f"{cls.__name__}[...]", f"{inner!r} is not a backend", hint=hint)
        if not all(isinstance(option, type) for option in options):
            reason = "what follows the backend in the brackets has to be a class"
            raise BackendMismatch(f"{cls.__name__}[...]", reason, hint="as in Autodiff[NdArray, BalancedCheckpointing]")
        key = (cls, inner, *options)  # the classes themselves, not their names: a notebook may define a name again
        known = Decorator._classes.get(key)
        if known is None or known._made_from != cls._tables():
            known = Decorator._classes[key] = cls._make_class(inner, *options)
        return known

    @classmethod
    def _tables(cls) -> tuple[Any, ...]:
        """What the operations are made from. A class is made anew where that has changed: a student edits the tables
        under ``%autoreload 2``."""
        return tuple(OPERATIONS.values())

    @classmethod
    def _make_class(cls, inner: type[Backend], *options: type[Any]) -> type[Decorator]:
        attributes = {
            "inner": inner,
            **{name: getattr(inner, name) for name in ("has_values", "on_host", "widest_int", "widest_float")},
            "observed": cls.observed or inner.observed,
            "_origin": cls,
            "_options": options,
            "_made_from": cls._tables(),
            "__doc__": cls.__doc__,
            **cls._attributes(*options),
        }
        names = ", ".join(part.__name__ for part in (inner, *options))
        made: Any = type(f"{cls.__name__}[{names}]", (cls,), attributes)
        for operation in OPERATIONS.values():
            wrapped = made._wrap_repeating(operation) if operation.repeats else made._wrap_operation(operation)
            if wrapped is not None:
                setattr(made, operation.name, staticmethod(called(f"{cls.__name__}.{operation.name}", wrapped)))
        decorator: type[Decorator] = made
        return decorator

    @classmethod
    def _wrap_repeating(cls, operation: Operation) -> Any:
        """An operation of any number of tensors is decorated for each number that comes, as one of just so many."""
        wrapped = cache(lambda count: cls._wrap_operation(operation.taking(count)))
        return lambda *arguments: wrapped(len(arguments))(*arguments)

    @classmethod
    def _attributes(cls, *options: type[Any]) -> dict[str, Any]:
        """What the options add to the class."""
        return {}

    @classmethod
    def over(cls, device: Device[Any]) -> Device[Any]:
        """The device of this decorator around another device."""
        return cls.around(device.backend).wrap_device(device)

    @classmethod
    def around(cls, inner: type[Backend]) -> type[Decorator]:
        """This decorator, with its options, around another backend."""
        return getattr(cls, "_origin", cls)._class_for(inner, *getattr(cls, "_options", ()))

    @classmethod
    def _wrap_operation(cls, operation: Operation) -> Any:
        """The decorated operation; None to leave it to the default, which calls the decorated parts."""
        return None if cls.inner.composes(operation.name) else _handed_on(getattr(cls.inner, operation.name))

    @classmethod
    def _wrap_made(cls, maker: str, primitive: Array, device: Any) -> Any:
        """The decorated form of a primitive that was made from none, by ``from_numpy``, ``full`` or ``random``."""
        return Wrapped(primitive)

    # Devices

    if TYPE_CHECKING:  # the same as of every backend; for a checker, this device has an ``inner``

        @classmethod
        def device(
            cls, which: str | int | None = None, *, float_dtype: str = "float32", int_dtype: str | None = None
        ) -> DecoratedDevice[Self]:
            """See `Backend.device`."""
            ...

    @classmethod
    def _open(cls, which: str | int | None, float_dtype: DType, int_dtype: DType) -> Any:
        if not hasattr(cls, "inner"):
            reason = f"{cls.__name__} is around no backend yet"
            raise BackendMismatch("device", reason, hint=f"write {cls.__name__}[NdArray].device()")
        return cls.wrap_device(cls.inner.device(which, float_dtype=float_dtype, int_dtype=int_dtype))

    @classmethod
    def wrap_device(cls, inner: Device[Any]) -> Device[Any]:
        """The same hardware, seen through the decorator."""
        return DecoratedDevice(cls, inner)

    @classmethod
    def devices(cls) -> list[str]:
        return cls.inner.devices()

    @classmethod
    def why_unavailable(cls) -> str | None:
        return cls.inner.why_unavailable()

    # In and out

    @classmethod
    def from_numpy(cls, values: np.ndarray[Any, Any], device: Any) -> Any:
        return cls._wrap_made("from_numpy", cls.inner.from_numpy(values, device.inner), device)

    @classmethod
    def full(cls, shape: Shape, value: Number, dtype: DType, device: Any) -> Any:
        return cls._wrap_made("full", cls.inner.full(shape, value, dtype, device.inner), device)

    @classmethod
    def random(cls, shape: Shape, distribution: AnyDistribution, dtype: DType, device: Any) -> Any:
        return cls._wrap_made("random", cls.inner.random(shape, distribution, dtype, device.inner), device)

    @classmethod
    def to_numpy(cls, a: Any) -> np.ndarray[Any, Any]:
        return cls.inner.to_numpy(a.primitive)

    @classmethod
    def shares_buffer(cls, a: Any, b: Any) -> bool:
        return cls.inner.shares_buffer(a.primitive, b.primitive)

    @classmethod
    def separate(cls, a: Any) -> Any:
        twin = copy.copy(a)
        twin.primitive = cls.inner.separate(a.primitive)
        return twin

    @classmethod
    def exchange(cls, name: str, a: Any, shape: Shape, swap: Swap, is_spare: bool) -> Any:
        twin = copy.copy(a)
        twin.primitive = cls.inner.exchange(name, a.primitive, shape, swap, is_spare)
        twin.shape = shape
        return twin

    @classmethod
    def index_bounds(cls, a: Any) -> tuple[int, int] | None:
        return cls.inner.index_bounds(a.primitive)

    @classmethod
    def note(cls, a: Any, event: str, detail: Any = "") -> None:
        cls.inner.note(a.primitive, event, detail)


def _handed_on(compute: Any) -> Any:
    """An operation of the inner backend on wrapped primitives."""

    def handed_on(*arguments: Any) -> Wrapped:
        return Wrapped(compute(*[x.primitive if type(x) is Wrapped else x for x in arguments]))

    return handed_on


class Differentiable(Decorator, Generic[IB]):
    """What the floors below `Autodiff` know of it: that there is one decorator whose tensors have gradients.

    Autodiff derives from it, so ``self: Tensor[Differentiable[IB], D]`` tells a type checker which tensors have a
    `backward`, without an import that climbs.
    """

    is_autodiff: ClassVar[bool] = True

    @classmethod
    def over(cls, device: Device[Any]) -> Device[Any]:
        """As of any decorator; this class itself stands for the one that derives from it."""
        kind = Differentiable.__subclasses__()[0] if cls is Differentiable else cls
        return super(Differentiable, kind).over(device)
