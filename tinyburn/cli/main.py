"""The words that the command understands. Each command has a file of its own, loaded only when it is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tinyburn.base.errors import TinyburnError

_EXIT_CODES = (
    "exit codes: 0 all is well; 1 something failed, the message says what; 2 the command was not understood; "
    "130 stopped with Ctrl-C"
)

_JUDGED = (
    "A notebook with answers is run, in a process of its own and a folder of its own, and the package judges the "
    "answers: what a notebook shows counts for nothing."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. ``arguments`` are the words after ``tinyburn``."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except TinyburnError as error:
        print(f"tinyburn: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tinyburn: stopped", file=sys.stderr)
        return 130  # what a shell expects after Ctrl-C


def _run(options: argparse.Namespace) -> int:
    if options.command == "lab":
        from .lab import lab

        return lab(options.port, browser=options.browser)
    if options.command == "devices":
        from .devices import devices

        return devices()
    if options.command == "docs":
        from .docs import docs

        return docs(options.folder, browser=options.browser)
    if options.command == "onnx":
        from .onnx_file import inspect as inspect_onnx

        return inspect_onnx(options.file, options.dim)
    if options.command == "inspect":
        from .inspect import inspect

        return inspect(options.file, check=options.check)
    if options.command == "course":
        return _run_course(options)
    from .notebooks import notebooks

    return notebooks(options.action, options.files, options.timeout)


def _run_course(options: argparse.Namespace) -> int:
    if options.action == "start":
        from .course import start_course

        print(f"Your copy of the course is in {start_course(options.folder)}")
        return 0
    if options.action == "solution":
        from tinyburn.course import solution

        solution(options.number)
        return 0
    from .marking import Limits

    limits = Limits(options.timeout, options.memory)
    if options.action == "status":
        from .status import status

        return status(options.folder, limits)
    from .grade import grade

    return grade(options.folder, options.lesson, options.output, options.workers, limits)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tinyburn",
        description="A deep-learning framework small enough to read, and the course that explains it.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"tinyburn {version('tinyburn')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_lab(commands)
    commands.add_parser(
        "devices",
        help="list the backends and devices that work here, and why the others do not",
        description="List the backends and devices that work on this machine, and why the others do not.",
    )
    _add_course(commands)
    _add_inspect(commands)
    _add_onnx(commands)
    _add_docs(commands)
    _add_notebooks(commands)
    return parser


def _add_lab(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lab = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        description="Open the course in JupyterLab, at its first page. Press Ctrl-C twice in this terminal to stop it.",
    )
    lab.add_argument(
        "--port",
        type=_port,
        default=8888,
        help="the port to listen on; if it is taken, the next free one (default: 8888)",
    )
    lab.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address and do not open a browser"
    )


def _add_course(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "make a copy of the course to work in, see what is done in it, show a solution, grade a class"
    course = commands.add_parser("course", help=about, description=f"{about.capitalize()}.")
    actions = course.add_subparsers(dest="action", required=True, metavar="ACTION")
    about = "make a copy of the course to work in; what is in it already stays as it is"
    start = actions.add_parser("start", help=about, description=about)
    start.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: tinyburn-course")
    about = "show a solution of an exercise"
    solution = actions.add_parser("solution", help=about, description=about)
    solution.add_argument("number", metavar="NUMBER", help="such as 5.2: the second exercise of lesson 05")
    about = "say which exercises of a copy are right, and how many guesses are made; it changes nothing"
    status = actions.add_parser("status", help=about, description=about, epilog=_JUDGED)
    status.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: tinyburn-course")
    _add_limits(status)
    _add_grade(actions)


def _add_grade(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "run the notebooks of a class and write a table of points"
    epilog = f"{_JUDGED} They are the students' code: docs/teaching.md says what is guarded and what is not."
    grade = actions.add_parser("grade", help=about, description=about, epilog=epilog)
    grade.add_argument(
        "folder",
        type=Path,
        metavar="FOLDER",
        help="has a sub-folder for each student with notebooks named as in the course, or files such as "
        "ada_05_training_step.ipynb",
    )
    grade.add_argument("--output", type=Path, metavar="FILE", help="where the table goes, as CSV; default: here")
    grade.add_argument(
        "--lesson",
        type=_whole,
        action="append",
        default=[],
        metavar="N",
        help="a lesson to grade, as often as you like; default: those that somebody has handed in",
    )
    grade.add_argument(
        "--workers", type=_whole, default=2, metavar="N", help="how many notebooks run at a time (default: 2)"
    )
    _add_limits(grade)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="the longest time for one notebook, in seconds (default: 60)",
    )
    parser.add_argument(
        "--memory",
        type=_whole,
        default=2000,
        metavar="MB",
        help="the most memory for one notebook, in megabytes; on Linux only (default: 2000)",
    )


def _add_inspect(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "show what a file of a model or of a training state holds"
    inspect = commands.add_parser("inspect", help=about, description=f"{about.capitalize()}, without loading it.")
    inspect.add_argument("file", metavar="FILE", help="a safetensors file, or an address that fsspec understands")
    inspect.add_argument(
        "--check", action="store_true", help="read the values too, and hold them against their checksums"
    )


def _add_onnx(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    onnx = commands.add_parser("onnx", help="models of other stacks, as ONNX files")
    actions = onnx.add_subparsers(dest="action", required=True, metavar="ACTION")
    about = "show the nodes of a model with their shapes, and what of it would not run here"
    inspect = actions.add_parser("inspect", help=about, description=f"{about.capitalize()}. Nothing is computed.")
    inspect.add_argument("file", metavar="FILE", help="an ONNX file")
    inspect.add_argument(
        "--dim", action="append", default=[], metavar="NAME=N", help="the length of a free dim, such as batch=16"
    )


def _add_docs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "build the site of pages, notebooks and reference, and open it"
    docs = commands.add_parser("docs", help=about, description=f"{about.capitalize()}. This needs a clone.")
    docs.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: docs/_build")
    docs.add_argument("--no-browser", dest="browser", action="store_false", help="build it and do not open it")


def _add_notebooks(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    notebooks = commands.add_parser("notebooks", help="regenerate the notebooks, or prove them up to date")
    actions = notebooks.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, about in {
        "run": "execute notebooks and store what they show: the same bytes each time",
        "check": "execute notebooks and compare with what is stored; write nothing",
    }.items():
        parser = actions.add_parser(action, help=about, description=about)
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="default: every notebook of the course")
        parser.add_argument(
            "--timeout",
            type=_seconds,
            default=120.0,
            metavar="S",
            help="the longest time for one cell, in seconds (default: 120)",
        )


def _port(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= 65535):
        raise argparse.ArgumentTypeError(f"{word!r} is not a port: a whole number from 1 to 65535")
    return int(word)


def _whole(word: str) -> int:
    if not (word.isascii() and word.isdigit() and int(word) > 0):
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number greater than 0")
    return int(word)


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds greater than 0")
    return seconds
