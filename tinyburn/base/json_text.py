"""Reading JSON, of which nobody knows who wrote it.

Python's reader goes down into each list with a call inside a call. How deep it comes differs by version; in a browser a
text that is too deep ends the whole kernel, and no error can be caught. So the depth is found out before.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 500
"""Lists and objects inside each other. What people write has some ten; Python's own reader stops at about 1000."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{\]}]', re.DOTALL)


def parsed(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, which says where, if it is none, or is nested too deep."""
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise ValueError(f"lists and objects are inside each other more than {DEEPEST} deep")
    return json.loads(text)


def _depth(text: str) -> int:
    """How many lists and objects are open at once, at most; brackets inside strings are none."""
    depth = deepest = 0
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest
