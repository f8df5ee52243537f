"""What the reference shows of the code: public names, with their types as they are written there."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from enum import Enum
from operator import attrgetter
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_annotation, desc_signature
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.inspect import stringify_signature

from tinyburn.backend.operations import OPERATIONS, Operation
from tinyburn.base.foreign import LeftOut

from .source import getter_of

DOCSTRINGS = Config(napoleon_use_param=False, napoleon_custom_sections=[("Attributes", "params_style")])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("object-description-transform", add_type)
    return {"parallel_read_safe": True}


def skip(app: Sphinx, what: str, name: str, found: Any, skipped: bool, options: Any) -> bool | None:
    """True for what is not shown, None to let Sphinx decide.

    Not shown are names of other libraries; the operations of a backend, which have a page of their own; and what a
    class does in another way than its base, where the base is public and says it.
    """
    is_loader = not isinstance(found, type) and "__getattr__" in vars(type(found))  # CuPy would be loaded for its name
    if is_loader or isinstance(found, LeftOut | Operation | ModuleType):
        return True
    if skipped or what != "class":
        return None
    is_operation = name in OPERATIONS and str(getattr(found, "__module__", "")).startswith("tinyburn.backend.")
    return True if is_operation or says_the_base(name, found) else None


def says_the_base(name: str, found: Any) -> bool:
    """Whether a public base of the class that a method or a property stands in has it too."""
    method = getter_of(found)
    owner, _, last = getattr(method, "__qualname__", "").rpartition(".")
    known = vars(sys.modules[method.__module__]).get(owner) if last == name else None
    bases = known.__mro__[1:] if isinstance(known, type) else ()
    return any(name in vars(base) for base in bases if base.__name__ in BASES_THAT_SAY_IT)


BASES_THAT_SAY_IT = [
    "Backend",
    "Decorator",
    "Config",
    "Dataset",
    "LrScheduler",
    "Metric",
    "Optimizer",
    "Sink",
    "TinyburnError",
]
PUBLIC_BASES = [*BASES_THAT_SAY_IT, "Module"]
"""Classes to derive from. What a class inherits from another one is shown with it."""


# Signatures


class Written(str):
    """A default as the code has it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature(
    app: Sphinx, what: str, name: str, found: Any, options: Any, shown: str | None, result: str
) -> tuple[str, str] | None:
    """Parameters and result, as they are written: ``Tensor[B, D1]``, where Sphinx would say ``Tensor[~B, Literal[1]]``.

    None lets Sphinx decide. Of overloaded functions the one that computes is shown, which takes whatever they all take.
    """
    if not shown:
        return None
    if not isinstance(found, type):
        arguments, _, returned = _written(found).rpartition(" -> ")
        return arguments, returned
    if is_made_by_a_config(found) or issubclass(found, Exception | Enum) or "Never" in _written(found):
        return "", ""
    return _written(found).removesuffix(" -> None"), ""


def _written(found: Any) -> str:
    known = inspect.signature(found)
    parameters = [parameter.replace(default=_default(found, parameter)) for parameter in known.parameters.values()]
    if parameters and parameters[0].name == "self":
        del parameters[0]
    return stringify_signature(known.replace(parameters=parameters), unqualified_typehints=True)


def _default(found: Any, parameter: inspect.Parameter) -> Any:
    """The default; of a field of a dataclass that makes a new one each time, the call that does it."""
    if type(parameter.default).__name__ != "_HAS_DEFAULT_FACTORY_CLASS":
        return parameter.default
    (field,) = [field for field in dataclasses.fields(found) if field.name == parameter.name]
    return Written(f"{getattr(field.default_factory, '__name__', 'made anew')}()")


def is_made_by_a_config(found: type) -> bool:
    """Whether users write ``LinearConfig(4, 2).init(device)``, and never the class itself."""
    return f"{found.__name__}Config" in vars(sys.modules[found.__module__])


def add_type(app: Sphinx, domain: str, kind: str, content: nodes.Element) -> None:
    """The type of a property, as it is written."""
    if kind != "property":
        return
    (shown,) = content.parent.findall(desc_signature)
    found = attrgetter(shown["fullname"])(sys.modules[shown["module"]])
    shown += desc_annotation("", f": {getter_of(found).__annotations__['return']}")


# Docstrings


def docstring(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """``Args:``, ``Attributes:`` and ``Raises:`` become lists."""
    lines[:] = GoogleDocstring(lines, DOCSTRINGS, app, what, name, found, options).lines()
