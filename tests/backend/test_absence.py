"""Row 81 of the cases: without a driver, without a package, all else works, and each error says what to do.

Each test runs in a process of its own, from which something was taken away.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import BASES, UnderTest

ROOT = Path(__file__).parents[2]


def need(base: UnderTest) -> str:
    """The environment variable by which a run says that a backend must be here."""
    return f"TINYBURN_NEED_{base.name.upper()}"


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_what_this_run_needs_is_here(base: UnderTest) -> None:
    """Everywhere else a backend that is not here is a skip; this makes it a failure where somebody counts on it."""
    assert base.why_not is None or not os.environ.get(need(base)), base.why_not


@dataclass(frozen=True)
class Without:
    """A way to take a backend away: by what the driver's loader is told, or by a package that cannot be imported."""

    name: str
    backend: str
    reason: str
    environment: dict[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()


NOWHERE = "/nowhere.json"
WITHOUT = [
    Without("driver", "Wgpu", "driver", {"VK_ICD_FILENAMES": NOWHERE, "VK_DRIVER_FILES": NOWHERE}),
    Without("wgpu", "Wgpu", "wgpu", packages=("wgpu",)),
    Without("cupy", "Cuda", "CuPy", packages=("cupy",)),
    Without("NVIDIA GPU", "Cuda", "CuPy", {"CUDA_VISIBLE_DEVICES": "-1"}),
]
ways = pytest.mark.parametrize("without", WITHOUT, ids=lambda without: f"81-without-{without.name}".replace(" ", "-"))


def run(without: Without, script: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code where something is missing. None in ``sys.modules`` makes an import fail."""
    blocked = "".join(f"sys.modules[{package!r}] = None\n" for package in without.packages)
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{blocked}{script}"],
        cwd=ROOT,
        env={**os.environ, **without.environment},
        capture_output=True,
        text=True,
        check=False,
    )


@ways
def test_all_else_works(without: Without) -> None:
    done = run(
        without,
        "from tinyburn import Autodiff, NdArray, Tensor\n"
        "x = Tensor.from_data([3.0], Autodiff[NdArray].device()).require_grad()\n"
        "print(x.grad((x * x).backward()).to_numpy().tolist())",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[6.0]\n", "")


ASKING = (
    "{backend}.device()",
    "{backend}.device(0)",
    "Autodiff[{backend}].device()",
    "RunConfig(backend='{name}').init()",
    "Tensor.ones((1,), NdArray.device()).to_device({backend}.device())",
)


@ways
def test_asking_for_the_backend_is_one_clear_error(without: Without) -> None:
    asked = [line.format(backend=without.backend, name=without.backend.lower()) for line in ASKING]
    tries = "".join(f"try:\n    {line}\nexcept BackendUnavailable as error:\n    print(error)\n" for line in asked)
    done = run(without, f"from tinyburn import *\nassert {without.backend}.devices() == []\n{tries}")
    assert (done.returncode, done.stderr) == (0, "")
    errors = done.stdout.split(f"{without.backend}.device\n")[1:]
    assert len(errors) == len(ASKING)
    for error in errors:
        reason, hint = error.split("hint: ")
        assert without.reason in reason
        assert "install" in hint


@ways
def test_the_report_of_devices_says_what_to_do(without: Without) -> None:
    done = run(without, "from tinyburn.cli import main\nsys.exit(main(['devices']))")
    assert (done.returncode, done.stderr) == (0, "")
    table, *notes = done.stdout.split("\n\n")
    rows = [line.split()[:3] for line in table.splitlines()]
    assert ["ndarray", "cpu", "yes"] in rows
    assert [without.backend.lower(), "none", "no"] in rows
    (note,) = [note for note in notes if note.startswith(f"{without.backend.lower()}: ")]
    assert without.reason in note
    assert "install" in note


@pytest.mark.parametrize(
    "stranger", ["raise ImportError", "raise ValueError('not this cffi')", "gpu = None", "import nothing_of_this_name"]
)
def test_a_strange_package_of_that_name_is_one_clear_error(tmp_path: Path, stranger: str) -> None:
    """A file wgpu.py in the student's folder, or a package that is broken in a way of its own."""
    (tmp_path / "wgpu.py").write_text(stranger)
    script = "from tinyburn import Wgpu\nprint(Wgpu.devices(), Wgpu.why_unavailable())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("[] the package wgpu cannot ")
    assert "hint: pip install" in done.stdout


def pytest_without(without: Without, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Tests of the suite itself, in a process of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TINYBURN_NEED_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={**kept, **without.environment, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_81_without_a_driver_tests_skip_and_say_why() -> None:
    done = pytest_without(WITHOUT[0], "tests/test_cases_devices.py")
    assert done.returncode == 0, done.stdout
    assert "found no driver" in done.stdout
    assert " passed" in done.stdout
    assert " skipped" in done.stdout


def test_81_a_driver_that_is_needed_is_a_failure() -> None:
    this = f"{Path(__file__).relative_to(ROOT)}::{test_what_this_run_needs_is_here.__name__}"
    assert pytest_without(WITHOUT[0], this).returncode == 0
    done = pytest_without(WITHOUT[0], this, TINYBURN_NEED_WGPU="1")
    assert done.returncode == 1
    assert "found no driver" in done.stdout
