"""The pages of the site: those of docs/, those from elsewhere, and the navigation, which is docs/index.md itself."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from website.reference import reference_pages

ROOT = Path(__file__).resolve().parents[1]
SOURCES = os.environ.get("SOURCE_URL", "").rstrip("/")
"""Where files of the source are to be seen, such as https://host/owner/anyzero/blob/main; without it they are named."""

MOVED = {
    "../examples/README.md": "examples.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
}
"""Pages that are not in docs/, by the links that docs/ has to them."""
LINK = re.compile(r"\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
INFO = re.compile(r"^```(\w+) (?!title=)(\w+=.+)$", re.MULTILINE)


def sections(index: str) -> list[dict[str, list[Any]]]:
    """Each heading with the pages that the rows of its table begin with."""
    found: list[dict[str, list[Any]]] = []
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        rows = re.findall(r"^\| \[([^\]]+)\]\(([^)#\s]+)\) \|", body, re.MULTILINE)
        pages: list[Any] = [{name: MOVED.get(target, target)} for name, target in rows]
        if heading == "Examples":
            pages += [{path.stem.replace("_", " "): f"examples/{path.stem}.md"} for path in applications()]
        if heading == "Reference":
            pages.append({"From docstrings": [{title: name} for name, (title, _) in reference_pages().items()]})
        found.append({heading: pages})
    return found


def applications() -> list[Path]:
    return sorted((ROOT / "examples" / "applications").glob("*.py"))


def elsewhere() -> dict[str, str]:
    """The pages that are not in docs/, by their names in the site."""
    moved = {(ROOT / "docs" / source).resolve(): name for source, name in MOVED.items()}
    return {
        **{name: relinked(path.read_text(), path.parent, name) for path, name in moved.items()},
        **{f"examples/{path.stem}.md": shown(path) for path in applications()},
        **{name: text for name, (_, text) in reference_pages().items()},
    }


def shown(path: Path) -> str:
    """A page with a program: its docstring, then the code."""
    words, code = re.fullmatch(r'"""(.*?)"""\n+(.*)', path.read_text(), re.DOTALL).groups()  # type: ignore[union-attr]
    where = path.relative_to(ROOT)
    return f'# {path.stem.replace("_", " ").capitalize()}\n\n{words.strip()}\n\n```python title="{where}"\n{code}```\n'


def adapted(markdown: str, name: str) -> str:
    """A page of docs/ for mkdocs: its links, and the variables that a block of code is run with as its title."""
    return INFO.sub(r'```\1 title="\2"', relinked(markdown, ROOT / "docs", name))


def relinked(markdown: str, folder: Path, name: str) -> str:
    """Links of a page in `folder` for the page `name` of the site: to pages of the site, or to files of the source."""

    def link(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return match[0]
        real = (folder / path).resolve()
        to = page_of(real)
        if to is not None:
            relative = posixpath.relpath(to, posixpath.dirname(name) or ".")
            return f"[{text}]({relative}{'#' + anchor if anchor else ''})"
        inside = real.relative_to(ROOT).as_posix()
        # A file of the source has no page: it is named, and linked where the sources are published.
        return f"[{text}]({SOURCES}/{inside})" if SOURCES else text

    parts = CODE.split(markdown)
    return "".join(part if number % 2 else LINK.sub(link, part) for number, part in enumerate(parts))


def page_of(path: Path) -> str | None:
    """The page of the site for a file, if it has one."""
    for source, name in MOVED.items():
        if path == (ROOT / "docs" / source).resolve():
            return name
    if path in applications():
        return f"examples/{path.stem}.md"
    docs = ROOT / "docs"
    return path.relative_to(docs).as_posix() if path.is_relative_to(docs) else None
