"""Runs the cells of one notebook and judges its answers. All of it happens in a process that is there for this alone.

The cells run in IPython's shell without a kernel: magics and `display` work, and nothing that they show goes anywhere.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tinyburn.course
from tinyburn.course.exercises import LESSONS, Exercise, exercises_of

from .needed import Code, needed
from .processes import Report

IMPORTS = ["tinyburn.cli.answers", "IPython.core.interactiveshell", "traitlets.config"]
IMPORTS += [f"tinyburn.course.lesson_{lesson:02}" for lesson in LESSONS]
"""What `answers` needs. Those that are not there are no error."""

_LONGEST_REASON = 120


def answers(task: Mapping[str, Any], report: Report) -> None:
    """Does a task: tells which exercises are checked, each cell that begins, and how each exercise is answered."""
    _limit(task["seconds"], task["megabytes"])
    known = exercises_of(task["lesson"])
    judge = Judge(known, _shell(task["settings"]), report)
    os.chdir(task["folder"])
    sys.path.insert(0, "")  # as in a notebook: a file beside it can be imported
    setattr(tinyburn.course, "check", _say_nothing)  # noqa: B010  # an answer that can be used once is for the judge
    codes = [Code(cell["source"]) for cell in task["cells"]]
    runs = [True] * len(codes) if task["everything"] else needed(codes, [cell["own"] for cell in task["cells"]])
    last = {number: at for at, code in enumerate(codes) for number, _ in code.checks() if number in known}
    report(checked=sorted(last))
    for at, (cell, code) in enumerate(zip(task["cells"], codes, strict=True)):
        asked = {number: answer for number, answer in code.checks() if last.get(number) == at}
        if runs[at]:
            judge.run(cell, asked)
        else:  # a cell of the course as it is: its answer is None
            judge.leave_open(asked)
    report(again=not all(runs) and judge.is_in_doubt)


def _say_nothing(number: str, answer: object) -> None:
    """In place of `tinyburn.course.check`."""


@dataclass
class Judge:
    """What is right, and the shell in which the cells run. Both are there before a cell is.

    Attributes:
        is_in_doubt: whether something was not as it should be. If cells were left out, that can be why.
    """

    known: Mapping[str, Exercise]
    shell: Any
    report: Report
    is_in_doubt: bool = False

    def run(self, cell: Mapping[str, Any], asked: Mapping[str, ast.expr]) -> None:
        """Runs a cell, and judges the answers that it gives to exercises."""
        self.report(cell=cell["place"])
        before = {number: self._named(answer) for number, answer in asked.items()}
        failure = self._failure(cell["source"])
        if failure is not None and cell["own"] and not cell["must_fail"]:
            self.is_in_doubt = True
            if not asked:  # of an exercise it is the reason
                self.report(failed=_words(failure))
        for number, answer in asked.items():
            value, no_value = self._value(answer)
            if failure is not None and self._named(answer) is before[number]:
                value, no_value = None, failure  # the cell did not come as far as its answer
            state, reason = self._verdict(number, value, no_value)
            self.is_in_doubt |= state != "right"
            self.report(exercise=number, state=state, reason=reason)

    def leave_open(self, asked: Iterable[str]) -> None:
        """For exercises that nobody has begun."""
        for number in asked:
            self.report(exercise=number, state="open", reason="")

    def _failure(self, source: str) -> BaseException | None:
        try:
            result = self.shell.run_cell(source, silent=True, store_history=False)
        except BaseException as error:  # the shell's own, such as a MemoryError
            return error
        failure: BaseException | None = result.error_before_exec or result.error_in_exec
        return failure

    def _named(self, answer: ast.expr) -> object:
        """What has the name of the answer now, if it is a name and has been given."""
        return self.shell.user_ns.get(answer.id) if isinstance(answer, ast.Name) else None

    def _value(self, answer: ast.expr) -> tuple[object, BaseException | None]:
        """What the second argument of the check is now. A name that is not there has no value."""
        try:
            return eval(compile(ast.Expression(answer), "<answer>", "eval"), self.shell.user_ns), None
        except BaseException as error:
            return None, error

    def _verdict(self, number: str, value: object, no_value: BaseException | None) -> tuple[str, str]:
        """The state of an exercise, and why."""
        if no_value is not None:
            return "wrong", _words(no_value)
        if value is None:
            return "open", ""
        try:
            return ("right" if self.known[number].is_right(value) else "wrong"), ""
        except BaseException as error:  # whatever a wrong answer does, sys.exit() too, it is a wrong answer
            return "wrong", _words(error)


def _words(error: BaseException) -> str:
    """An error in one line of a table."""
    try:
        said = f"{error.msg}, line {error.lineno}" if isinstance(error, SyntaxError) else str(error)
    except BaseException:  # its own __str__ fails
        said = ""
    text = f"{type(error).__name__}: {said}"
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(text.split())[:_LONGEST_REASON].removesuffix(":")


def _limit(seconds: float, megabytes: int) -> None:
    """Memory, and the size of a file, on Linux. Time is the parent's, but if that is gone, the process ends as well."""
    if sys.platform == "linux":
        import resource

        size = megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        processor_time = int(seconds * (os.cpu_count() or 1)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (processor_time, processor_time))


def _shell(settings: str) -> Any:
    """IPython as a kernel has it, but without history, and without tracebacks, which nobody would see.

    ``settings`` is a folder in place of the user's own.
    """
    os.environ["IPYTHONDIR"] = settings
    config = import_module("traitlets.config").Config()
    config.HistoryManager.enabled = False
    shell = import_module("IPython.core.interactiveshell").InteractiveShell.instance(config=config)
    shell.showtraceback = shell.showsyntaxerror = lambda *_, **__: None
    shell.enable_gui = lambda *_: None  # for %matplotlib inline
    return shell
