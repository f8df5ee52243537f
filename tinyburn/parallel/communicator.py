"""What processes that train together can ask of each other, and the one rule that keeps them from hanging.

The rule: before they exchange anything, all of them *meet*. Each says where in the program it is, in a message of one
fixed length, and reads what the others say. Who reads of another place raises RanksDiffer, and so do all the others, as
all have read the same. Without that, a sum of two different tensors would be a wrong sum that nobody notices, and a
call that the others do not make would be waited for without end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tinyburn.backend import Device
from tinyburn.base.errors import ConfigError, DTypeMismatch, GraphError, RanksDiffer, ShapeError
from tinyburn.base.shape import is_count, num_elements
from tinyburn.base.shares import share, share_counts
from tinyburn.tensor import Tensor
from tinyburn.tensor.checks import check_tensor

AnyTensor: TypeAlias = Tensor[Any, Any, Any]
Primitive: TypeAlias = Any
Values: TypeAlias = np.ndarray[Any, Any]
E = TypeVar("E", bound=BaseException)

MOST_NUMBERS = 6
"""How many numbers a rank can bring to a meeting."""


class Communicator(ABC):
    """Ranks 0 to ``size - 1`` that run one program. Each calls the same methods in the same order.

    What a method returns is new to the log of a `Traced` device: communication, and no input. Values that are summed
    are those of every rank; the sum has the same bits on all of them, though not those of a sum in another order.

    Attributes:
        rank: which of them this process is.
        size: how many there are.
        sums_half: whether sums of float16 are exact enough to be left to the library; else they are done in float32.
    """

    rank: int
    size: int
    sums_half: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"

    def __copy__(self) -> Communicator:
        return self  # a copy of an optimizer speaks to the same ranks

    def __deepcopy__(self, _: object) -> Communicator:
        return self

    def meet(self, place: str, *numbers: float) -> list[tuple[float, ...]]:
        """Waits until every rank is at this place of the program, and returns what each of them brings.

        Args:
            place: what this rank is about to do, in words; the others have to say the same.
            numbers: at most six, as many on each rank; whole ones up to 2**53 stay exact.

        Raises RanksDiffer, on every rank, if one says something else, and on those that wait, if one has failed.
        """
        if len(numbers) > MOST_NUMBERS:
            reason = f"a rank brings at most {MOST_NUMBERS} numbers to a meeting, and these are {len(numbers)}"
            raise ConfigError("meet", reason, hint="comm.gather(place, value) takes lists")
        return self._meet(place, numbers)

    @abstractmethod
    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        """See `meet`."""

    def tell(self, words: str) -> None:  # noqa: B027  there may be nobody
        """Says that this rank has failed: those that wait for it, now or later, raise RanksDiffer with these words.

        It waits for nobody. After that, the ranks are at different places, and have to `renew` the communicator.
        """

    def on_every_rank(self, error: E) -> E:
        """Marks an error that all ranks raise at this place, so that one of them speaks for all."""
        return error

    def renew(self) -> None:  # noqa: B027
        """Makes it usable again after a failure. All ranks have to call it; it does nothing where none has failed."""

    @abstractmethod
    def gather(self, place: str, value: Any) -> list[Any]:
        """What each rank brings to such a meeting, by rank: numbers, texts, and lists, tuples and dicts of them.

        It goes through `pickle`, so it is for what is said now and then, and not for tensors.
        """

    # On tensors

    def broadcast(self, tensor: AnyTensor, root: int = 0, *, is_met: bool = False) -> AnyTensor:
        """The values that one rank has, on every rank.

        Args:
            tensor: of the same shape and dtype everywhere; its values count on the root alone.
            root: the rank whose values they are.
            is_met: whether the ranks have met for this already. That goes for the other methods too.
        """
        if not (is_count(root) and root < self.size):
            reason = f"the root is {root!r}, and ranks are whole numbers from 0 to {self.size - 1}"
            raise ConfigError("broadcast", reason, hint="comm.broadcast(x) sends the values of rank 0")
        swap = partial(self._send, root)
        return self._exchanged(f"broadcast from {root}", tensor, swap, self.rank == root, is_met)

    def all_reduce(self, tensor: AnyTensor, *, is_spare: bool = False, is_met: bool = False) -> AnyTensor:
        """The sum over all ranks, element by element.

        ``is_spare`` says that nobody else can see the tensor, so that the sum may be written over it: see
        `Backend.into`. Raises DTypeMismatch for truth values.
        """
        return self._summed("all_reduce", tensor, self._sum, is_spare, is_met)

    def reduce_scatter(self, tensor: AnyTensor, *, is_met: bool = False) -> AnyTensor:
        """This rank's `shard` of the sum over all ranks: of a shape ``(count,)``, as all parts are.

        Raises as `all_reduce` does, and ShapeError for another rank than 1.
        """
        _check_flat("reduce_scatter", tensor)
        part = share(tensor.shape[0], self.rank, self.size)
        return self._summed("reduce_scatter", tensor, self._sum_part, False, is_met, part.stop - part.start)

    def all_gather(self, part: AnyTensor, count: int, *, is_met: bool = False) -> AnyTensor:
        """The parts of all ranks one after another, ``(count,)``: what `reduce_scatter` has taken apart.

        Raises ShapeError if this part is not as long as this rank's `shard` of ``count``.
        """
        _check_flat("all_gather", part)
        own = share_counts(count, self.size)[self.rank]
        if part.shape[0] != own:
            reason = f"the part of rank {self.rank} of {count} numbers has {own}, and this one {part.shape[0]}"
            raise ShapeError("all_gather", reason, hint="hand it what reduce_scatter returns, or x[shard(count, comm)]")
        return self._exchanged("all_gather", part, partial(self._join, count), False, is_met, count)

    def _summed(
        self, name: str, tensor: AnyTensor, swap: Any, is_spare: bool, is_met: bool, count: int | None = None
    ) -> AnyTensor:
        """A sum. Numbers of 16 bits are added up in 32, if the library would not do it by itself."""
        check_tensor(name, tensor)
        if tensor.primitive.dtype.kind == "b":
            raise DTypeMismatch(name, "truth values have no sum", hint="cast them: mask.int() counts how many are True")
        if self.size == 1 or self.sums_half or str(tensor.dtype) != "float16":
            return self._exchanged(name, tensor, swap, is_spare, is_met, count)
        return self._exchanged(name, tensor.cast("float32"), swap, True, is_met, count).cast("float16")

    def _exchanged(
        self, name: str, tensor: AnyTensor, swap: Any, is_spare: bool, is_met: bool, count: int | None = None
    ) -> AnyTensor:
        """What ``swap(device, a, may_overwrite)`` makes of the values, in one dim."""
        check_tensor(name, tensor)
        if getattr(tensor.primitive, "is_tracked", False):
            reason = "no gradient goes through other processes, and this tensor is tracked"
            raise GraphError(name, reason, hint="write x.detach(), or all_reduce the gradients of the loss")
        if self.size == 1:
            return tensor
        if not is_met:
            self.meet(f"{name} of {tuple(tensor.shape)} {tensor.dtype}")
        flat = tensor.reshape((num_elements(tensor.shape),))
        shape = flat.primitive.shape if count is None else (count,)
        backend, on = tensor.device.backend, partial(swap, innermost(tensor.device))
        result = backend.exchange(name.partition(" ")[0], flat.primitive, shape, on, is_spare)
        if is_spare and backend.shares_buffer(result, tensor.primitive):
            return tensor
        received = flat._new(result)
        return received if count is not None or tensor.rank == 1 else received.reshape(tensor.shape)

    # What a library does, on the arrays of the innermost backend, each of rank 1

    @abstractmethod
    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        """The values of the root. On the root itself, ``a``."""

    @abstractmethod
    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        """The sum over all ranks, in ``a`` if that may be overwritten."""

    @abstractmethod
    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        """This rank's share of the sum."""

    @abstractmethod
    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        """The parts of all ranks, one after another."""


class Alone(Communicator):
    """One process by itself: every method returns what it is given, and nothing is copied. So a program that is
    written for many runs as it is."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1

    def _meet(self, place: str, numbers: tuple[float, ...]) -> list[tuple[float, ...]]:
        return [numbers]

    def gather(self, place: str, value: Any) -> list[Any]:
        """See `Communicator`."""
        return [value]

    def _send(self, root: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return a

    def _sum(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return a

    def _sum_part(self, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return a

    def _join(self, count: int, device: Device[Any], a: Primitive, may_overwrite: bool) -> Primitive:
        return a


def innermost(device: Any) -> Device[Any]:
    """The device under all decorators, whose arrays a library is handed."""
    while getattr(device, "inner", None) is not None:
        device = device.inner
    found: Device[Any] = device
    return found


def on_host(swap: Callable[[Values, bool], Values], device: Device[Any], a: Primitive, may_overwrite: bool) -> Any:
    """A swap of NumPy's arrays for a device of any backend; values that lie elsewhere come to the host and go back.
    What a library of communication is handed lies without gaps."""
    if device.backend.on_host:
        return swap(np.ascontiguousarray(a), may_overwrite)
    received = swap(device.backend.to_numpy(a), True)
    if may_overwrite and received.shape == tuple(a.shape):
        return device.backend.overwrite(a, received, device)
    return device.backend.from_numpy(received, device)


def _check_flat(name: str, tensor: AnyTensor) -> None:
    check_tensor(name, tensor)
    if tensor.rank != 1:
        reason = f"a part is one of numbers in a row, and this tensor has shape {tensor.shape}"
        raise ShapeError(name, reason, hint="write x.reshape((-1,)) first, and give the result its shape again")


def check_comm(asked: str, comm: object) -> None:
    """Raises ConfigError for what is no communicator."""
    if not isinstance(comm, Communicator):
        reason = f"comm is {comm!r}, and should be a communicator"
        raise ConfigError(asked, reason, hint="write parallel.Mpi(), or parallel.Alone() for a single process")


# What is said when ranks differ


def spoken_by(error: E, rank: int, who: str) -> E:
    """Marks an error that several ranks have, so that one of them speaks for all: see `ending`.

    Args:
        rank: of the world; the one that speaks.
        who: has the error, in words.
    """
    error.speaker, error.who = rank, who  # type: ignore[attr-defined]
    return error


def is_told(error: BaseException) -> bool:
    """Whether other ranks have this error, or know of it."""
    return hasattr(error, "speaker")


def differing(said: Sequence[str]) -> RanksDiffer:
    """An error with the first line in which the ranks differ, and who says what."""
    lines = [text.split("\n") for text in said]
    longest = max(map(len, lines))
    columns = ([rows[at] if at < len(rows) else "nothing more" for rows in lines] for at in range(longest))
    column = next(column for column in columns if len(set(column)) > 1)
    headings = {rows[0] for rows in lines}
    given: dict[str, str] = {"at": headings.pop()} if len(headings) == 1 and len(lines[0]) > 1 else {}
    for line in dict.fromkeys(column):
        given[ranks_named([rank for rank, one in enumerate(column) if one == line])] = line
    reason = "all ranks have to do the same, in the same order, with the same names, shapes and dtypes"
    hint = "look for what depends on the rank: a branch, another number of batches, another model"
    return RanksDiffer("the ranks are at different places", reason, given=given, hint=hint)


def ranks_named(ranks: Sequence[int]) -> str:
    """Some ranks, in words."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(map(str, ranks[:4]))
    return f"ranks {shown}" + (f" and {len(ranks) - 4} more" if len(ranks) > 4 else "")


def words_of(error: BaseException) -> str:
    """An error in one line: its kind, and why it was raised."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line.removeprefix("because ") for line in lines if line.startswith("because ")]
    return f"{type(error).__name__}: {(reasons or lines or [''])[0]}".removesuffix(": ")
