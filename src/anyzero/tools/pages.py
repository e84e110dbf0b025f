"""`anyzero docs`: the pages of the documentation, which are part of the package."""

from __future__ import annotations

import difflib
import pydoc
import re
import sys
from pathlib import Path
from typing import Final

from anyzero import errors

__all__ = ["folder", "run", "topics"]

_PACKAGE: Final = Path(__file__).parents[1]
_COMMENT: Final = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
"""Comments are for editors and tests of a page."""


def folder() -> Path:
    """The folder of the pages: in the package, or in the checkout that it runs from."""
    inside = _PACKAGE / "docs"
    return inside if inside.is_dir() else _PACKAGE.parents[1] / "docs"


def topics() -> dict[str, str]:
    """The pages and their titles."""
    return {path.stem: _title(path) for path in sorted(folder().glob("*.md")) if path.stem != "index"}


def _title(path: Path) -> str:
    with path.open() as page:
        return next((line[2:].strip() for line in page if line.startswith("# ")), path.stem)


def run(topic: str | None) -> int:
    """List the pages, or print one of them, on a terminal in its pager."""
    found = topics()
    if topic is None:
        widest = max(map(len, found), default=0)
        for name, title in found.items():
            print(f"{name:{widest}}  {title}")
        return 0
    name = topic.removeprefix("docs/").removesuffix(".md")
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`anyzero docs` lists them."
        raise errors.InvalidArgument(f"there is no page {topic}", remedy=hint)
    text = _COMMENT.sub("", (folder() / f"{name}.md").read_text())
    if sys.stdout.isatty():
        pydoc.pager(text)
    else:
        print(text, end="")
    return 0
