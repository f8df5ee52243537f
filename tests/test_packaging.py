"""What is promised outside the code: the environments agree, and CI runs the commands of the README."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import tinyburn

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
CI = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"graphviz": "python-graphviz", "matplotlib": "matplotlib-base"}
ONLY_ON_PYPI = {"graphviz-pure", "wgpu"}
SOURCES = {".py", ".wgsl", ".md", ".toml", ".yml", ".cfg", ".ipynb", ".txt", ""}


def wanted(lines: list[str]) -> dict[str, str]:
    """Requirements as conda's names and version ranges."""
    requirements = [Requirement(line) for line in lines]
    return {CONDA_NAMES.get(r.name, r.name): str(r.specifier) for r in requirements}


def environment(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a conda environment takes from conda-forge, and what with pip."""
    parsed = yaml.safe_load((PROJECT / name).read_text(encoding="utf-8"))
    assert parsed["channels"] == ["conda-forge", "nodefaults"]
    from_conda = [line for line in parsed["dependencies"] if isinstance(line, str)]
    (with_pip,) = [entry["pip"] for entry in parsed["dependencies"] if isinstance(entry, dict)]
    return wanted(from_conda), wanted(with_pip)


def files_of_the_project() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so the project's own files cannot be told from others")
    paths = [PROJECT / line for line in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in SOURCES and path.is_file()]


def test_the_conda_environment_wants_what_pyproject_wants():
    extras = METADATA["optional-dependencies"]
    expected = wanted([*METADATA["dependencies"], *extras["lab"], *extras["data"]])
    expected |= {"python": METADATA["requires-python"], "pip": ""}
    from_conda, with_pip = environment("environment.yml")
    assert set(with_pip) == ONLY_ON_PYPI
    assert {**from_conda, **with_pip} == wanted([f"{name} {spec}" for name, spec in expected.items()])


def test_the_cuda_environment_adds_only_cuda():
    from_conda, with_pip = environment("environment.yml")
    cuda_from_conda, cuda_with_pip = environment("environment-cuda.yml")
    assert cuda_with_pip == with_pip
    assert {name for name in cuda_from_conda if name not in from_conda} == {"cupy", "cuda-version"}
    assert {name: cuda_from_conda[name] for name in from_conda} == from_conda
    for extra in ("cuda12", "cuda13"):
        (cupy,) = METADATA["optional-dependencies"][extra]
        assert str(Requirement(cupy).specifier) == cuda_from_conda["cupy"]


def test_every_extra_that_a_command_names_is_there_and_the_tests_bring_what_they_look_at():
    extras = METADATA["optional-dependencies"]
    texts = [README, *(path.read_text(encoding="utf-8") for path in (PROJECT / "docs").glob("*.md"))]
    named = {name for text in texts for name in re.findall(r'(?:-e "\.|tinyburn)\[([a-z0-9]+)\]"', text)}
    assert {"lab", "test", "docs"} <= named <= set(extras)
    assert {"tinyburn[lab]", "tinyburn[data]", "tinyburn[docs]"} <= set(extras["test"])


def test_one_version_everywhere():
    assert METADATA["version"] == tinyburn.__version__
    assert f"## {tinyburn.__version__}" in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (PROJECT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n")
    assert METADATA["license"] == "MIT"


def test_ci_runs_the_tests_by_the_readmes_command():
    (command,) = re.findall(r"\.venv/bin/(pytest.*)", README)
    assert f" {command}\n" in CI
    assert os.access(PROJECT / ".ci" / "run", os.X_OK)


def test_the_readme_opens_the_course_by_an_extra_and_a_command_that_exist():
    commands = [line for line in README.splitlines() if line.endswith("tinyburn lab")]
    assert len(commands) == 2  # one for Windows
    assert all(".[lab]" in command for command in commands)
    assert METADATA["scripts"] == {"tinyburn": "tinyburn.cli:main"}


def test_the_readmes_example_prints_what_it_shows():
    code, shown = re.search(r"```python\n(.*?)```\n.*?```text\n(.*?)```", README, re.DOTALL).groups()
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue() == shown


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_leads_to_a_file(page: str):
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]*)?\)", (PROJECT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (PROJECT / link).exists()] == []


def test_the_readme_lists_every_notebook():
    notebooks = {f"notebooks/{path.name}" for path in (PROJECT / "notebooks").glob("*.ipynb")}
    assert notebooks == set(re.findall(r"\]\((notebooks/[\w.-]+)\)", README))


def test_no_file_names_a_folder_of_one_machine():
    forbidden = re.compile(r"(?<![\w.~*$}\])-])/(?:root|opt|home/\w+|work|Users/\w+)/")
    found = [
        f"{path.relative_to(PROJECT)}: {match[0]}"
        for path in files_of_the_project()
        for match in forbidden.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_shell_can_read_every_command_of_the_readme():
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        assert shlex.split(block)


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real wheel of this tree, unpacked as an installer would unpack it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_the_package_the_course_and_nothing_else(unpacked_wheel: Path):
    assert sorted(path.name for path in unpacked_wheel.iterdir()) == [
        "tinyburn",
        f"tinyburn-{tinyburn.__version__}.dist-info",
    ]
    shipped = {path.name for path in (unpacked_wheel / "tinyburn" / "notebooks").iterdir()}
    assert shipped == {path.name for path in (PROJECT / "notebooks").iterdir() if not path.name.startswith(".")}
    assert (unpacked_wheel / "tinyburn" / "py.typed").is_file()


def test_an_installed_tinyburn_copies_the_course_once_and_keeps_the_readers_work(unpacked_wheel: Path, tmp_path: Path):
    script = "from tinyburn.cli.course import start_course; print(start_course())"

    def course() -> Path:
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(unpacked_wheel), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return Path(done.stdout.strip())

    folder = course()
    assert folder == tmp_path / "tinyburn-course"
    first_page = folder / "index.ipynb"
    assert "tinyburn" in first_page.read_text(encoding="utf-8")
    first_page.write_text("my own work", encoding="utf-8")
    assert course() == folder
    assert first_page.read_text(encoding="utf-8") == "my own work"
