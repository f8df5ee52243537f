"""Where Python runs, as far as a message depends on it.

In a browser (Pyodide, JupyterLite) there are no processes, no threads and no drivers of GPUs; addresses have 32 bits;
and packages come in another way. What differs asks here, so that no advice is given that cannot be followed.
"""

from __future__ import annotations

import sys


def in_browser() -> bool:
    """Whether Python was built for a browser."""
    return sys.platform == "emscripten"


def how_to_install(package: str, extra: str | None = None) -> str:
    """The line that installs a package that only some programs need.

    Args:
        package: its name.
        extra: tinyburn's own list that has it, such as ``"wgpu"`` of ``tinyburn[wgpu]``.
    """
    if in_browser():
        return f"write %pip install {package} in a cell of its own; a browser can have some packages, and not all"
    return f"pip install {package}" if extra is None else f'pip install "tinyburn[{extra}]"'
