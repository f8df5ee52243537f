"""The pages of the docs: every Python block runs, in order, and prints and draws what the page shows after it.

After a change that should change the pages, ``python tests/docs/test_pages.py`` writes the new output and the new
pictures. A picture is the value of a block's last line; an image after the block shows it.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from tinyburn import autodiff, data, nn, optim, record, train, viz
from tinyburn.viz import Picture

PROJECT = Path(__file__).parents[2]
PAGES = sorted((PROJECT / "docs").glob("*.md"))
README = PROJECT / "README.md"
IMAGES = PROJECT / "docs" / "images"
FENCED = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"\A\n\n!\[(?P<alt>(?:\\.|[^\]\\])*)\]\((?P<target>[\w./-]+\.svg)\)")
LINK = re.compile(r"\]\((?P<target>[\w./-]+)(?:#[\w-]*)?\)")
NAMED_FILE = re.compile(r"`(tests/[\w/]+\.py)[`:]")
NAMED_TEST = re.compile(r"[`:](test_\w+)`")


class Refreshed(NamedTuple):
    """A page as it is now.

    Attributes:
        text: with the output of its Python blocks, which share one namespace, and the titles of its pictures.
        pictures: what each of its images draws, by the address that it has there.
    """

    text: str
    pictures: dict[str, str]


def refreshed(source: str) -> Refreshed:
    """Runs the blocks of a page."""
    namespace: dict[str, object] = {"__name__": "page"}
    parts: list[str] = []
    pictures: dict[str, str] = {}
    written, printed, picture = 0, "", None
    for block in FENCED.finditer(source):
        answers = printed and block["language"] == "text"
        between = source[written : block.start()]
        if picture is not None:
            between = shown(picture, between, pictures)
        if printed and not answers:
            between = f"\n\n{fence('text', printed)}{between}"
        parts += [between, fence("text", printed) if answers else block.group()]
        is_program = block["language"] == "python"
        written, (printed, picture) = block.end(), run(block["body"], namespace) if is_program else ("", None)
    rest = source[written:] if picture is None else shown(picture, source[written:], pictures)
    if printed:
        parts.append(f"\n\n{fence('text', printed)}")
    return Refreshed("".join([*parts, rest]), pictures)


def shown(picture: Picture, text: str, pictures: dict[str, str]) -> str:
    """The text after a block, where an image in the first place gets the picture's title, and is entered."""
    image = IMAGE.match(text)
    if image is None:
        return text
    pictures[image["target"]] = picture.svg
    title = re.sub(r"([\[\]\\*`])", r"\\\1", picture.title)
    return f"\n\n![{title}]({image['target']}){text[image.end() :]}"


def fence(language: str, body: str) -> str:
    """A fenced block."""
    return f"```{language}\n{body}```"


def run(code: str, namespace: dict[str, object]) -> tuple[str, Picture | None]:
    """What a block prints, and the picture that is its last value; spaces at the end of a line go, as in editors."""
    output, value = io.StringIO(), None
    *lines, last = ast.parse(code).body
    lines, last = ([*lines, last], None) if not isinstance(last, ast.Expr) else (lines, last)
    with redirect_stdout(output):
        exec(compile(ast.Module(lines, []), "page", "exec", dont_inherit=True), namespace)  # as a reader runs it
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "page", "eval", dont_inherit=True), namespace)
    printed = re.sub(r"[ \t]+$", "", output.getvalue(), flags=re.MULTILINE)
    return printed, value if isinstance(value, Picture) else None


def check_pictures(page: Path, pictures: dict[str, str]) -> None:
    """Each image is what is drawn now."""
    for target, svg in pictures.items():
        assert (page.parent / target).read_text(encoding="utf-8") == svg


def write(page: Path, now: Refreshed) -> None:
    """The page and its images as they are now."""
    page.write_text(now.text, encoding="utf-8", newline="\n")
    for target, svg in now.pictures.items():
        (page.parent / target).write_text(svg, encoding="utf-8", newline="\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_prints_and_draws_what_the_page_shows(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    now = refreshed(source)
    assert now.text == source
    check_pictures(page, now.pictures)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_every_named_test_exists(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    links = LINK.finditer(FENCED.sub("", source))
    missing = [link["target"] for link in links if not (page.parent / link["target"]).exists()]
    missing += [name for name in NAMED_FILE.findall(source) if not (PROJECT / name).exists()]
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "tests").rglob("test_*.py")))
    missing += [name for name in NAMED_TEST.findall(source) if f"def {name}(" not in tests]
    assert not missing


def refreshed_readme() -> Refreshed:
    """The README with the picture of its first example; `tests/test_packaging.py` looks at what that prints."""
    source = README.read_text(encoding="utf-8")
    example = next(block for block in FENCED.finditer(source) if block["language"] == "python")
    pictures: dict[str, str] = {}
    _, picture = run(example["body"], {"__name__": "page"})
    assert picture, "the last line of the example draws"
    return Refreshed(source[: example.end()] + shown(picture, source[example.end() :], pictures), pictures)


def test_the_readme_shows_what_its_example_draws() -> None:
    now = refreshed_readme()
    assert now.pictures, "the picture comes right after the example"
    assert now.text == README.read_text(encoding="utf-8")
    check_pictures(README, now.pictures)


def test_every_image_is_drawn_by_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in [README, *PAGES])
    assert [image.name for image in IMAGES.iterdir() if f"images/{image.name})" not in pages] == []


def test_the_gallery_has_every_picture() -> None:
    """A picture is what `viz` offers that returns one. Each program stands by itself, and is short."""
    functions = {name: found for name in viz.__all__ if inspect.isfunction(found := getattr(viz, name))}
    pictures = {name for name, function in functions.items() if returns_picture(function)}
    source = (PROJECT / "docs" / "gallery.md").read_text(encoding="utf-8")
    programs = [block["body"] for block in FENCED.finditer(source)]
    assert {re.search(r"^viz\.(\w+)\(.*\Z", program, re.MULTILINE | re.DOTALL)[1] for program in programs} == pictures
    assert len(IMAGE_LINE.findall(source)) == len(programs)
    assert all(program.startswith(("from ", "import ")) and program.count("\n") <= 20 for program in programs)


def returns_picture(function: Callable[..., object]) -> bool:
    returned = inspect.signature(function, eval_str=True).return_annotation
    return isinstance(returned, type) and issubclass(returned, Picture)


IMAGE_LINE = re.compile(r"^!\[.*\]\(images/", re.MULTILINE)


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
        write(page, refreshed(page.read_text(encoding="utf-8")))
    write(README, refreshed_readme())
