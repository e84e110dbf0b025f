"""Links between the pages lead to files and headings that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.shape.tree import ROOT, files

LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """The names that a page's headings can be linked by."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken(path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for link in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        headed = target.suffix != ".md" or not anchor or (target.is_file() and anchor in anchors(target.resolve()))
        if not target.exists() or not headed:
            wrong.append(f"{path.name}: {link}")
    return wrong


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / name for name in files() if name.endswith(".md")]
    assert pages
    assert [each for page in pages for each in broken(page)] == []


def test_broken_links_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`: [c](d.md)\n[x](page.md#a-b-c) [y](page.md#a) [z](none.md) [w](https://host/x)")
    assert broken(page) == ["page.md: d.md", "page.md: page.md#a", "page.md: none.md"]
