"""The site has every page once, a reference of every public name, and links that lead to its own pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import anyzero as az
from website import dashboard, pages, pictures, reference, screenshots

ROOT = Path(__file__).resolve().parents[2]
INDEX = (ROOT / "docs" / "index.md").read_text()


def leaves(entries: list[dict[str, object]]) -> list[str]:
    """The pages of a navigation."""
    found: list[str] = []
    for entry in entries:
        for target in entry.values():
            found += [target] if isinstance(target, str) else leaves(target)  # type: ignore[arg-type]
    return found


def test_the_navigation_has_every_page_once() -> None:
    named = leaves(pages.sections(INDEX))
    present = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert sorted(named) == sorted(present | pages.elsewhere().keys())


def test_tutorials_howto_concepts_reference_and_internals_are_apart() -> None:
    names = [next(iter(section)) for section in pages.sections(INDEX)]
    assert names == ["Tutorials", "Examples", "How-to", "Concepts", "Reference", "Internals"]


def test_every_public_class_and_function_is_in_the_reference() -> None:
    text = "".join(text for _, text in reference.reference_pages().values())
    headings = set(re.findall(r"^## (\w+)$", text, re.MULTILINE))
    kinds = [name for name in dir(az) if isinstance(getattr(az, name), type) and not name.startswith("__")]
    assert [
        name for name in kinds if name not in headings and getattr(az, name).__module__.startswith("anyzero.api")
    ] == []
    # Of a base class, too: lists have their commands from one.
    commands = reference.reference_pages()["reference/commands.md"][1]
    assert "### `copy()`" in commands.partition("## CommandList")[2].partition("\n## ")[0]
    assert "```pycon\n>>> " in commands


def test_links_lead_to_pages_of_the_site_or_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a](../examples/README.md#x) [b](../engine/exec/pool.cpp) [c](api.md) [d](https://host/x) `[e](f.md)`"
    assert pages.relinked(text, ROOT / "docs", "x.md") == (
        "[a](examples.md#x) b [c](api.md) [d](https://host/x) `[e](f.md)`"
    )
    monkeypatch.setattr(pages, "SOURCES", "https://host/source")
    assert "[b](https://host/source/engine/exec/pool.cpp)" in pages.relinked(text, ROOT / "docs", "x.md")
    nested = pages.relinked("[n](applications/nbody.py) [d](../docs/api.md)", ROOT / "examples", "examples.md")
    assert nested == "[n](examples/nbody.md) [d](api.md)"


def test_variables_of_a_block_become_its_title() -> None:
    assert pages.adapted("```python A=b,c\nx\n```\n", "x.md") == '```python title="A=b,c"\nx\n```\n'


def test_without_a_browser_screenshots_are_skipped_loudly() -> None:
    command = [sys.executable, "-m", "website.screenshots"]
    result = subprocess.run(command, cwd=ROOT, env={"CHROMIUM": "no-such-browser"}, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.startswith("SKIPPED: no screenshots")


def test_without_a_browser_pictures_are_skipped_loudly() -> None:
    command = [sys.executable, "-m", "website.pictures"]
    result = subprocess.run(command, cwd=ROOT, env={"CHROMIUM": "no-such-browser"}, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.startswith("SKIPPED: no pictures")


def test_pages_have_the_pictures_that_were_made(tmp_path: Path) -> None:
    named = [name for path in (ROOT / "docs").glob("*.md") for name, _ in pictures.MARK.findall(path.read_text())]
    assert sorted(named) == sorted([*pictures.PICTURES, dashboard.PICTURE.stem])
    page = "a\n<!-- picture: timeline: What it shows -->\nb\n"
    assert pictures.placed(page, tmp_path) == page
    (tmp_path / "timeline.png").touch()
    assert pictures.placed(page, tmp_path) == "a\n![What it shows](pictures/timeline.png)\nb\n"


def test_screenshots_are_of_pages_that_exist() -> None:
    present = {name.removesuffix(".md") for name in leaves(pages.sections(INDEX))} | {"index"}
    assert set(screenshots.PAGES) <= present
