"""What every notebook stores. nbval runs the cells and compares their outputs; it overlooks what is tested here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tinyburn.cli.document import parse, serialise
from tinyburn.cli.normalise import normalise

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:root|home|Users|opt|work|tmp|var|private|usr)/|[A-Za-z]:\\\\|ipykernel_\d")

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in json.loads(text_of(path))["cells"] if cell["cell_type"] == "code"]


def test_there_is_a_first_page():
    assert FOLDER / "index.ipynb" in NOTEBOOKS


@every_notebook
def test_it_is_a_valid_notebook_in_the_form_that_run_writes(path: Path):
    text = text_of(path)
    nbformat.validate(json.loads(text))
    notebook = parse(text)
    normalise(notebook)
    assert serialise(notebook) == text


@every_notebook
def test_every_code_cell_has_run_from_top_to_bottom(path: Path):
    """A cell without a count would run under nbval and never be compared."""
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@every_notebook
def test_only_a_cell_that_promises_an_error_stores_one(path: Path):
    for cell in code_cells(path):
        raised = any(output["output_type"] == "error" for output in cell["outputs"])
        assert raised == ("raises-exception" in cell["metadata"].get("tags", []))


@every_notebook
def test_only_a_cell_about_this_machine_escapes_the_comparison(path: Path):
    """A cell that shows what a GPU does begins with words that say so. It runs everywhere, and shows other things."""
    for cell in code_cells(path):
        tags = set(cell["metadata"].get("tags", []))
        about_machines = "".join(cell["source"]).startswith(("# On this machine", "# On the GPU"))
        assert tags & {"nbval-skip", "nbval-ignore-output"} == ({"nbval-ignore-output"} if about_machines else set())


@every_notebook
def test_every_picture_shows_without_trust_and_has_words(path: Path):
    """Untrusted, JupyterLab drops SVG outputs and inline <svg>; an <img> with its text beside it stays."""
    for cell in code_cells(path):
        for output in cell["outputs"]:
            data = output.get("data", {})
            assert "image/svg+xml" not in data
            if "text/html" in data:
                html = "".join(data["text/html"])
                assert "".join(data["text/plain"]).strip()
                assert "<svg" not in html
                for image in re.findall(r"<img[^>]*>", html):
                    assert re.search(r'alt="[^"]+"', image)
                    assert 'src="data:image/' in image


@every_notebook
def test_no_output_names_a_folder_of_the_machine_it_ran_on(path: Path):
    for cell in code_cells(path):
        assert MACHINE_PATH.findall(json.dumps(cell["outputs"])) == []


@every_notebook
def test_every_link_to_another_file_leads_there(path: Path):
    for cell in json.loads(text_of(path))["cells"]:
        if cell["cell_type"] == "markdown":
            links = re.findall(r"\]\(([\w./-]+)(?:#[^)]*)?\)", "".join(cell["source"]))
            assert [link for link in links if not (path.parent / link).is_file()] == []


def test_the_first_page_links_to_every_other_one():
    links = re.findall(r"\]\(([\w-]+\.ipynb)\)", text_of(FOLDER / "index.ipynb"))
    assert links == [path.name for path in NOTEBOOKS if path.name != "index.ipynb"]
