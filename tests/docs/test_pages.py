"""The pages of the docs: every Python block runs, in order, and prints what the text block after it shows.

After a change that should change the pages, ``python tests/docs/test_pages.py`` writes the new output into them.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

from tinyburn import autodiff, data, nn, optim, record, train

PROJECT = Path(__file__).parents[2]
PAGES = sorted((PROJECT / "docs").glob("*.md"))
FENCED = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[\w./-]+)(?:#[\w-]*)?\)")
NAMED_FILE = re.compile(r"`(tests/[\w/]+\.py)[`:]")
NAMED_TEST = re.compile(r"[`:](test_\w+)`")


def refreshed(source: str) -> str:
    """The page with the output of its Python blocks as it is now. All blocks of a page share one namespace."""
    namespace: dict[str, object] = {"__name__": "page"}
    parts: list[str] = []
    written, printed = 0, ""
    for block in FENCED.finditer(source):
        answers = printed and block["language"] == "text"
        between = source[written : block.start()]
        if printed and not answers:
            between = f"\n\n{fence('text', printed)}{between}"
        parts += [between, fence("text", printed) if answers else block.group()]
        written, printed = block.end(), run(block["body"], namespace) if block["language"] == "python" else ""
    if printed:
        parts.append(f"\n\n{fence('text', printed)}")
    return "".join([*parts, source[written:]])


def fence(language: str, body: str) -> str:
    """A fenced block."""
    return f"```{language}\n{body}```"


def run(code: str, namespace: dict[str, object]) -> str:
    """What a block prints; spaces at the end of a line are dropped, as editors do."""
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(code, "page", "exec", dont_inherit=True), namespace)  # as a reader runs it
    return re.sub(r"[ \t]+$", "", output.getvalue(), flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_prints_what_the_page_shows(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    assert refreshed(source) == source


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_every_named_test_exists(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    links = LINK.finditer(FENCED.sub("", source))
    missing = [link["target"] for link in links if not (page.parent / link["target"]).exists()]
    missing += [name for name in NAMED_FILE.findall(source) if not (PROJECT / name).exists()]
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "tests").rglob("test_*.py")))
    missing += [name for name in NAMED_TEST.findall(source) if f"def {name}(" not in tests]
    assert not missing


PAGES_OF_PARTS = [
    *[("nn", nn), ("optim", optim), ("functions", autodiff)],
    *[("learner", data), ("learner", train), ("learner", record)],
]


@pytest.mark.parametrize(("page", "part"), PAGES_OF_PARTS)
def test_a_page_speaks_of_every_public_name(page: str, part: ModuleType) -> None:
    """Of a layer by the name of its config, if it has one."""
    source = (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    names = [name for name in part.__all__ if f"{name}Config" not in part.__all__]
    missing = {name for name in names if not re.search(rf"\b{name}\b", source)}
    assert not missing - SAID_ELSEWHERE


SAID_ELSEWHERE = {
    *("Optimizer", "LrScheduler", "LrSchedulerConfig"),
    *("BalancedCheckpointing", "NoCheckpointing", "checkpoint", "Gradients", "Node"),
}
"""The bases of what the pages speak of, and what other pages are about."""


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
