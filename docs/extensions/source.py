"""The source on the site: a page for each file of the package, and for each other file that a page links to."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.transforms import SphinxTransform

PROJECT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".wgsl": "wgsl", ".md": "markdown", ".yml": "yaml", ".toml": "toml"}


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_transform(LinksToFiles)
    app.connect("html-collect-pages", pages)
    return {}


class LinksToFiles(SphinxTransform):
    """A link to a file that is no page of the site leads to the page that shows it; Sphinx would offer a download."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Called by Sphinx for each page."""
        for link in list(self.document.findall(download_reference)):
            _, path = self.env.relfn2path(link["reftarget"], self.env.docname)
            file = Path(path).resolve().relative_to(PROJECT)
            linked_files(self.app).add(file)
            address = self.app.builder.get_relative_uri(self.env.docname, page_of(file))
            link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=address))


def linked_files(app: Sphinx) -> set[Path]:
    """The files that pages link to, from the project's root on."""
    environment: Any = app.env
    if not hasattr(environment, "linked_files"):
        environment.linked_files = set()
    return cast("set[Path]", environment.linked_files)


def page_of(file: Path) -> str:
    """The page that shows a file; both from the root on. All are in one folder, and share the links to other pages."""
    return f"source/{'.'.join(file.parts)}"


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every page of source: where it is, what is on it, and its template."""
    builder = cast(StandaloneHTMLBuilder, app.builder)
    ours = {path.relative_to(PROJECT) for path in (PROJECT / "tinyburn").rglob("*") if path.suffix in (".py", ".wgsl")}
    links = global_toctree_for_doc(app.env, "source/", builder, collapse=False, titles_only=True, includehidden=True)
    navigation = builder.render_partial(links)["fragment"]
    for file in sorted(ours | linked_files(app)):
        text = (PROJECT / file).read_text(encoding="utf-8")
        language = LANGUAGES.get(file.suffix, "text")
        code = builder.highlighter.highlight_block(text, language, linenos="inline", lineanchors="line")
        title = file.as_posix()
        context = {"title": title, "body": f"<h1>{escape(title)}</h1>\n{code}", "toctree": lambda **_: navigation}
        yield page_of(file), context, "page.html"


def address_of(domain: str, info: dict[str, str]) -> str | None:
    """Where the source of a name is, for ``linkcode``, as seen from a page of docs/api/; None for what has no lines."""
    try:
        found = attrgetter(info["fullname"])(importlib.import_module(info["module"]))
        found = inspect.unwrap(getter_of(found))
        file = Path(inspect.getsourcefile(found) or "").relative_to(PROJECT)
        _, line = inspect.getsourcelines(found)
    except (AttributeError, TypeError, ValueError, OSError):
        return None
    return f"../../{page_of(file)}.html#line-{line}"


def getter_of(found: Any) -> Any:
    """The function behind a property, and of anything else itself."""
    if isinstance(found, property):
        return found.fget
    return found.func if isinstance(found, cached_property) else found
