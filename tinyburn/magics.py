"""``%load_ext tinyburn``: cell magics that draw what a cell of a notebook has computed.

``%%graph`` runs a cell, and draws the graph of the tensor that its last line gives. ``%%memory`` runs it as
`memory.measure` runs a job: while it runs, the name ``device`` stands for a traced copy of the device, and whatever is
made on that is counted. ``%%step`` runs it so too, and leads through its computation step by step. A magic happens as a
whole or not at all: after an error each name is what it was before.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from tinyburn import memory, viz, widgets
from tinyburn.autodiff import Gradients
from tinyburn.backend import Device
from tinyburn.base.errors import BackendMismatch, ConfigError, DeviceMismatch, TinyburnError
from tinyburn.memory.measure import find_log, traced_device
from tinyburn.module import Module, Param
from tinyburn.tensor import Tensor

Shell: TypeAlias = Any
"""IPython's ``InteractiveShell``; whoever has no notebook has no IPython either."""
Draw: TypeAlias = Callable[[Shell, str, str, str], Any]
"""Runs a cell in a shell and draws it: from the magic's name, the rest of its line, and the lines below it."""

DEVICE, BATCH = "device", "batch_size"
"""What `memory.measure` hands a job, by the names that a cell has for it."""


def load(shell: Shell) -> None:
    """Gives a shell the magics."""
    _register(shell, "graph", partial(_draw_graph, viz.graph), _GRAPH)
    _register(shell, "memory", _draw_memory, _MEMORY)
    _register(shell, "step", _draw_steps, _STEP)


def _register(shell: Shell, name: str, draw: Draw, words: str) -> None:
    def magic(line: str, body: str) -> Any:
        try:
            return draw(shell, f"%%{name}", line.strip(), body)
        except BaseException as error:
            _show_as_usual(shell, error)
            raise

    magic.__doc__ = words
    shell.register_magic_function(magic, "cell", name)


# A cell


class Cell:
    """The lines below a magic, which run as those of any cell do.

    Attributes:
        names: those that are in its code, in the order of their first appearance.
    """

    def __init__(self, shell: Shell, body: str) -> None:
        self._shell = shell
        source = "\n" + shell.transform_cell(body)  # the magic's own line counts, as it does for the reader
        self._file = shell.compile.cache(source, _number_of_cell(shell), raw_code=body)
        self._tree = shell.transform_ast(self._parsed(source))
        found = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        found.sort(key=lambda node: (node.lineno, node.col_offset))
        self.names = tuple(dict.fromkeys(node.id for node in found))

    def __repr__(self) -> str:
        return f"Cell({', '.join(self.names)})"

    def _parsed(self, source: str) -> ast.Module:
        try:
            tree: ast.Module = self._shell.compile.ast_parse(source, self._file)
        except SyntaxError as error:
            raise type(type(error).__name__, (_SyntaxError,), {})(str(error)) from error
        return tree

    def run(self) -> Any:
        """What the last line gives, if it is an expression; else None."""
        lines = list(self._tree.body)
        last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
        self._execute(ast.Module(lines, type_ignores=[]), "exec")
        return self._execute(ast.Expression(last.value), "eval") if last else None

    def _execute(self, tree: ast.AST, mode: str) -> Any:
        return eval(self._shell.compile(tree, self._file, mode), self._shell.user_ns)


def _number_of_cell(shell: Shell) -> int:
    """The number of the cell that runs: IPython keeps it with the name of its code, and counts on before or after."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals is not shell.user_ns:
        frame = frame.f_back
    name = shell.compile.format_code_name(frame.f_code.co_filename) if frame else None
    return int(name[1].strip("In[]")) if name else int(shell.execution_count)


@contextmanager
def _restored(namespace: dict[str, Any], *, always: bool) -> Iterator[None]:
    """Each name is afterwards what it was before: always, or after an error."""
    before = dict(namespace)
    try:
        yield
    except BaseException:
        always = True
        raise
    finally:
        if always:
            for name in [name for name in namespace if name not in before]:  # in order, as a function lets them go
                del namespace[name]
            namespace.update(before)


def _show_as_usual(shell: Shell, error: BaseException) -> None:
    """Makes a traceback begin at the reader's own line, as that of any cell; an error of the magic itself has none."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_globals is not shell.user_ns:
        entry = entry.tb_next

    def render() -> list[str]:
        lines: list[str]
        if isinstance(error, _SyntaxError):
            lines = shell.SyntaxTB.structured_traceback(type(error.__cause__), error.__cause__, [])
        elif entry is None:
            lines = shell.InteractiveTB.get_exception_only(type(error), error)
        elif isinstance(error, TinyburnError):
            lines = TinyburnError._render_traceback_(error.with_traceback(entry))
        else:
            lines = shell.InteractiveTB.structured_traceback(type(error), error, entry, tb_offset=0)
        return lines

    error._render_traceback_ = render  # type: ignore[attr-defined]


class _SyntaxError(Exception):
    """What stands for a SyntaxError of a cell. Before that IPython would show all the lines of a magic."""


# The graph


_GRAPH = """Runs the cell, and draws the graph of the tensor that its last line gives.

    %%graph         the last line is an expression: a tensor on an Autodiff backend, or a list of them
    %%graph loss    the tensor has a name

The tensors and modules in the cell's code give the picture its names. What the cell makes stays, as in any cell.
"""


def _draw_graph(draw: Callable[..., Any], shell: Shell, magic: str, line: str, body: str) -> Any:
    with _restored(shell.user_ns, always=False):
        cell = Cell(shell, body)
        return _drawn(draw, shell, f"{magic} {line}".strip(), cell, cell.run())


def _drawn(draw: Callable[..., Any], shell: Shell, asked: str, cell: Cell, value: Any) -> Any:
    """The picture of a graph, with the names in the cell's code. ``asked`` is the line of the magic: if there is a name
    in it, that is drawn, and else the value of the last line."""
    namespace = shell.user_ns
    magic, _, name = asked.partition(" ")
    result = _named(asked, name, namespace) if name else value
    _check_result(magic, name, result)
    taken = inspect.signature(draw).parameters
    names = {label: namespace[label] for label in cell.names if label not in taken and _has_graph(namespace.get(label))}
    return draw(result, **names)


def _named(asked: str, name: str, namespace: dict[str, Any]) -> Any:
    if name not in namespace:
        reason = f"the cell has run, and there is no {name!r}"
        raise ConfigError(asked, reason, hint="give the name of one tensor")
    return namespace[name]


def _check_result(magic: str, name: str, result: Any) -> None:
    tensors = result if isinstance(result, list | tuple) and result else [result]
    if all(isinstance(tensor, Tensor) for tensor in tensors):
        return
    what = "None" if result is None else f"of type {type(result).__name__}"
    reason = f"{name or 'what the last line of the cell gives'} is {what}, and no tensor"
    if result is None and not name:
        reason = "the last line of the cell gives no value"
    hint = f"end the cell with the tensor, as in a last line `loss`; or name it: {magic} loss"
    raise ConfigError(f"{magic} {name}".strip(), reason, hint=hint)


def _has_graph(value: object) -> bool:
    """Whether a name for it can stand in a graph."""
    if isinstance(value, Module):
        return all(param.val().backend.is_autodiff for _, param in value.named_params())
    tensor = value.val() if isinstance(value, Param) else value
    return isinstance(tensor, Tensor) and tensor.backend.is_autodiff


# The memory


_MEMORY = """Runs the cell as a job of memory.measure, and draws the memory strip.

    %%memory        while the cell runs, `device` is a traced copy of the notebook's `device`
    %%memory 64     and `batch_size` is 64

Only what is made on `device` is counted. So the cell makes its model and its data itself, or calls functions that do:
tensors and models of earlier cells are out of its sight. What the last line gives is the output. Nothing that the cell
makes stays, and `device` draws the same random numbers afterwards as it would have without the magic.
"""

_UNCOUNTED = (Tensor, Param, Module, Gradients)
"""What a cell would compute with, and nobody would count, if it was made before."""


def _draw_memory(shell: Shell, magic: str, line: str, body: str) -> Any:
    device = _device_of(shell, magic)
    if line and not (line.isdecimal() and int(line) > 0):
        raise ConfigError(f"{magic} {line}", f"{line!r} is not a batch size", hint=f"write {magic} or {magic} 64")
    cell = Cell(shell, body)

    def job(traced: Device[Any], batch: int) -> Any:
        with _run_on(traced, shell, magic, cell, {BATCH: batch} if line else {}) as result:
            return result

    with _same_random_numbers(device):
        return viz.memory(memory.measure(job, device, int(line or 1)))


# The steps


_STEP = """Runs the cell, and leads step by step through the computation of the tensor that its last line gives.

    %%step         the last line is an expression: a tensor, after its backward() or before
    %%step loss    the tensor has a name

While the cell runs, `device` is a traced copy of the notebook's `device`, as under %%memory: the cell makes its tensors
itself, and nothing of them stays.
"""


def _draw_steps(shell: Shell, magic: str, line: str, body: str) -> Any:
    device = _device_of(shell, magic)
    cell = Cell(shell, body)
    with _same_random_numbers(device), _run_on(traced_device(device), shell, magic, cell, {}) as value:
        return _drawn(widgets.stepper, shell, f"{magic} {line}".strip(), cell, value)


# A cell on a traced device


def _device_of(shell: Shell, magic: str) -> Device[Any]:
    device = shell.user_ns.get(DEVICE)
    if isinstance(device, Device):
        return device
    what = "not there" if device is None else f"of type {type(device).__name__}"
    reason = f"the name `{DEVICE}` is {what}, and the cell is counted by what it makes on that device"
    raise ConfigError(magic, reason, hint=f"write {DEVICE} = Autodiff[NdArray].device() in a cell before")


@contextmanager
def _run_on(traced: Device[Any], shell: Shell, magic: str, cell: Cell, more: dict[str, Any]) -> Iterator[Any]:
    """Runs the cell with a traced device under the name of the notebook's own, and hands on what its last line gives.
    Up to the end of the block the cell's names are there; then all is as it was before."""
    namespace = shell.user_ns
    earlier = {name for name, value in namespace.items() if isinstance(value, _UNCOUNTED)}
    with _restored(namespace, always=True), _explained(magic, earlier):
        for name in earlier:
            del namespace[name]
        namespace.update({DEVICE: traced, **more})
        result = cell.run()
        _check_counted(magic, traced, namespace.get(DEVICE))
        yield result


@contextmanager
def _same_random_numbers(device: Device[Any]) -> Iterator[None]:
    """What is drawn in the block does not count for what is drawn after it."""
    state = device.random_state()
    try:
        yield
    finally:
        device.set_random_state(state)


@contextmanager
def _explained(magic: str, earlier: set[str]) -> Iterator[None]:
    """Says more of an error that comes from computing with what an earlier cell has made."""
    try:
        yield
    except (NameError, BackendMismatch, DeviceMismatch) as error:
        what = f"`{error.name}`" if isinstance(error, NameError) else "Something here"
        if not isinstance(error, NameError) or error.name in earlier:
            reason = f"{magic} counts only what this cell makes on `{DEVICE}`"
            fix = "make it in this cell, or in a function that it calls"
            error.add_note(f"{what} is from an earlier cell, and {reason}: {fix}.")
        raise


def _check_counted(magic: str, traced: Device[Any], device: object) -> None:
    if find_log(traced).events:
        return
    reason = f"nothing in the cell was made on `{DEVICE}`, so there is nothing to count"
    if device is not traced:
        reason = f"the cell makes a `{DEVICE}` of its own, and what it makes on that is not counted"
    hint = f"make the model and the data in this cell, on the `{DEVICE}` that is there"
    raise ConfigError(magic, reason, hint=hint)
