"""Pages of the documentation: printed by a command, and named by it wherever a message speaks of one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anyzero as az
from anyzero import config, installed
from anyzero.tools import pages
from anyzero.tools.cli import main

ROOT = Path(__file__).resolve().parents[3]
CITED = re.compile(r"anyzero docs ([a-z-]+)")


def test_pages_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    assert re.search(r"^environment +Environment variables$", capsys.readouterr().out, re.MULTILINE)
    assert main(["docs", "environment"]) == 0
    comment, page = (ROOT / "docs" / "environment.md").read_text().split("\n", 1)
    assert comment.startswith("<!-- ")
    assert capsys.readouterr().out == page
    assert main(["docs", "docs/environment.md"]) == 0
    capsys.readouterr()
    assert main(["docs", "enviroment"]) == 1
    assert "Did you mean environment?" in capsys.readouterr().err


def test_comments_for_the_tests_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "<!-- " in (ROOT / "docs" / "tracing.md").read_text()
    assert main(["docs", "tracing"]) == 0
    assert "<!-- " not in capsys.readouterr().out


def test_messages_cite_pages_that_are_there() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "engine").rglob("*.h"), *(ROOT / "engine").rglob("*.cpp")]
    cited = {name for path in sources for name in CITED.findall(path.read_text())}
    assert {"coverage", "spirv", "environment", "npu"} <= cited <= pages.topics().keys()


def test_no_error_cites_a_file_that_packages_lack() -> None:
    kinds = [getattr(az, name) for name in dir(az)]
    remedies = {kind.remedy for kind in kinds if isinstance(kind, type) and issubclass(kind, az.Error)}
    assert [text for text in remedies if ".md" in text] == []


def test_pages_are_installed_with_the_package() -> None:
    assert re.search(r"install\(DIRECTORY docs/ DESTINATION docs", (ROOT / "CMakeLists.txt").read_text())


def test_a_checkout_installs_its_own_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed.install("npu") == f"pip install '.[npu]' in {ROOT}"
    monkeypatch.setattr(installed, "__file__", str(tmp_path / "site-packages" / "anyzero" / "installed.py"))
    assert installed.install("npu") == "pip install 'anyzero[npu]'"


def test_only_public_names_are_listed() -> None:
    assert not {"re", "cache", "Path", "import_module", "TYPE_CHECKING", "Any", "annotations"} & set(dir(az))


def test_the_option_for_lanes_takes_what_the_variable_takes(capsys: pytest.CaptureFixture[str]) -> None:
    spv = str(ROOT / "src" / "anyzero" / "tools" / "saxpy.spv")
    for lanes in config.LANES:
        assert main(["spirv", "info", spv, "--lanes", lanes]) == 0
        config.read({"ANYZERO_LANES": lanes})
    with pytest.raises(SystemExit):
        main(["spirv", "info", spv, "--lanes", "64"])
    assert "'auto', '1', '4'" in capsys.readouterr().err


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_rows_of_a_table_have_the_columns_of_its_head(page: Path) -> None:
    in_code, columns, wrong = False, 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        in_code ^= line.startswith("```")
        plain = re.sub(r"`[^`]*`", "", line).replace("\\|", "")
        found = plain.count("|") if line.startswith("|") and not in_code else 0
        if found and columns and found != columns:
            wrong.append(f"{page.name}:{number}")
        columns = found
    assert wrong == []
