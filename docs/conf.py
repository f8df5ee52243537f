"""Sphinx: the pages of this folder, and the notebooks as they are stored, without running anything."""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent
NOTEBOOKS = HERE / "notebooks"

# Sphinx reads only what lies below this folder, so the notebooks are copied in; .gitignore here keeps the copy out.
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
NOTEBOOKS.mkdir()
for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
    shutil.copy(notebook, NOTEBOOKS)

project = "tinyburn"
author = "the tinyburn authors"
html_title = "tinyburn"

extensions = ["myst_nb"]
exclude_patterns = ["_build", "jupyter_execute", "README.md"]
nb_execution_mode = "off"
myst_heading_anchors = 3

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
