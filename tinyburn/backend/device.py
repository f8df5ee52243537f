"""A device: where tensors live, which dtypes new ones get, and the state that belongs to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from tinyburn.base.dtype import DType, Float, Int
from tinyburn.base.errors import BackendMismatch, BackendUnavailable, ConfigError, DTypeMismatch
from tinyburn.base.shape import is_count

from .operations import called

B = TypeVar("B", covariant=True)  # a backend: its class stands above this file

WORD = 0xFFFFFFFF
"""The largest word of 32 bits."""


class Device(Generic[B]):
    """Where tensors of one backend live. Hand it to whatever makes tensors; nothing looks for a device by itself.

    Two devices are equal if their tensors can meet: same backend, same hardware. The dtypes are only the defaults
    of new tensors.
    """

    def __init__(self, backend: type[B], name: str, float_dtype: DType, int_dtype: DType) -> None:
        if float_dtype.kind is not Float or int_dtype.kind is not Int:
            reason = f"float_dtype {float_dtype} must be a float format, and int_dtype {int_dtype} an integer one"
            raise DTypeMismatch(f"{backend.__name__}.device", reason)
        self.backend = backend
        self.name = name
        self.float_dtype = float_dtype
        self.int_dtype = int_dtype

    @property
    def identity(self) -> Any:
        """What two devices of one backend are compared by."""
        return self.name

    @property
    def description(self) -> str:
        """What stands behind the name, in the driver's or the library's own words."""
        return ""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Device) and self.backend is other.backend and self.identity == other.identity

    def __hash__(self) -> int:
        return hash((self.backend, self.name))

    def __copy__(self) -> Device[B]:
        return self  # hardware has no copy; a copied tensor is on the same device

    def __deepcopy__(self, _: object) -> Device[B]:
        return self

    def __reduce__(self) -> Any:
        """By name: a pickle opens the device again, and its random numbers go on from where they stand now.

        Loading it raises BackendUnavailable where there is no such device.
        """
        return _reopened, (self.backend, self.name, self.float_dtype, self.int_dtype, self.random_state())

    def __repr__(self) -> str:
        return f"{self.backend.__name__}({self.name})"

    def seed(self, seed: int) -> None:
        """Starts the random numbers of this device anew: the same seed gives the same draws."""
        raise NotImplementedError

    def random_state(self) -> Any:
        """Where the random numbers stand; hand it to `set_random_state` to draw the same again."""
        return None

    def set_random_state(self, state: Any) -> None:
        """Goes back to where the random numbers stood."""

    def sync(self) -> None:
        """Waits until everything that was asked of the device is done. On the CPU it always is."""

    def memory_usage(self) -> MemoryUsage:
        """What is known about the memory of this device."""
        return MemoryUsage()

    def memory_cleanup(self) -> None:
        """Gives cached memory back to the system, and what only the errors of failed steps still hold.

        A backend without a cache has nothing to give.
        """

    def limit_memory(self, limit: int | None) -> None:
        """Lets the device hold at most ``limit`` bytes, cached ones included; None lifts it again.

        A step that needs more raises OutOfMemory, as on a smaller GPU. It holds for the hardware, not for this object.
        Raises BackendMismatch for a backend that has no pool of its own: there is nothing that could say no.
        """
        reason = f"{self.backend.__name__} has no memory pool: its buffers come from the system, one by one"
        hint = "limit a GPU, or plan with memory.max_batch_size(job, available_bytes)"
        raise BackendMismatch("limit_memory", reason, hint=hint)


def _reopened(backend: Any, name: str, float_dtype: DType, int_dtype: DType, random_state: Any) -> Device[Any]:
    """The device of a pickle."""
    device: Device[Any] = backend.device(name, float_dtype=str(float_dtype), int_dtype=str(int_dtype))
    device.set_random_state(random_state)
    return device


def check_count(asked: str, value: object) -> int:
    """A whole number of 0 or more, NumPy's own included. Raises ConfigError for anything else."""
    number = int(value) if isinstance(value, np.integer) else value
    if is_count(number):
        return cast(int, number)
    raise ConfigError(asked, f"{value!r} is not a whole number of 0 or more")


def check_only_device(backend: str, name: str, which: object) -> None:
    """For a backend with a single device: raises BackendUnavailable if another one is asked for."""
    if which not in (None, name, 0):
        reason = f"{backend} has one device, {name}, and no {which!r}"
        raise BackendUnavailable(f"{backend}.device", reason, hint="leave the device out")


class RandomState(NamedTuple):
    """All that a device remembers of its random numbers.

    Attributes:
        seed: which sequence. Its last 64 bits are the key.
        draws: how many draws there were. Their last 32 bits are the second word of the counter.
    """

    seed: int
    draws: int = 0

    @property
    def key(self) -> tuple[int, int]:
        """The two words of the key: the last 32 bits of the seed, and the 32 before."""
        return self.seed & WORD, (self.seed >> 32) & WORD

    @property
    def draw(self) -> int:
        """The word of the counter that tells one draw from another."""
        return self.draws & WORD


def fresh_seed() -> int:
    """A seed for a device that has been given none: 64 bits from the operating system."""
    return int.from_bytes(os.urandom(8), "little")


class SeededDevice(Device[B]):
    """A device with random numbers. Each object has its own, which begin where no other's do until it is seeded."""

    def __init__(self, backend: type[B], name: str, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__(backend, name, float_dtype, int_dtype)
        self._state = RandomState(fresh_seed())

    def seed(self, seed: int) -> None:
        self._state = RandomState(check_count("seed", seed))

    def random_state(self) -> RandomState:
        return self._state

    def set_random_state(self, state: Any) -> None:
        if not (isinstance(state, tuple) and len(state) == 2 and all(map(is_count, state))):
            reason = f"{state!r} is no state of random numbers"
            raise ConfigError("set_random_state", reason, hint="give it what device.random_state() returned")
        self._state = RandomState(*state)

    def next_draw(self) -> RandomState:
        """The state for one draw; the device moves on to the next."""
        state = self._state
        self._state = state._replace(draws=state.draws + 1)
        return state


@dataclass(frozen=True)
class MemoryUsage:
    """Bytes in Burn's words; None means not measured, which is not 0."""

    number_allocs: int | None = None
    bytes_in_use: int | None = None
    bytes_padding: int | None = None
    bytes_reserved: int | None = None


class DecoratedDevice(Device[B]):
    """The device of a decorator: whatever is asked of the hardware, the inner device answers."""

    def __init__(self, backend: type[B], inner: Device[Any]) -> None:
        super().__init__(backend, inner.name, inner.float_dtype, inner.int_dtype)
        self.inner: Any = inner  # its type would need the class of the decorator, which stands above this file

    def __reduce__(self) -> Any:
        """The inner device by name, and the decorator around it: a traced one begins a new log."""
        return _wrapped, (self.backend, self.inner)

    @property
    def identity(self) -> Any:
        return self.inner

    @property
    def description(self) -> str:
        description: str = self.inner.description
        return description


def _wrapped(backend: Any, inner: Device[Any]) -> Device[Any]:
    """The decorated device of a pickle."""
    device: Device[Any] = backend.wrap_device(inner)
    return device


def _asked_of_inner(name: str) -> Any:
    return called(f"DecoratedDevice.{name}", lambda self, *arguments: getattr(self.inner, name)(*arguments))


for _name in ("seed", "random_state", "set_random_state", "sync", "memory_usage", "memory_cleanup", "limit_memory"):
    setattr(DecoratedDevice, _name, _asked_of_inner(_name))
