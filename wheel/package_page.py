"""What package indexes show of the project: the README without links into the repository, and the project's addresses.

An index shows the README at another address than the repository's, so relative links break there. With PROJECT_URL, as
in https://host/owner/anyzero, they lead to the repository, and the project has addresses. Without it, a page of docs/
is named by the command that prints it, because the pages are part of the package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[((?:[^\]\[]|`[^`]*`)*)\]\((?!https?:|#)([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)


def dynamic_metadata(field: str, settings: Mapping[str, Any] | None = None, *_: Any) -> Any:
    """Called by the build backend for the fields of pyproject.toml that name this file."""
    url = os.environ.get("PROJECT_URL", "").rstrip("/")
    if field == "readme":
        text = page((ROOT / "README.md").read_text(encoding="utf-8"), url)
        return {"content-type": "text/markdown", "text": text}
    return {"Repository": url, "Documentation": f"{url}/blob/main/docs/index.md"} if url else {}


def page(readme: str, url: str) -> str:
    """The README with links that work anywhere."""

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if url:
            return f"{picture}[{text}]({url}/{'raw' if picture else 'blob'}/main/{target})"
        if picture:
            return ""
        inside = re.fullmatch(r"docs/(?!index)([a-z-]+)\.md(?:#.*)?", target)
        if inside and text == target:
            return f"`anyzero docs {inside[1]}`"
        return f"{text} (`anyzero docs {inside[1]}`)" if inside else text

    parts = CODE.split(COMMENT.sub("", readme))
    return "".join(part if number % 2 else LINK.sub(link, part) for number, part in enumerate(parts))
