"""Sphinx: the pages of this folder, the notebooks as they are stored, and the docstrings. No notebook is run.

The folder that Sphinx reads is the project's root, so that a link from a page to a notebook, or from a notebook to a
page, is the same here as in a clone and on GitHub.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent
sys.path[:0] = [str(PROJECT), str(HERE)]  # what is documented is this clone, and docs/extensions is ours

from extensions.api import PUBLIC_BASES  # noqa: E402
from extensions.source import address_of as linkcode_resolve  # noqa: E402, F401  # linkcode asks for it by this name

BUILTIN_BASES = ["tuple", "int", "str", "AttributeError", "BaseException"]

project = "tinyburn"
author = "the tinyburn authors"

root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/api/*.md", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = ["docs/README.md", "docs/_build"]
exclude_patterns += [
    path.name for path in PROJECT.iterdir() if path.is_dir() and path.name not in ("docs", "notebooks")
]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.linkcode"]
extensions += ["extensions.api", "extensions.formulas", "extensions.names", "extensions.source"]

nb_execution_mode = "off"
nb_render_error_lexer = "none"  # an error of ours is a text: a lexer for Python would paint its "and" and "with"
nb_ipywidgets_js: dict[str, object] = {}  # it would be loaded from the network; a widget shows its text
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

add_module_names = False
maximum_signature_line_length = 100
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": ", ".join([*PUBLIC_BASES, *BUILTIN_BASES])}
autodoc_typehints = "none"  # extensions.api writes them
autosummary_generate = False
default_role = "py:obj"  # `name` in a docstring is a link, where it is the name of something
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "tinyburn"
html_static_path = ["_static"]
html_extra_path = ["_root"]
pygments_dark_style = "github-dark"
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
