"""An optimizer whose state is shared out: of n ranks each keeps an n-th of it, and steps that part of the model.

Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", its first stage. The
sum of the gradients is scattered, so that each rank has its share; the rank steps its share of the parameters; and the
new parameters are gathered. What is sent is what one `all_reduce` sends, for that is made of the same two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tinyburn.autodiff import Gradients
from tinyburn.base.dtype import DType
from tinyburn.base.errors import ConfigError
from tinyburn.base.shares import share
from tinyburn.module import Config, Module, Param
from tinyburn.optim import Groups, Optimizer, clip_gradients
from tinyburn.optim.checks import check_rate
from tinyburn.optim.clipping import AnyClipping, GlobalNorm, Norm, Value, factor_for, sum_of_squares
from tinyburn.optim.record import read_states
from tinyburn.optim.update import Primitive, State, Update, enter_phase, phase
from tinyburn.tensor import Tensor

from .buckets import BUCKET_BYTES, Bucket, Entry, buckets_of, check_bytes, entries_of, joined, parted, trained
from .communicator import AnyTensor, Communicator, check_comm
from .gradients import Part, check_part, meet_for, weighted

AnyParam: TypeAlias = Param[Any, Any]
M = TypeVar("M", bound=Module)

_COMMUNICATION, _UPDATE = "communication", "update"


class Piece(NamedTuple):
    """The part of one parameter that is in a rank's share of a bucket.

    Attributes:
        at: the place of the parameter in the list of all.
        start, stop: which of its numbers.
        offset: where they begin in the share.
    """

    at: int
    start: int
    stop: int
    offset: int

    @property
    def numbers(self) -> int:
        """How many numbers."""
        return self.stop - self.start


class Segment(NamedTuple):
    """A rank's share of a bucket: what of it, and the sum of the gradients there, ``(count,)``."""

    bucket: Bucket
    pieces: tuple[Piece, ...]
    gradient: AnyTensor


class Sharded(Optimizer[Any]):
    """``Sharded(optim.AdamConfig().init(), comm)``: any optimizer, with its state split by size over the ranks.

    Its step takes the gradients of this rank as `backward` returns them, and sums them itself: no `all_reduce` comes
    before. The models it returns are the same on all ranks. Each number of a parameter goes its own way in every
    formula, so the numbers are those of the whole optimizer.

    Args:
        optimizer: a new one, that has not seen a model yet. Clipping in its config is done over all ranks.
        comm: who shares.
        bucket_bytes: see `all_reduce`.

    Raises ConfigError for what is no optimizer, and for groups of which one clips by a norm: the norm of a part is not
    that of the whole.
    """

    def __init__(self, optimizer: Optimizer[Any], comm: Communicator, *, bucket_bytes: int = BUCKET_BYTES) -> None:
        _check(optimizer)
        check_comm("Sharded", comm)
        check_bytes("Sharded", bucket_bytes)
        config = optimizer.config
        self._clip: AnyClipping | None = getattr(config, "grad_clipping", None)
        config = replace(config, grad_clipping=None) if self._clip is not None else config
        super().__init__(config)
        self.inner: Optimizer[Any] = Groups(config) if isinstance(optimizer, Groups) else config.init()
        self.comm = comm
        self._bytes = bucket_bytes

    def __repr__(self) -> str:
        return f"Sharded({self.inner!r}, {self.comm!r})"

    def anew(self, comm: Communicator) -> Sharded:
        """One of the same kind without any state, that shares with others: for a plan, `Pretend`."""
        config = self.config if self._clip is None else replace(self.config, grad_clipping=self._clip)
        made = Groups(config) if isinstance(self.inner, Groups) else config.init()
        return Sharded(made, comm, bucket_bytes=self._bytes)

    def step(
        self,
        lr: float,
        model: M,
        grads: Gradients[Any] | None,
        samples: float | None = None,
        clip: AnyClipping | None = None,
    ) -> M:
        """The model one step of length ``lr`` further, by the mean over the samples of all ranks.

        Args:
            lr: the same on every rank.
            model: the same on every rank.
            grads: of this rank, which takes them; None if it had no samples.
            samples: how many this rank's loss was the mean of; see `all_reduce`.
            clip: how the whole gradient is clipped, before what the config says.

        Raises as `all_reduce` and as the step of the optimizer do.
        """
        asked, rate = "Sharded.step", check_rate("Sharded.step", lr)
        weight = check_part(asked, grads, self.comm, samples)
        clips = [one for one in (clip, self._clip) if one is not None]
        if self.comm.size == 1 and grads is not None:
            for one in clips:
                grads = clip_gradients(grads, one)
            return super().step(rate, model, grads)
        trained(asked, model)
        part = meet_for(asked, grads, list(model.named_params()), self.comm, weight)
        found = [pair for pair, wanted in zip(part.params, part.wanted, strict=True) if wanted]
        self.check_model(asked, model, found)
        with phase(_UPDATE, part.params[0][1].val()):
            return model.with_params(dict(self._stepped(rate, part, clips)))

    def advance(self, lr: float, updates: Iterable[tuple[AnyParam, Update]]) -> Iterator[tuple[AnyParam, Primitive]]:
        """See `Optimizer`: the formula is the inner optimizer's."""
        return self.inner.advance(lr, updates)

    def _next(self, lr: float, p: Update) -> Primitive:
        raise NotImplementedError("advance asks the inner optimizer")

    def check_model(self, asked: str, model: Module, found: list[tuple[str, AnyParam]]) -> None:
        """See `Optimizer`; the inner one keeps no state, and may sort the parameters into its groups."""
        super().check_model(asked, model, found)
        self.inner.check_model(asked, model, found)

    def kept_names(self) -> tuple[str, ...]:
        """Those of the optimizer inside."""
        return self.inner.kept_names()

    def names_for(self, path: str, param: AnyParam) -> tuple[str, ...]:
        """Those of the optimizer inside."""
        return self.inner.names_for(path, param)

    # A step

    def _stepped(self, lr: float, part: Part, clips: list[AnyClipping]) -> Iterator[tuple[AnyParam, AnyParam]]:
        """Each parameter with the one that takes its place."""
        segments = self._segments(part)
        for clip in clips:
            segments = iter(self._clipped_segments(part, clip, list(segments)))
        for segment in segments:
            values = self._next_values(lr, part, segment)
            bucket, count = segment.bucket, sum(part.entries[at].numbers for at in segment.bucket)
            del segment
            enter_phase(_COMMUNICATION, values)
            whole = self.comm.all_gather(values, count, is_met=True)
            del values
            enter_phase(_UPDATE, whole)
            for at, value in zip(bucket, parted(whole, [part.entries[at] for at in bucket]), strict=True):
                if part.wanted[at]:
                    param = part.params[at][1]
                    yield param, param.stepped(value.primitive)

    def _segments(self, part: Part) -> Iterator[Segment]:
        """This rank's share of each bucket of which some rank has gradients, one after the other."""
        for bucket in self._buckets(part.entries):
            if any(part.wanted[at] for at in bucket):
                yield Segment(bucket, self._pieces(part.entries, bucket), self._scattered(part, bucket))

    def _scattered(self, part: Part, bucket: Bucket) -> AnyTensor:
        summand = weighted(part, bucket, "Sharded.step")
        enter_phase(_COMMUNICATION, summand)
        flat = summand.reshape((sum(part.entries[at].numbers for at in bucket),))
        total = self.comm.reduce_scatter(flat, is_met=True)
        enter_phase(_UPDATE, total)
        total.backend.note(total.primitive, "gradient")
        return total

    def _next_values(self, lr: float, part: Part, segment: Segment) -> AnyTensor:
        """The new numbers of this rank's share, in a row."""
        gradient, pieces = segment.gradient, segment.pieces
        stepped = dict(self.advance(lr, self._updates(part, segment)))
        values = []
        for piece in pieces:
            param = part.params[piece.at][1]
            values.append(gradient._new(stepped[param]) if param in stepped else _numbers_of(param, piece))
        if len(segment.bucket) == 1 or not values:
            return values[0] if values else gradient
        return joined(values)

    def _updates(self, part: Part, segment: Segment) -> Iterator[tuple[AnyParam, Update]]:
        is_spare = len(segment.bucket) == 1  # else the gradients are views of one buffer
        for piece in segment.pieces:
            if part.wanted[piece.at]:
                param = part.params[piece.at][1]
                gradient = segment.gradient if is_spare else _numbers_at(segment.gradient, piece)
                value = _numbers_of(param, piece).primitive
                yield param, Update(value, gradient, is_spare, param.id, self._states)

    def _buckets(self, entries: tuple[Entry, ...]) -> tuple[Bucket, ...]:
        """Of all parameters, frozen ones too: so the shares stay what they are when some are frozen."""
        return buckets_of(entries, (True,) * len(entries), self._bytes)

    def _pieces(self, entries: tuple[Entry, ...], bucket: Bucket) -> tuple[Piece, ...]:
        return pieces_of(entries, bucket, self.comm.rank, self.comm.size)

    # Clipping

    def _clipped_segments(self, part: Part, clip: AnyClipping, segments: list[Segment]) -> list[Segment]:
        """The same shares, clipped as the whole gradient would be."""
        if isinstance(clip, Value):
            low, high = -clip.threshold, clip.threshold
            return [one._replace(gradient=one.gradient.clamp(low, high)) for one in segments]
        factors = self._factors(part, clip, segments)
        return [one._replace(gradient=_scaled(one, factors)) for one in segments]

    def _factors(self, part: Part, clip: Norm | GlobalNorm, segments: list[Segment]) -> AnyTensor:
        """By what each parameter's gradient is multiplied, ``(parameters,)``: from the squares on all ranks."""
        first = segments[0].gradient
        backend, dtype = first.device.backend, DType.FLOAT32 if first.dtype is DType.FLOAT16 else first.dtype
        squares = [Tensor.zeros((1,), first.device, dtype=dtype)] * len(part.params)
        for segment in segments:
            for piece in segment.pieces:
                own = _numbers_at(segment.gradient, piece)
                squares[piece.at] = own._new(sum_of_squares(backend, own.primitive)).cast(dtype)
        totals = self.comm.all_reduce(Tensor.cat(squares, 0), is_spare=True, is_met=True)
        if isinstance(clip, GlobalNorm):
            totals = totals.sum().expand(totals.shape)
        return totals._new(factor_for(backend, totals.primitive, clip.threshold))

    # State

    def state(self, model: Module) -> dict[str, Any]:
        """The whole state, as the optimizer inside would have it; every rank has to ask for it, and gets all of it.

        So a file that n ranks have written is read by m ranks, or by an optimizer that is not sharded.
        """
        name = type(self.inner).__name__
        if self.comm.size == 1:
            return {**super().state(model), "optimizer": name}
        params = list(model.named_params())
        self.check_model("Sharded.state", model, params[:1] if self._states else [])
        entries = entries_of(params)
        steps = self._agreed_steps(params)
        rows: dict[str, Any] = {path: {"steps": max(count, 0)} for (path, _), count in zip(params, steps, strict=True)}
        for bucket in self._buckets(entries):
            used = [at for at in bucket if steps[at] >= 0]
            for kept in dict.fromkeys(kept for at in used for kept in self.names_for(*params[at])):
                whole = self._gathered_state(params, entries, bucket, kept)
                for at, value in zip(bucket, parted(whole, [entries[at] for at in bucket]), strict=True):
                    if at in used and kept in self.names_for(*params[at]):
                        rows[params[at][0]][kept] = value
        return {"optimizer": name, "params": rows}

    def _agreed_steps(self, params: list[tuple[str, AnyParam]]) -> list[int]:
        """For each parameter the steps that it has taken; -1 if no rank keeps anything for it."""
        own = [self._states[param.id].steps if param.id in self._states else -1 for _, param in params]
        return [max(column) for column in zip(*self.comm.gather("the state of Sharded", own), strict=True)]

    def _gathered_state(
        self, params: list[tuple[str, AnyParam]], entries: tuple[Entry, ...], bucket: Bucket, kept: str
    ) -> AnyTensor:
        parts = []
        inner: Any = params[bucket[0]][1].val()
        for piece in self._pieces(entries, bucket):
            state = self._states.get(params[piece.at][1].id)
            has_it = state is not None and kept in state.tensors
            parts.append(state.tensors[kept] if has_it else self._zeros(inner, piece.numbers))  # type: ignore[union-attr]
        row = joined(parts) if parts else self._zeros(inner, 0)
        return self.comm.all_gather(row, sum(entries[at].numbers for at in bucket), is_met=True)

    @staticmethod
    def _zeros(like: Any, count: int) -> AnyTensor:
        zeros: AnyTensor = Tensor.zeros((count,), like.device.inner, dtype=like.dtype)
        return zeros

    def load_state(self, state: dict[str, Any], model: Module) -> None:
        """Continues from a whole state, of which this rank keeps its share. See `Optimizer.load_state`."""
        states = read_states(type(self.inner).__name__, self.names_for, state, model)
        if self.comm.size > 1:
            params = list(model.named_params())
            entries = entries_of(params)
            pieces = [piece for bucket in self._buckets(entries) for piece in self._pieces(entries, bucket)]
            shares = [(params[piece.at][1].id, piece) for piece in pieces]
            states = {identity: _cut(states[identity], piece) for identity, piece in shares if identity in states}
        self._states = states


@cache
def pieces_of(entries: tuple[Entry, ...], bucket: Bucket, rank: int, size: int) -> tuple[Piece, ...]:
    """What of which parameters is in a rank's share of a bucket, in order."""
    mine = share(sum(entries[at].numbers for at in bucket), rank, size)
    found, begins = [], 0
    for at in bucket:
        ends = begins + entries[at].numbers
        start, stop = max(mine.start, begins), min(mine.stop, ends)
        if start < stop:
            found.append(Piece(at, start - begins, stop - begins, start - mine.start))
        begins = ends
    return tuple(found)


def _numbers_of(param: AnyParam, piece: Piece) -> AnyTensor:
    """The numbers of a parameter that are in a share, on the backend inside autodiff."""
    value: Any = param.val()
    inner: AnyTensor = value.inner()
    return inner.reshape((-1,)).narrow(0, piece.start, piece.numbers)


def _numbers_at(segment: AnyTensor, piece: Piece) -> AnyTensor:
    return segment.narrow(0, piece.offset, piece.numbers)


def _scaled(segment: Segment, factors: AnyTensor) -> AnyTensor:
    """A share with each of its pieces times the factor of its parameter."""
    gradient = segment.gradient
    parts = [
        _numbers_at(gradient, piece)._ask("multiply_no_nan", factors.narrow(0, piece.at, 1).cast(gradient.dtype))
        for piece in segment.pieces
    ]
    return joined(parts) if len(parts) > 1 else parts[0] if parts else gradient


def _cut(state: State, piece: Piece) -> State:
    """A rank's share of the whole state of a parameter, in buffers of its own."""
    cut = {
        name: tensor.reshape((-1,)).narrow(0, piece.start, piece.numbers) * 1.0
        for name, tensor in state.tensors.items()
    }
    shared = State(state.steps, cut)
    shared.own.update(cut)
    for tensor in cut.values():
        tensor.backend.note(tensor.primitive, "optimizer")
    return shared


def _check(optimizer: Any) -> None:
    reasons = []
    if not isinstance(optimizer, Optimizer) or isinstance(optimizer, Sharded):
        reasons.append(f"{type(optimizer).__name__} is no optimizer that can be shared out")
    elif isinstance(optimizer, Groups):
        norms = [group for group in optimizer.config if _clips_by_norm(group.config)]
        reasons += [f"the group {group.where!r} clips by a norm, which no single rank knows" for group in norms]
    if reasons:
        hint = "write Sharded(optim.AdamConfig().init(), comm); clip by Learner(clip=...) or step(..., clip=...)"
        raise ConfigError("Sharded", reasons, hint=hint)


def _clips_by_norm(config: Config) -> bool:
    return isinstance(getattr(config, "grad_clipping", None), Norm | GlobalNorm)
