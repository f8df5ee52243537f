"""Formulas as MathML, which every browser draws by itself: MathJax would come from the network when a page is read."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(draw, None), block_renderers=(draw, None))
    return {"parallel_read_safe": True}


def draw(writer: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Writes one formula. What docutils cannot read is a warning, and so an error of the build."""
    try:
        writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        logging.getLogger(__name__).warning("no formula: %s", error, location=node)
    raise nodes.SkipNode
