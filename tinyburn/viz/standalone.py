"""A picture as a page of its own: one file that any browser opens, with no network and no script."""

from __future__ import annotations

from html import escape

from .svg import DARK, LIGHT


def _rules(colours: dict[str, str]) -> str:
    return f"body{{background:{colours['paper']};color:{colours['ink']}}}"


_STYLE = (
    "body{margin:16px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "font-size:13px}figure{margin:0 0 16px}pre{margin:0;font:inherit;overflow-x:auto}"
    f"{_rules(LIGHT)}@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
)


def standalone(title: str, text: str, html: str) -> str:
    """The page: the drawing with its tips, and the same as a table. It follows the reader's light or dark theme."""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<figure>\n{html}\n</figure>",
        f"<pre>{escape(text)}</pre>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"
