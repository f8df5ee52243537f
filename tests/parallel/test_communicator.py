"""What can be asked of a communicator, where one process is enough to see it."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parallel.ranks import needs_mpi
from tinyburn import (
    Autodiff,
    BackendMismatch,
    BackendUnavailable,
    ConfigError,
    Distribution,
    DTypeMismatch,
    GraphError,
    Meta,
    NdArray,
    ShapeError,
    Tensor,
    Traced,
    nn,
    optim,
    parallel,
)
from tinyburn.base.shares import share, share_counts
from tinyburn.parallel.buckets import Entry, buckets_of
from tinyburn.parallel.communicator import Communicator, differing
from tinyburn.parallel.sharded import pieces_of
from tinyburn.parallel.start import spread_random

RANKS = st.integers(1, 9)


# Shares


@given(st.integers(0, 100), RANKS)
def test_shares_are_the_whole_in_order_and_nearly_equal(count: int, size: int) -> None:
    parts = [share(count, rank, size) for rank in range(size)]
    assert [at for part in parts for at in range(count)[part]] == list(range(count))
    lengths = [part.stop - part.start for part in parts]
    assert lengths == share_counts(count, size)
    assert max(lengths) - min(lengths) <= 1
    assert lengths == [len(part) for part in np.array_split(np.arange(count), size)]  # NumPy's rule too


@pytest.mark.parametrize("count", [-1, 2.0, "4", None])
def test_a_share_is_one_of_a_number_of_samples(count: Any) -> None:
    with pytest.raises(ConfigError, match="whole number of 0 or more"):
        parallel.shard(count, parallel.Alone())


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["float32", "float64"])), max_size=12), st.data())
def test_buckets_hold_each_wanted_entry_once_and_what_fits(sizes: list[tuple[int, str]], data: Any) -> None:
    from tinyburn import DType

    entries = tuple(Entry(str(at), (count,), DType(dtype)) for at, (count, dtype) in enumerate(sizes))
    wanted = tuple(data.draw(st.booleans()) for _ in entries)
    buckets = buckets_of(entries, wanted, 100)
    assert [at for bucket in buckets for at in bucket] == [at for at, one in enumerate(wanted) if one]
    for bucket in buckets:
        assert len({entries[at].dtype for at in bucket}) == 1
        assert len(bucket) == 1 or sum(entries[at].bytes for at in bucket) <= 100


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), RANKS)
def test_pieces_are_every_number_of_a_bucket_once(sizes: list[int], size: int) -> None:
    from tinyburn import DType

    entries = tuple(Entry(str(at), (count,), DType("float32")) for at, count in enumerate(sizes))
    bucket = tuple(range(len(entries)))
    found = []
    for rank in range(size):
        ends = 0
        for piece in pieces_of(entries, bucket, rank, size):
            assert piece.offset == ends
            ends += piece.numbers
            found += [(piece.at, number) for number in range(piece.start, piece.stop)]
        assert ends == share_counts(sum(sizes), size)[rank]
    assert found == [(at, number) for at in bucket for number in range(sizes[at])]


# Alone


def test_alone_hands_back_what_it_is_given() -> None:
    alone = parallel.Alone()
    tensor = Tensor.from_data([1.0, 2.0], NdArray.device())
    for result in (
        alone.broadcast(tensor),
        alone.all_reduce(tensor),
        alone.reduce_scatter(tensor),
        alone.all_gather(tensor, 2),
    ):
        assert result is tensor
    assert alone.meet("here", 1, 2.5) == [(1, 2.5)]
    assert (alone.rank, alone.size) == (0, 1)
    model = nn.LinearConfig(2, 2).init(Autodiff[NdArray].device())
    assert parallel.same_start(model, alone) is model
    grads = model(Tensor.ones((1, 2), model.weight.val().device)).sum().backward()
    assert parallel.all_reduce(grads, model, alone, 3) is grads


def test_alone_and_sharded_step_as_the_optimizer_itself() -> None:
    device = Autodiff[NdArray].device()
    device.seed(0)
    model = nn.LinearConfig(3, 2).init(device)
    x = Tensor.ones((4, 3), device)
    config = optim.AdamConfig(grad_clipping=optim.GradientClippingConfig.GlobalNorm(0.1))
    plain, sharded = config.init(), parallel.Sharded(config.init(), parallel.Alone())
    one = two = model
    for _ in range(3):
        one = plain.step(0.1, one, one(x).sum().backward())
        two = sharded.step(0.1, two, two(x).sum().backward())
    for (path, first), (_, second) in zip(one.named_params(), two.named_params(), strict=True):
        assert first.val().to_numpy().tolist() == second.val().to_numpy().tolist(), path
    assert sharded.state(two)["optimizer"] == "Adam"
    assert {path: row["steps"] for path, row in sharded.state(two)["params"].items()} == {"weight": 3, "bias": 3}


# What no communicator takes


class Two(parallel.Pretend):
    """Rank 0 of 2, where the other one has the same values: a sum is twice what is there."""

    def __init__(self) -> None:
        super().__init__(0, 2)

    def _sum(self, device: Any, a: Any, may_overwrite: bool) -> Any:
        return np.add(a, a, out=a if may_overwrite else None)


def test_a_sum_is_of_numbers() -> None:
    device = NdArray.device()
    with pytest.raises(DTypeMismatch, match="truth values have no sum"):
        Two().all_reduce(Tensor.from_data([True, False], device))
    whole = Two().all_reduce(Tensor.from_data([[1, 2], [3, 4]], device))
    assert whole.to_numpy().tolist() == [[2, 4], [6, 8]]


def test_half_numbers_are_summed_in_more_digits() -> None:
    """As float16, 2 048 + 1 is 2 048: with float32 in between only the result is rounded."""
    tensor = Tensor.from_data([1024.5], NdArray.device(), dtype="float16")
    total = Two().all_reduce(tensor)
    assert str(total.dtype) == "float16"
    assert total.to_numpy().tolist() == [float(np.float16(2 * np.float32(np.float16(1024.5))))]


def test_a_tensor_that_is_not_row_major_keeps_its_places() -> None:
    tensor = Tensor.from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], NdArray.device()).transpose()
    assert Two().all_reduce(tensor).to_numpy().tolist() == [[2.0, 8.0], [4.0, 10.0], [6.0, 12.0]]
    assert Two().all_reduce(tensor, is_spare=True).to_numpy().tolist() == [[2.0, 8.0], [4.0, 10.0], [6.0, 12.0]]


def test_no_gradient_goes_through_other_processes() -> None:
    tensor = Tensor.from_data([1.0], Autodiff[NdArray].device()).require_grad()
    with pytest.raises(GraphError, match="this tensor is tracked"):
        Two().all_reduce(tensor)


def test_parts_are_rows_of_numbers_of_the_right_length() -> None:
    device = NdArray.device()
    with pytest.raises(ShapeError, match="reshape"):
        Two().reduce_scatter(Tensor.ones((2, 2), device))
    with pytest.raises(ShapeError, match="the part of rank 0 of 5 numbers has 3, and this one 2"):
        Two().all_gather(Tensor.ones((2,), device), 5)


def test_a_rank_brings_what_it_likes_to_a_gathering() -> None:
    assert parallel.Alone().gather("here", {"a": [1]}) == [{"a": [1]}]
    assert Two().gather("here", "words") == ["words"] * 2


# Pretend


@pytest.mark.parametrize(("rank", "size"), [(0, 0), (4, 4), (-1, 2), (0.5, 2)])
def test_a_rank_is_one_of_its_size(rank: Any, size: Any) -> None:
    with pytest.raises(ConfigError, match="Pretend"):
        parallel.Pretend(rank, size)


def test_pretend_moves_shapes_and_no_values() -> None:
    shapes, values = Meta.device(), NdArray.device()
    comm = parallel.Pretend(1, 4)
    assert comm.all_reduce(Tensor.ones((2, 3), shapes)).shape == (2, 3)
    assert comm.reduce_scatter(Tensor.ones((10,), shapes)).shape == (3,)
    assert comm.all_gather(Tensor.ones((3,), shapes), 10).shape == (10,)
    for action in (comm.all_reduce, comm.reduce_scatter, comm.broadcast):
        with pytest.raises(BackendMismatch, match=r"memory\.plan"):
            action(Tensor.ones((3,), values))


def test_what_is_received_is_communication_in_the_log() -> None:
    device = Traced[Meta].device()
    received = parallel.Pretend(1, 4).all_gather(Tensor.ones((3,), device), 10)
    assert received.primitive.buffer.category.name == "COMMUNICATION"


# Gradients


def test_gradients_of_other_tensors_stay_this_ranks_own() -> None:
    device = Autodiff[Meta].device()
    layer = nn.LinearConfig(2, 2).init(device)
    x = Tensor.ones((3, 2), device).require_grad()
    grads = layer(x).sum().backward()
    reduced = parallel.all_reduce(grads, layer, parallel.Pretend(0, 2), 3)
    assert set(reduced.named(layer)) == {"weight", "bias"}
    assert len(reduced) == 2
    assert x.grad(grads) is not None
    assert grads.takers == ["all_reduce"]


@pytest.mark.parametrize(
    ("grads", "model", "reason"),
    [
        (None, "no model", "str is no Module"),
        ("no gradients", None, "str holds no gradients"),
        (None, "frozen", "no parameter of Linear is trained"),
    ],
)
def test_what_is_no_step_is_an_error(grads: Any, model: Any, reason: str) -> None:
    layer = nn.LinearConfig(2, 2).init(Autodiff[Meta].device())
    model = layer if model is None else layer.freeze() if model == "frozen" else model
    with pytest.raises(ConfigError, match=reason):
        parallel.all_reduce(grads, model, parallel.Pretend(0, 2))


@pytest.mark.parametrize("samples", [-1, float("nan"), float("inf"), "4", True, None, 4])
def test_weights_are_numbers_of_samples(samples: Any) -> None:
    """Without gradients there are no samples, so 4 are too many; and without a number the ranks count alike."""
    layer = nn.LinearConfig(2, 2).init(Autodiff[Meta].device())
    comm = parallel.Pretend(0, 2)
    if samples is None:
        assert set(parallel.all_reduce(None, layer, comm).named(layer)) == {"weight", "bias"}
        return
    for step in (
        parallel.all_reduce,
        lambda *given: parallel.Sharded(optim.SgdConfig().init(), comm).step(0.1, given[1], None, samples),
    ):
        with pytest.raises(ConfigError, match=f"rank 0 has {samples!r} samples"):
            step(None, layer, comm, samples)


@pytest.mark.parametrize("samples", [3, 3.0, np.int64(3), np.float32(3)])
def test_numbers_of_numpy_are_numbers(samples: Any) -> None:
    layer = nn.LinearConfig(2, 2).init(Autodiff[Meta].device())
    grads = layer(Tensor.ones((3, 2), Autodiff[Meta].device())).mean().backward()
    parallel.all_reduce(grads, layer, parallel.Pretend(0, 2), samples)


NO_COMM: list[Any] = [None, 4, "mpi", parallel.Alone]


@pytest.mark.parametrize("wrong", NO_COMM)
def test_what_is_no_communicator_is_said(wrong: Any) -> None:
    layer = nn.LinearConfig(2, 2).init(Autodiff[Meta].device())
    for call in (
        lambda: parallel.shard(3, wrong),
        lambda: parallel.sent_bytes(3, wrong),
        lambda: parallel.same_start(layer, wrong),
        lambda: parallel.all_reduce(None, layer, wrong),
        lambda: parallel.Sharded(optim.SgdConfig().init(), wrong),
        lambda: parallel.Timed(wrong),
    ):
        with pytest.raises(ConfigError, match="should be a communicator"):
            call()


@pytest.mark.parametrize("wrong", [-1, 1.5, "a", None])
def test_a_size_of_buckets_is_a_number_of_bytes(wrong: Any) -> None:
    layer, comm = nn.LinearConfig(2, 2).init(Autodiff[Meta].device()), parallel.Pretend(0, 2)
    with pytest.raises(ConfigError, match="bucket_bytes"):
        parallel.all_reduce(None, layer, comm, bucket_bytes=wrong)
    with pytest.raises(ConfigError, match="bucket_bytes"):
        parallel.Sharded(optim.SgdConfig().init(), comm, bucket_bytes=wrong)


@pytest.mark.parametrize("comm", [parallel.Alone(), parallel.Pretend(0, 2)])
def test_every_communicator_has_the_same_limits(comm: Any) -> None:
    for root in (comm.size, -1, 0.5):
        with pytest.raises(ConfigError, match="the root is"):
            comm.broadcast(Tensor.ones((2,), Meta.device()), root)
    with pytest.raises(ConfigError, match="at most 6 numbers"):
        comm.meet("here", *range(7))


@pytest.mark.parametrize("size", [1, 2, 4, 1024])
def test_a_rank_sends_what_the_formula_says(size: int) -> None:
    """2 (n - 1) / n of the gradients, by hand: 0, 1, 1.5 and 1.998 times."""
    comm = parallel.Alone() if size == 1 else parallel.Pretend(0, size)
    assert parallel.sent_bytes(1024 * 3, comm) == {1: 0, 2: 3072, 4: 4608, 1024: 6138}[size]
    with pytest.raises(ConfigError, match="gradient_bytes"):
        parallel.sent_bytes(-1, comm)


def test_a_step_for_which_nobody_has_samples_has_no_mean() -> None:
    class Empty(parallel.Pretend):
        def meet(self, place: str, *numbers: float) -> list[tuple[float, ...]]:
            return [numbers] * self.size

    layer = nn.LinearConfig(2, 2).init(Autodiff[Meta].device())
    with pytest.raises(ConfigError, match="no rank has any samples"):
        parallel.all_reduce(None, layer, Empty(0, 2), 0)


# Sharded


def test_only_a_new_optimizer_is_shared_out() -> None:
    comm = parallel.Pretend(0, 2)
    norm = optim.SgdConfig(grad_clipping=optim.GradientClippingConfig.Norm(1.0))
    for wrong in (optim.AdamConfig(), parallel.Sharded(optim.AdamConfig().init(), comm)):
        with pytest.raises(ConfigError, match="no optimizer that can be shared out"):
            parallel.Sharded(wrong, comm)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="clips by a norm"):
        parallel.Sharded(optim.Groups([optim.Group("*", norm)]), comm)


def test_a_copied_optimizer_speaks_to_the_same_ranks() -> None:
    comm = parallel.Pretend(0, 2)
    assert copy.deepcopy(parallel.Sharded(optim.AdamConfig().init(), comm)).comm is comm


# Random numbers


class Told(parallel.Pretend):
    """A rank that hears from rank 0 what another device has said."""

    def __init__(self, rank: int, said: tuple[float, ...]) -> None:
        super().__init__(rank, 4)
        self.said = said

    def meet(self, place: str, *numbers: float) -> list[tuple[float, ...]]:
        return [self.said] * 4


def test_each_rank_draws_numbers_of_its_own_and_rank_0_goes_on() -> None:
    devices = [NdArray.device() for _ in range(4)]
    for rank, device in enumerate(devices):
        device.seed(rank)
        spread_random(device, Told(rank, (7, 5, 3)))
    assert [device.random_state() for device in devices] == [(7 + (5 + rank) * 2**32, 3) for rank in range(4)]
    drawn = [Tensor.random((8,), Distribution.Default, device).to_numpy().tolist() for device in devices]
    assert len({tuple(numbers) for numbers in drawn}) == 4
    devices[0].set_random_state((7 + 5 * 2**32, 3))
    assert Tensor.random((8,), Distribution.Default, devices[0]).to_numpy().tolist() == drawn[0]


# What is said


def test_the_first_line_that_differs_is_said_with_who_says_it() -> None:
    text = str(
        differing(
            ["a step\nw (2,)\nb (1,)", "a step\nw (3,)\nb (1,)", "a step\nw (2,)\nb (1,)", "a step\nw (2,)\nb (1,)"]
        )
    )
    assert text.startswith("the ranks are at different places\n")
    assert "at            : a step" in text
    assert "ranks 0, 2, 3 : w (2,)" in text
    assert "rank 1        : w (3,)" in text
    assert "b (1,)" not in text


def test_a_model_with_less_in_it_says_nothing_more() -> None:
    assert "nothing more" in str(differing(["a step\nw (2,)\nb (1,)", "a step\nw (2,)"]))
    assert "nothing more" in str(differing(["q", "q\n"]))


# Libraries that may be missing


@needs_mpi
def test_one_process_is_a_world_of_one() -> None:
    """Under plain python; in a process of its own, as it starts MPI."""
    script = """
from tinyburn import Tensor, NdArray, parallel
comm = parallel.Mpi()
tensor = Tensor.ones((2,), NdArray.device())
print(comm, comm.all_reduce(tensor) is tensor, comm.meet("here", 3))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "Mpi(rank=0, size=1) True [(3,)]\n"
    assert done.stderr == ""


def test_without_mpi4py_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(BackendUnavailable, match=r'pip install "tinyburn\[mpi\]"'):
        parallel.Mpi()


def test_nccl_says_what_is_missing() -> None:
    if importlib.util.find_spec("cupy") is not None:
        pytest.skip("CuPy is installed: tests/parallel/test_nccl.py tries it")
    with pytest.raises(BackendUnavailable, match="it needs the package cupy"):
        parallel.Nccl(NdArray.device())


def test_a_communicator_is_an_abstract_class() -> None:
    assert {"_meet", "gather", "_send", "_sum", "_sum_part", "_join"} == Communicator.__abstractmethods__
    with pytest.raises(TypeError):
        pickle.dumps(Communicator())  # type: ignore[abstract]
