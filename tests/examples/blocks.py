"""The fenced blocks of a documentation page, and the comments that say how each is tested.

A comment on the line above a block, which readers of the page do not see, is one of these:

    <!-- not run: REASON -->       the block cannot run in tests
    <!-- run by FILE -->           another test runs it; that file has to name the page
    <!-- needs MODULE -->          runs where Python has that module
    <!-- setup: COMMANDS -->       shell commands that run before the block
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.examples.running import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")])

PYTHON = frozenset({"python", "py"})
SHELL = frozenset({"sh", "console"})
FILES = frozenset({"c", "cpp", "cmake"})
"""Languages that are compiled: such a block has a title, the name of the file that commands of the page use."""
SHOWN = frozenset({"text", "yaml", "dockerfile"})
"""Languages of blocks that are not run here. The recipes of docs/ci.md have tests of their own."""

_BLOCK = re.compile(
    r"^(?:<!-- (?P<marker>[^\n]*) -->\n)?```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_MARKER = re.compile(r"(?:(not run|setup): |(run by|needs) )(.+)")


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    text: str
    title: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    marker: tuple[str, str] = ("", "")
    expected: str | None = None

    @property
    def runs(self) -> bool:
        """Whether the tests of pages run it; otherwise its marker says why they do not."""
        return self.marker[0] not in ("not run", "run by")

    @property
    def setup(self) -> str:
        return self.marker[1] if self.marker[0] == "setup" else ""

    @property
    def needs(self) -> str:
        return self.marker[1] if self.marker[0] == "needs" else ""


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page. A `text` block right behind a block of code is what that code prints."""
    source = page.read_text()
    found: list[Block] = []
    end = -1
    for match in _BLOCK.finditer(source):
        language, *words = shlex.split(match["info"]) or [""]
        if language == "text" and found and source[end : match.start()].strip() == "":
            found[-1] = replace(found[-1], expected=match["text"])
        else:
            options = dict(word.split("=", 1) for word in words)
            title = options.pop("title", "")
            line = source.count("\n", 0, match.start("info")) + 1
            found.append(Block(line, language, match["text"], title, options, _marker(match["marker"] or "")))
        end = match.end()
    return found


def _marker(comment: str) -> tuple[str, str]:
    match = _MARKER.fullmatch(comment)
    return (match[1] or match[2], match[3]) if match else ("", "")


def problems(page: Path) -> list[str]:
    """Blocks that no test runs."""
    wrong = []
    found = blocks(page)
    shell = "\n".join(block.setup + block.text for block in found if block.language in SHELL)
    for block in found:
        where = f"{page.name}:{block.line}"
        if block.language not in PYTHON | SHELL | FILES | SHOWN:
            wrong.append(f"{where} has the language {block.language!r}; a drawing is `text`, commands are `sh`")
        # cmake finds its file by itself.
        used = {"CMakeLists.txt": "cmake "}.get(block.title, block.title)
        if block.language in FILES and block.runs and (not used or used not in shell):
            wrong.append(f"{where} needs a title, the name of a file that commands of this page use")
        kind, value = block.marker
        if kind == "run by" and not ((ROOT / value).is_file() and page.name in (ROOT / value).read_text()):
            wrong.append(f"{where} is to be run by {value}, which does not name {page.name}")
    return wrong
