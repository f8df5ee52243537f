"""The categories of memory: each buffer has exactly one at any event, and changes it only for a reason."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.memory.jobs import JOBS, AnyTensor, Mlp, train_mlp
from tinyburn import Autodiff, Device, Distribution, NdArray, Param, Tensor, activation, nn, optim
from tinyburn.backend import Category, Kind
from tinyburn.backend.log import OP_OPERANDS, EventLog
from tinyburn.memory import measure
from tinyburn.memory.measure import find_log, traced_device
from tinyburn.memory.timeline import walk

PARAMETER, INPUT, ACTIVATION = Category.PARAMETER, Category.INPUT, Category.ACTIVATION
GRADIENT, OPTIMIZER, TEMPORARY, OUTPUT = Category.GRADIENT, Category.OPTIMIZER, Category.TEMPORARY, Category.OUTPUT


@pytest.fixture
def traced() -> Device[Any]:
    return traced_device(Autodiff[NdArray].device())


def buffer_of(tensor: AnyTensor) -> int:
    """The number of the buffer that a tensor looks into."""
    primitive = tensor.primitive
    while not hasattr(primitive, "buffer"):
        primitive = primitive.primitive
    number: int = primitive.buffer.id
    return number


def history(log: EventLog, buffer: int) -> list[Category]:
    """Every category that a buffer has had, in order."""
    found = []
    for event in log.events:
        if event[:2] == (Kind.ALLOC, buffer):
            found.append(Category(event[3]))
        elif event[:2] == (Kind.RECATEGORISE, buffer):
            found.append(Category(event[2]))
    return found


def pins(log: EventLog, buffer: int) -> int:
    """How many saves of a buffer have not ended."""
    kinds = [event[0] for event in log.events if event[1] == buffer]
    return kinds.count(Kind.SAVE) - kinds.count(Kind.RELEASE)


# One category, at every event of every job


@pytest.mark.parametrize("name", JOBS)
def test_each_buffer_has_exactly_one_category_at_any_event(name: str) -> None:
    """Replayed from the events alone, with sets: a buffer is in one of them from its allocation to its free."""
    job, batch = JOBS[name]
    log = measure(job, Autodiff[NdArray].device(), batch).events
    members: dict[Category, set[int]] = {category: set() for category in Category}
    sizes: dict[int, int] = {}
    for event, _, totals in walk(log):
        kind, subject = event[0], event[1]
        homes = [category for category, buffers in members.items() if subject in buffers]
        if kind == Kind.ALLOC:
            assert subject not in sizes, "a number is given once"
            sizes[subject] = event[2]
            members[Category(event[3])].add(subject)
        elif kind == Kind.RECATEGORISE:
            assert len(homes) == 1
            assert homes != [Category(event[2])], "a change is a change"
            members[homes[0]].remove(subject)
            members[Category(event[2])].add(subject)
        elif kind == Kind.FREE:
            assert len(homes) == 1
            members[homes[0]].remove(subject)
        elif kind != Kind.OP:
            assert len(homes) == 1, "nothing happens to a buffer that is gone"
        assert totals == tuple(sum(sizes[buffer] for buffer in members[category]) for category in Category)
    assert not any(members.values()), "the result of the job is gone too"


@pytest.mark.parametrize("name", JOBS)
def test_activations_are_exactly_the_results_that_are_saved(name: str) -> None:
    """At the start of every operation, a pinned buffer is an activation or of a category that keeps its name."""
    job, batch = JOBS[name]
    category: dict[int, Category] = {}
    pinned: dict[int, int] = {}
    for event in measure(job, Autodiff[NdArray].device(), batch).events.events:
        kind, subject = event[0], event[1]
        if kind == Kind.ALLOC:
            category[subject], pinned[subject] = Category(event[3]), 0
        elif kind == Kind.RECATEGORISE:
            category[subject] = Category(event[2])
        elif kind in (Kind.SAVE, Kind.RELEASE):
            pinned[subject] += 1 if kind == Kind.SAVE else -1
        elif kind == Kind.FREE:
            del category[subject]
        else:
            for buffer, now in category.items():
                assert (now is ACTIVATION) <= (pinned[buffer] > 0)
                assert (pinned[buffer] > 0) <= (now in (ACTIVATION, PARAMETER, INPUT, GRADIENT, OPTIMIZER))


@pytest.mark.parametrize("name", JOBS)
def test_operands_are_alive_when_an_operation_reads_them(name: str) -> None:
    job, batch = JOBS[name]
    alive: set[int] = set()
    for event in measure(job, Autodiff[NdArray].device(), batch).events.events:
        if event[0] == Kind.ALLOC:
            alive.add(event[1])
        elif event[0] == Kind.OP:
            assert set(event[OP_OPERANDS:]) <= alive
        elif event[0] == Kind.FREE:
            alive.remove(event[1])


@pytest.mark.parametrize("name", JOBS)
def test_every_save_ends(name: str) -> None:
    """With a backward pass each save is released before the buffer goes, or the job kept no graph."""
    job, batch = JOBS[name]
    log = measure(job, Autodiff[NdArray].device(), batch).events
    ran_backward = any(name.startswith("backward") for name in log.names)
    saved = {event[1] for event in log.events if event[0] == Kind.SAVE}
    assert all(pins(log, buffer) == 0 for buffer in saved) or not ran_backward


# What becomes what


def test_what_the_user_makes_is_an_input_and_a_param_a_parameter(traced: Device[Any]) -> None:
    x = Tensor.ones((2, 3), traced)
    w = Param.from_tensor(Tensor.ones((3, 1), traced)).val()
    log = find_log(traced)
    assert history(log, buffer_of(x)) == [INPUT]
    assert history(log, buffer_of(w)) == [INPUT, PARAMETER]


def test_a_tracked_input_stays_an_input(traced: Device[Any]) -> None:
    x = Tensor.ones((2, 3), traced).require_grad()
    assert history(find_log(traced), buffer_of(x)) == [INPUT]


def test_a_result_is_temporary_until_a_node_saves_it(traced: Device[Any]) -> None:
    """`exp` saves its own result. It is an activation from there to the backward pass, then temporary again."""
    x = Tensor.ones((2, 3), traced).require_grad()
    log = find_log(traced)
    doubled = x * 2.0
    assert history(log, buffer_of(doubled)) == [TEMPORARY]
    power = doubled.exp()
    assert history(log, buffer_of(doubled)) == [TEMPORARY], "exp does not name its operand"
    assert history(log, buffer_of(power)) == [TEMPORARY, ACTIVATION]
    power.sum().backward()
    assert history(log, buffer_of(power)) == [TEMPORARY, ACTIVATION, TEMPORARY]


def test_a_saved_buffer_is_gone_before_the_next_allocation(traced: Device[Any]) -> None:
    """exp's result is let go when its rule has run, so it is not there when two gradients are added."""
    x = Tensor.ones((1000,), traced).require_grad()

    def spread(p: AnyTensor) -> AnyTensor:
        return (p.exp() + p).sum()

    log = find_log(traced)
    spread(x * 2.0).backward()
    at_add = [sum(totals) for _, step, totals in walk(log) if (step.op, step.phase) == ("add", "backward")]
    small = 2 * 4  # the loss's own 4 bytes, and its gradient's
    assert max(at_add) <= x.payload_bytes + 2 * 4000 + small


def test_two_saves_are_one_activation_until_both_end(traced: Device[Any]) -> None:
    x = Tensor.ones((2, 3), traced).require_grad()
    log = find_log(traced)
    shared = x * 2.0
    loss = (shared * shared).sum() + (shared**3).sum()
    assert pins(log, buffer_of(shared)) == 3
    loss.backward()
    assert pins(log, buffer_of(shared)) == 0
    assert history(log, buffer_of(shared)) == [TEMPORARY, ACTIVATION, TEMPORARY]


def test_saved_parameters_and_inputs_keep_their_category(traced: Device[Any]) -> None:
    """They get a pin and are not counted twice."""
    x = Tensor.ones((2, 3), traced).require_grad()
    w = Param.from_tensor(Tensor.ones((3, 1), traced)).val()
    log = find_log(traced)
    product = x @ w
    assert (pins(log, buffer_of(x)), pins(log, buffer_of(w))) == (1, 1)
    product.sum().backward()
    assert (pins(log, buffer_of(x)), pins(log, buffer_of(w))) == (0, 0)
    assert history(log, buffer_of(x)) == [INPUT]
    assert history(log, buffer_of(w)) == [INPUT, PARAMETER]


def test_an_operand_is_pinned_only_for_a_tracked_partner(traced: Device[Any]) -> None:
    """`matmul` needs `a` for the gradient of `b`, and here `b` has none."""
    x, w = Tensor.ones((2, 3), traced).require_grad(), Tensor.ones((3, 1), traced)
    product = x @ w
    log = find_log(traced)
    assert (pins(log, buffer_of(x)), pins(log, buffer_of(w))) == (0, 1)
    del product


def test_a_kept_graph_keeps_its_activations(traced: Device[Any]) -> None:
    x = Tensor.ones((2, 3), traced).require_grad()
    power = x.exp()
    loss = power.sum()
    log = find_log(traced)
    loss.backward(retain_graph=True)
    assert history(log, buffer_of(power))[-1] is ACTIVATION
    loss.backward()
    assert history(log, buffer_of(power))[-1] is TEMPORARY


def test_a_leafs_result_is_a_gradient_and_those_on_the_way_are_temporary(traced: Device[Any]) -> None:
    x = Tensor.ones((2, 3), traced).require_grad()
    loss = (x * 2.0).exp().sum()
    log = find_log(traced)
    before = len(log.events)
    grads = loss.backward()
    gradient = x.grad(grads)
    assert gradient is not None
    made = [event[1] for event in log.events[before:] if event[0] == Kind.ALLOC]
    others = [buffer for buffer in made if buffer != buffer_of(gradient)]
    assert history(log, buffer_of(gradient)) == [TEMPORARY, GRADIENT]
    assert others
    assert all(history(log, buffer) == [TEMPORARY] for buffer in others)


def test_velocities_belong_to_the_optimizer(traced: Device[Any]) -> None:
    """Once training is in its second step, each parameter has one velocity of its own size."""
    traced.seed(0)
    model = Mlp([3, 4, 2], activation.relu, traced)
    optimizer = optim.SgdConfig(momentum=0.9).init()
    x, y = Tensor.ones((5, 3), traced), Tensor.zeros((5, 2), traced)
    for _ in range(2):
        model = optimizer.step(0.1, model, nn.MseLoss()(model(x), y).backward())
    totals = [totals for _, _, totals in walk(find_log(traced))][-1]
    weights = 4 * (3 * 4 + 4 + 4 * 2 + 2)
    assert totals[PARAMETER] == totals[OPTIMIZER] == weights
    assert totals[GRADIENT] == totals[ACTIVATION] == 0
    assert totals[INPUT] == x.payload_bytes + y.payload_bytes


def test_what_a_job_returns_is_an_output_unless_it_is_more() -> None:
    """A result becomes an output; a gradient, a parameter, an input and a saved result stay what they are."""
    buffers: dict[str, int] = {}

    def job(device: Device[Any], batch: int) -> Any:
        w = Param.from_tensor(Tensor.ones((3, 3), device)).val()
        x = Tensor.ones((batch, 3), device)
        saved = (x @ w).exp()
        result = x * 2.0
        grads = (x @ w).sum().backward()
        returned = {"parameter": w, "input": x, "activation": saved, "output": result, "gradient": w.grad(grads)}
        buffers.update({name: buffer_of(tensor) for name, tensor in returned.items() if tensor is not None})
        return returned

    log = measure(job, Autodiff[NdArray].device(), 2).events
    histories = {name: history(log, buffer) for name, buffer in buffers.items()}
    assert {name: categories[:2] for name, categories in histories.items()} == {
        "parameter": [INPUT, PARAMETER],
        "input": [INPUT],
        "activation": [TEMPORARY, ACTIVATION],
        "output": [TEMPORARY, OUTPUT],
        "gradient": [TEMPORARY, GRADIENT],
    }
    assert [name for name, categories in histories.items() if OUTPUT in categories] == ["output"]


def test_a_weights_gradient_is_one_from_the_moment_that_it_is_written() -> None:
    """In a wide layer on one sample that moment is the peak: 512 * 256 gradients of 4 bytes, beside as many weights."""

    def job(device: Device[Any], batch: int) -> Any:
        w = Param.from_tensor(Tensor.ones((512, 256), device)).val()
        return (Tensor.ones((batch, 512), device) @ w).sum().backward()

    report = measure(job, Autodiff[NdArray].device(), 1)
    assert report.at_peak["gradient"] == report.at_peak["parameter"] == 512 * 256 * 4
    assert sum(report.at_peak.values()) - 2 * 512 * 256 * 4 < 4096


def test_the_sum_of_a_leafs_gradients_is_one_too() -> None:
    """A weight that is used twice: each part of its gradient, and their sum in the memory of the first."""

    def job(device: Device[Any], batch: int) -> Any:
        w = Param.from_tensor(Tensor.ones((8, 8), device)).val()
        x = Tensor.ones((batch, 8), device)
        return ((x @ w) @ w).sum().backward()

    log = measure(job, Autodiff[NdArray].device(), 2).events
    donated = [index for index, event in enumerate(log.events) if event[0] == Kind.DONATE]
    assert [log.events[index + 2] for index in donated] == [(Kind.RECATEGORISE, log.events[donated[0]][1], GRADIENT)]


def test_views_share_one_buffer(traced: Device[Any]) -> None:
    """Storage is counted once, and lives as long as its last view."""
    x = Tensor.ones((4, 6), traced)
    view = x.transpose()[1:3]
    log = find_log(traced)
    assert buffer_of(view) == buffer_of(x)
    assert traced.memory_usage().bytes_in_use == 96
    del x
    assert traced.memory_usage().bytes_in_use == 96
    del view
    assert traced.memory_usage().bytes_in_use == 0
    assert [event[0] for event in log.events].count(Kind.ALLOC) == 1


def test_a_result_that_no_node_keeps_any_more_is_not_an_activation(traced: Device[Any]) -> None:
    """A graph can go without a backward pass. What it had saved and a name still holds is an ordinary result then."""
    x = Tensor.ones((2, 3), traced).require_grad()
    held = x * 2.0
    squared = held * held
    log = find_log(traced)
    assert history(log, buffer_of(held))[-1] is ACTIVATION
    del squared
    assert pins(log, buffer_of(held)) == 0
    assert history(log, buffer_of(held))[-1] is TEMPORARY


# Over time


def test_a_thousand_steps_leave_live_bytes_where_they_were(traced: Device[Any]) -> None:
    """With the cycle collector off: reference counts alone free every step's graph, activations and gradients."""
    traced.seed(0)
    model = Mlp([4, 6, 2], activation.tanh, traced)
    optimizer = optim.SgdConfig(momentum=0.9).init()
    x = Tensor.random((3, 4), Distribution.Normal(0, 1), traced)
    y = Tensor.zeros((3, 2), traced)
    usages: list[tuple[int | None, int | None]] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(1000):
            model = optimizer.step(0.01, model, nn.MseLoss()(model(x), y).backward())
            usage = traced.memory_usage()
            usages.append((usage.bytes_in_use, usage.number_allocs))
    finally:
        gc.enable()
    assert len(set(usages[1:])) == 1, "from the second step on, when every velocity is there"


def test_a_graph_that_is_never_used_goes_with_its_tensor(traced: Device[Any]) -> None:
    x = Tensor.ones((4, 4), traced).require_grad()
    gc.collect()
    gc.disable()
    try:
        loss = (x.exp() * x).sum()
        assert traced.memory_usage().bytes_in_use != x.payload_bytes
        del loss
        assert traced.memory_usage().bytes_in_use == x.payload_bytes
    finally:
        gc.enable()


def test_phases_are_named(traced: Device[Any]) -> None:
    """Setup until the first operation on tensors, then forward, backward and update, step by step."""
    train_mlp(traced, 4, steps=2)
    phases: list[str] = []
    for _, step, _ in walk(find_log(traced)):
        if not phases or phases[-1] != step.phase:
            phases.append(step.phase)
    assert phases == ["setup", *["forward", "backward", "update"] * 2]
