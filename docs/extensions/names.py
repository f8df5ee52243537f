"""Names in the reference: a table of them where a package or a long class begins, and where each leads to."""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from types import FunctionType, ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tinyburn import Tensor

Place = tuple[str, str]
"""A page, and a place on it."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("autodoc-process-docstring", add_tables)
    app.connect("env-updated", shorten_contents)
    app.connect("missing-reference", Finder().find)
    return {"parallel_read_safe": True}


# Tables


def add_tables(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """After the docstring of a package a table of what is in it; after that of `Tensor` one for each group."""
    if what == "module":
        lines += table(public_names(found))
    if found is Tensor:
        for base in Tensor.__mro__:
            methods = [f"~Tensor.{method}" for method in public_methods(base)]
            if methods:
                title = (sys.modules[base.__module__].__doc__ or "").split(".")[0].partition(":")
                lines += ["", f".. rubric:: {title[0]}", *table(methods)]


def public_names(package: ModuleType) -> list[str]:
    """The classes and functions that a package offers, or a module without a list of them has."""
    own = [name for name, found in vars(package).items() if getattr(found, "__module__", "") == package.__name__]
    names = getattr(package, "__all__", [name for name in own if not name.startswith("_")])
    return [
        name for name in names if inspect.isroutine(getattr(package, name)) or inspect.isclass(getattr(package, name))
    ]


def public_methods(base: type) -> list[str]:
    """Those that a class itself has, as they stand in it."""
    methods = (FunctionType, staticmethod, classmethod)
    return [name for name, found in vars(base).items() if isinstance(found, methods) and not name.startswith("_")]


def table(names: list[str]) -> list[str]:
    """The lines of a table of names, each with its first sentence."""
    return ["", ".. autosummary::", "   :nosignatures:", "", *[f"   {name}" for name in names], ""]


def shorten_contents(app: Sphinx, env: BuildEnvironment) -> None:
    """Takes the methods out of the list of contents beside a page, which then has classes and functions alone."""
    for contents in env.tocs.values():
        for link in list(contents.findall(nodes.reference)):
            entry = link.parent.parent
            if link["anchorname"].startswith("#tinyburn."):
                entry[:] = [part for part in entry if not isinstance(part, nodes.bullet_list)]


# Links


class Finder:
    """Where a name of ours leads that stands in a docstring or in a type, from whatever package it is."""

    def __init__(self) -> None:
        self.places: dict[tuple[bool, str], set[Place]] = {}

    def find(
        self, app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
    ) -> nodes.Node | None:
        """A link, or None for a name that is nobody's or of several."""
        if node.get("refdomain") != "py":
            return None
        self.places = self.places or by_ending(env)
        places = self.places.get((node["reftype"] in TYPES, node["reftarget"]), set())
        if len(places) != 1:
            return None
        ((page, anchor),) = places
        address = app.builder.get_relative_uri(node["refdoc"], page)
        return nodes.reference("", "", text, internal=True, refuri=f"{address}#{anchor}", reftitle=node["reftarget"])


TYPES = ("class", "exc", "exception")


def by_ending(env: BuildEnvironment) -> dict[tuple[bool, str], set[Place]]:
    """The places of everything in the reference, by whole names and by their ends: ``nn.Linear`` and ``Linear``.

    Once among all, and once among classes alone: an ``int`` in a signature is not the method `Tensor.int`.
    """
    found: dict[tuple[bool, str], set[Place]] = defaultdict(set)
    for name, _, kind, page, anchor, _ in env.get_domain("py").get_objects():
        parts = name.split(".") if kind != "module" else []
        for ending in (".".join(parts[start:]) for start in range(len(parts))):
            found[False, ending].add((page, anchor))
            if kind in TYPES:
                found[True, ending].add((page, anchor))
    return dict(found)
