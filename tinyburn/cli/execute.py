"""Runs the cells of a notebook, in this environment's Python and nobody's settings."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import default

from .errors import CommandError, need


class _ThisPython(KernelSpecManager):
    """Answers every name with the Python that runs this command: a registered kernel may belong to another one."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]
        return KernelSpec(argv=command, display_name="Python 3 (ipykernel)", language="python")


class _Kernel(AsyncKernelManager):
    """A kernel of this Python. nbclient starts it and stops it."""

    @default("kernel_spec_manager")
    def _default_kernel_spec_manager(self) -> KernelSpecManager:
        return _ThisPython()


class _Client(NotebookClient):
    """Ctrl-C ends the run, and the kernel with it. nbclient's own way ends the kernel alone, and is surprised by that.

    Attributes:
        interrupted: whether Ctrl-C was pressed.
    """

    interrupted = False

    async def async_start_new_kernel(self, **options: Any) -> None:
        """nbclient has set its own handler right before this."""
        run = asyncio.current_task()

        def stop() -> None:
            self.interrupted = True
            if run is not None:
                run.cancel()

        with suppress(RuntimeError, ValueError):  # not in the main thread, or on Windows, where Python's handler stays
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop)
        await super().async_start_new_kernel(**options)


def execute(notebook: Any, folder: Path, timeout: float) -> None:
    """Runs every cell from top to bottom in ``folder`` and fills in the outputs.

    A cell with the tag ``raises-exception`` has to raise, and its error is its output. ``timeout`` is in seconds, for
    one cell. Raises CommandError for a cell that fails or takes too long, and for a kernel that dies; KeyboardInterrupt
    after Ctrl-C.
    """
    need("ipykernel", "lab", "running a notebook")
    _clear(notebook)
    reached = [0]
    client = _Client(
        notebook,
        kernel_manager_class=_Kernel,
        timeout=timeout,
        record_timing=False,
        resources={"metadata": {"path": str(folder.resolve())}},
        on_cell_start=lambda cell, cell_index: reached.__setitem__(0, cell_index),
        log=_silent(),
    )
    try:
        with tempfile.TemporaryDirectory() as settings:
            client.execute(env={**os.environ, "IPYTHONDIR": settings})
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
        if client.interrupted:
            raise KeyboardInterrupt from None
        raise CommandError(_reason(error, reached[0] + 1, timeout)) from error
    _check_promised_errors(notebook)


def _clear(notebook: Any) -> None:
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


def _silent() -> logging.Logger:
    """nbclient also logs what it raises; one message is enough."""
    log = logging.getLogger("tinyburn.notebooks")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return log


def _reason(error: Exception, cell: int, timeout: float) -> str:
    if isinstance(error, CellExecutionError):
        return f"cell {cell} failed: {error.ename}: {error.evalue}"
    if isinstance(error, CellTimeoutError):
        return f"cell {cell} ran longer than {timeout:g} seconds"
    if isinstance(error, DeadKernelError):
        return f"the kernel died in cell {cell}"
    return f"the kernel did not start: {error}"


def _check_promised_errors(notebook: Any) -> None:
    for position, cell in enumerate(notebook.cells, start=1):
        promised = "raises-exception" in cell.metadata.get("tags", [])
        if promised and not any(output.output_type == "error" for output in cell.get("outputs", [])):
            raise CommandError(f"cell {position} has the tag raises-exception, but raised nothing")
