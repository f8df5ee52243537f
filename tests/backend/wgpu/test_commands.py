"""Commands are handed over in pages, nothing waits but a read, and a wrong index is told at the next one."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.support import AnyTensor
from tinyburn import Autodiff, BackendMismatch, Module, ShapeError, Tensor, Wgpu, activation, nn, optim
from tinyburn.backend.operations import OPERATIONS
from tinyburn.backend.wgpu.commands import PAGE


def test_a_page_of_commands_is_one_submit(gpu_device: Any):
    x = Tensor.ones((4,), gpu_device)
    gpu_device.sync()
    commands = gpu_device.gpu.commands
    dispatches, submits = commands.dispatches, commands.submits
    for _ in range(3 * PAGE):
        x = x + 1.0
    assert commands.dispatches - dispatches == 3 * PAGE
    assert commands.submits - submits == 3
    assert x.to_numpy().tolist() == [1.0 + 3 * PAGE] * 4
    assert commands.submits - submits == 3  # no page was begun, so reading hands none over


def test_a_training_step_copies_nothing_to_or_from_the_host(gpu_device: Any, monkeypatch: pytest.MonkeyPatch):
    """Only from_data and to_numpy do. (A page brings the parameters of its commands along, which are no tensors.)"""
    backend: Any = Autodiff[Wgpu]
    device = backend.wrap_device(gpu_device)
    copies: list[str] = []
    for name in ("read", "write"):
        original = getattr(gpu_device.gpu.commands, name)
        monkeypatch.setattr(
            gpu_device.gpu.commands, name, lambda *a, name=name, do=original: (copies.append(name), do(*a))[1]
        )
    x = Tensor.from_data(np.ones((16, 8), "float32"), device)
    assert copies == ["write"]
    device.seed(0)
    model = nn.LinearConfig(8, 4).init(device)
    optimizer = optim.SgdConfig(momentum=0.9).init()
    for _ in range(3):
        loss = ((activation.gelu(model(x)) - Tensor.zeros((16, 4), device)) ** 2).mean()
        model = optimizer.step(0.1, model, loss.backward())
    assert copies == ["write"]
    loss.to_numpy()
    assert copies == ["write", "read"]


def test_data_written_while_commands_wait_does_not_change_their_operands(gpu_device: Any):
    """A new tensor may get the buffer of one that waiting commands still read."""
    for turn in range(20):
        x = Tensor.from_data(np.full(64, turn, "float32"), gpu_device)
        y = x * 2.0
        del x
        z = Tensor.from_data(np.full(64, -1.0, "float32"), gpu_device)
        assert y.to_numpy().tolist() == [2.0 * turn] * 64
        assert z.to_numpy().tolist() == [-1.0] * 64


def test_threads_share_one_device(gpu_device: Any):
    def work(number: int) -> float:
        x = Tensor.full((10, 10), number, gpu_device)
        for _ in range(30):
            x = x + 1.0
        return float(x.sum().into_scalar())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(16))) == [100.0 * (number + 30) for number in range(16)]


def test_an_interrupt_waits_until_a_page_is_handed_over(
    gpu_device: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    """Jupyter's stop button in the middle of a submit: what was asked before is done, and what is asked next works."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in a shell's background has it ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    queue = gpu_device.gpu.device.queue
    write_buffer = queue.write_buffer

    def interrupted(*arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        write_buffer(*arguments)

    x = Tensor.ones((4,), gpu_device) + 1.0
    monkeypatch.setattr(queue, "write_buffer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gpu_device.gpu.commands.submit()
    monkeypatch.undo()
    assert x.to_numpy().tolist() == [2, 2, 2, 2]
    assert (x * 3.0).to_numpy().tolist() == [6, 6, 6, 6]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_threads_that_clear_and_threads_that_collect_do_not_wait_for_each_other(gpu_device: Any):
    """The collector frees a tensor in whatever thread it runs, also in one that is just writing a command."""

    def clear() -> None:
        for _ in range(200):
            gpu_device.gpu.pool.clear()  # `memory_cleanup` would also walk all objects of pytest, each time

    def collect() -> None:
        for number in range(200):
            cycle: list[Any] = [Tensor.full((number + 1,), 1.0, gpu_device) + 1.0]
            cycle.append(cycle)
            gc.collect(0)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for work in (clear, collect, clear, collect)]:
            done.result(timeout=60)


def test_an_interrupt_in_the_last_command_of_a_page_loses_nothing(gpu_device: Any, monkeypatch: pytest.MonkeyPatch):
    commands = gpu_device.gpu.commands
    commands.submit()
    x = Tensor.ones((4,), gpu_device)
    made = [x + float(number) for number in range(PAGE - 2)]

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        x + 100.0
    monkeypatch.undo()
    assert (x + 200.0).to_numpy().tolist() == [201] * 4
    assert [tensor.to_numpy()[0] for tensor in made] == [1 + number for number in range(PAGE - 2)]


def test_a_page_that_fails_is_not_forgotten():
    """What it should have computed is wrong for ever, so every later read says so. In a process of its own."""
    done = run_alone(
        "from tinyburn import Tensor, Wgpu\ndevice = Wgpu.device()\nx = Tensor.ones((4,), device) + 1.0\n"
        "device.gpu.device.queue.submit = None\n"
        "for _ in range(2):\n"
        "    try:\n        x.to_numpy()\n    except Exception as error:\n        print(type(error).__name__)"
    )
    assert done == "TypeError\nRuntimeError\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_that_it_has_no_gpu():
    """It would wait for ever for the driver's threads, which only the parent has."""
    done = run_alone(
        "import os\nfrom tinyburn import BackendUnavailable, Tensor, Wgpu\nx = Tensor.ones((2,), Wgpu.device())\n"
        "if os.fork() == 0:\n"
        "    for ask in (x.to_numpy, lambda: x + 1.0, lambda: Tensor.ones((2,), Wgpu.device())):\n"
        "        try:\n            ask()\n        except BackendUnavailable as error:\n"
        "            print('spawn' in str(error), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\nprint((x + 1.0).to_numpy().tolist())"
    )
    assert done == "True\nTrue\nTrue\n[2.0, 2.0]\n"


def run_alone(script: str) -> str:
    """What a program prints. Skips where there is no adapter."""
    if Wgpu.why_unavailable() is not None:
        pytest.skip(str(Wgpu.why_unavailable()))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_open_one_gpu():
    """In a process of its own, since this one has opened its GPU already."""
    script = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom tinyburn import Tensor, Wgpu\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    made = list(pool.map(lambda n: Tensor.full((2,), n, Wgpu.device()), range(8)))\n"
        "print(sum(made[1:], made[0]).to_numpy().tolist())"
    )
    assert run_alone(script) == "[28.0, 28.0]\n"


def lookup(device: Any, index: int) -> tuple[AnyTensor, AnyTensor]:
    table = Tensor.from_data(np.arange(12, dtype="float32").reshape(4, 3), device)
    return table, table.select(0, Tensor.from_data(np.array([0, index], "int32"), device))


@pytest.mark.parametrize("index", [4, -1, -(2**31), 2**31 - 1])
def test_a_wrong_index_is_told_when_values_are_read(gpu_device: Any, index: int):
    table, found = lookup(gpu_device, index)
    with pytest.raises(ShapeError) as error:
        table.to_numpy()
    message = str(error.value)
    for part in (f"index {index} ", "select of a tensor of shape (4, 3)", "dim 0 has size 4"):
        assert part in message
    assert np.isnan(found.to_numpy()[1]).all()  # told once; what was computed stays loud
    assert found.to_numpy()[0].tolist() == [0, 1, 2]


def test_a_wrong_index_is_told_by_sync_too_and_names_the_module(gpu_device: Any):
    class Embedding(Module):
        def forward(self, device: Any) -> AnyTensor:
            return lookup(device, 9)[1]

    Embedding()(gpu_device)
    with pytest.raises(ShapeError, match=r"select \(in embedding\)"):
        gpu_device.sync()
    gpu_device.sync()


def test_adding_at_a_wrong_index_adds_nothing(gpu_device: Any):
    indices = Tensor.from_data(np.array([1, 5, 1], "int32"), gpu_device)
    result = Tensor.zeros((3,), gpu_device).select_assign(0, indices, Tensor.ones((3,), gpu_device))
    with pytest.raises(ShapeError, match="index 5 was given to select_assign"):
        result.to_numpy()
    assert result.to_numpy().tolist() == [0, 2, 0]


def test_more_lookups_than_words_still_tell_of_a_wrong_one(gpu_device: Any):
    """The last of them share a word, so the error names all that it may have been, each once."""
    table, _ = lookup(gpu_device, 0)
    for _ in range(100):
        lookup(gpu_device, 1)
    table.gather(0, Tensor.from_data(np.array([[7]], "int32"), gpu_device))
    with pytest.raises(ShapeError) as error:
        table.to_numpy()
    message = str(error.value)
    assert "index 7 was given to one of these: select of" in message
    assert message.count("select of") == message.count("gather of") == 1
    gpu_device.sync()


def test_a_thread_is_not_told_of_an_index_that_was_right(gpu_device: Any):
    """Whoever reads first is told, but always of the call that was wrong, and of each wrong call once."""

    def right(_: int) -> list[str]:
        return told(1, 100)

    def told(index: int, times: int) -> list[str]:
        messages = []
        for _ in range(times):
            table, _ = lookup(gpu_device, index)
            try:
                table.to_numpy()
            except ShapeError as error:
                messages.append(str(error))
        return messages

    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(right, 0), pool.submit(right, 1)]
        messages = [*told(9, 100), *others[0].result(), *others[1].result()]
    assert messages
    assert all("index 9 was given to select" in message for message in messages)


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_every_kernel_can_be_read_without_a_gpu_or_says_why_not(operation: str):
    try:
        text = Wgpu.wgsl(operation)
    except BackendMismatch as error:
        assert "has no kernel of its own" in str(error)  # noqa: PT017
    else:
        assert "@compute" in text
        assert text.count("(") == text.count(")")
