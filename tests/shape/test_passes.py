"""docs/compiler.md names every pass, by files that exist."""

from __future__ import annotations

import re

from tests.shape.tree import PACKAGE, ROOT

PAGE = ROOT / "docs" / "compiler.md"
COMPILER = PACKAGE / "compiler"
FILE = re.compile(r"`((?:analysis|transform|lower|targets|builtins|translate|spirv)/\w+\.py)`")


def named(page: str) -> set[str]:
    return set(FILE.findall(page))


def steps(page: str) -> str:
    return page.partition("## The steps\n")[2].partition("\n## ")[0]


def test_every_pass_is_in_the_tables() -> None:
    passes = {
        f"{folder}/{path.name}"
        for folder in ("analysis", "transform")
        for path in (COMPILER / folder).glob("*.py")
        if path.name != "__init__.py"
    }
    assert passes
    assert passes - named(steps(PAGE.read_text())) == set()


def test_every_file_that_the_page_names_exists() -> None:
    assert {name for name in named(PAGE.read_text()) if not (COMPILER / name).is_file()} == set()


def test_files_are_found_in_a_page() -> None:
    page = "## The steps\n| a | `transform/a.py`, `analysis/b.py` |\n## Shapes\n`lower/c.py`"
    assert named(steps(page)) == {"transform/a.py", "analysis/b.py"}
    assert named(page) == {"transform/a.py", "analysis/b.py", "lower/c.py"}
