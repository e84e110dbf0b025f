"""docs/compiler.md names every pass, by files that exist, and its tables are those of the lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anyzero.compiler.__main__ import END, main
from anyzero.compiler.lanes.passes import PASSES
from tests.shape.tree import PACKAGE, ROOT

PAGE = ROOT / "docs" / "compiler.md"
COMPILER = PACKAGE / "compiler"
FILE = re.compile(r"`((?:analysis|lanes|transform|lower|targets|builtins|translate|spirv)/\w+\.py)`")


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


def test_the_tables_are_fresh() -> None:
    assert main(["--check", str(PAGE)]) == 0, "run `make codegen`"


def test_an_edited_table_is_noticed_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "compiler.md"
    page.write_text(PAGE.read_text().replace(f"{END}", f"| an edit |\n{END}"))
    assert main(["--check", str(page)]) == 1
    assert capsys.readouterr().out == f"stale: {page}\n"
    assert main([str(page)]) == 0
    assert page.read_text() == PAGE.read_text()
    page.write_text("a page")
    with pytest.raises(ValueError, match="there are no lines"):
        main([str(page)])


def test_every_pass_has_a_name_of_its_own_and_says_why_it_is_where_it_is() -> None:
    assert len({each.name for each in PASSES}) == len(PASSES)
    assert all(each.does and each.because and each.files for each in PASSES)
    assert all((COMPILER / path).is_file() for each in PASSES for path in each.files)
    assert all(re.fullmatch(r"[a-z0-9-]+", each.name) for each in PASSES)
