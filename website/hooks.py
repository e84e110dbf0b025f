"""What mkdocs calls while it builds the site; `website.pages` has the pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs loads this file by its path

from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

from website import dashboard, pages  # noqa: E402

FOREIGN = re.compile(
    r'<(?:script|img|iframe)[^>]* src="https?:[^"]*"|<link[^>]* rel="?stylesheet"?[^>]* href="https?:[^"]*"'
)


def on_config(config: Any) -> Any:
    """Navigation: the sections and pages of docs/index.md."""
    config.nav = [{"Home": "index.md"}, *pages.sections((ROOT / "docs" / "index.md").read_text())]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/."""
    for name, text in pages.elsewhere().items():
        files.append(File.generated(config, name, content=text))
    css = (ROOT / "website" / "site.css").read_text()
    files.append(File.generated(config, "assets/site.css", content=css))
    if dashboard.PICTURE.is_file():
        files.append(File.generated(config, dashboard.PICTURE.name, content=dashboard.PICTURE.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Pages of docs/ in the form that mkdocs reads."""
    name = page.file.src_uri
    if dashboard.PICTURE.is_file():
        markdown = markdown.replace(dashboard.MARK, dashboard.SHOWN)
    return pages.adapted(markdown, name) if (ROOT / "docs" / name).is_file() else markdown


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuses a page that loads something from another server."""
    foreign = FOREIGN.search(output)
    if foreign:
        raise PluginError(f"{page.file.src_uri} loads {foreign[0]}")
    return output
