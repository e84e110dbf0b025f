"""What the documentation shows runs, and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.pages import PAGES, blocks, failures, missing, sessions
from tests.examples.running import ROOT

WITH_CODE = [page for page in PAGES if sessions(page)]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path) -> None:
    if lacking := missing(page):
        pytest.skip(f"NOT TESTED: the code of {page.name}; pip install {lacking}")
    for session in sessions(page):
        report = failures(page, session)
        assert not report, report


def test_the_pages_with_a_tour_have_code() -> None:
    assert {page.name for page in WITH_CODE} >= {"README.md", "ten-minutes.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = CODE.sub("", page.read_text())
    missing = [link for link in LINK.findall(prose) if not (page.parent / link).exists()]
    assert missing == []


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert [name for name in sorted(pages) if f"({name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_name_what_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shell = "\n".join(block.text for block in blocks(page) if block.language in ("sh", "bash", "console"))
    assert set(re.findall(r"\bmake ([a-z]+)\b", shell)) <= targets
    assert [path for path in re.findall(r"\bexamples/[\w/]+\.\w+", shell) if not (ROOT / path).exists()] == []


SAMPLE = """
```python
x = 1
print(x, "of", 2)
```

```text
1 of ...
```

Then:

```python ANYZERO_DEVICES=cpu,cpu
import os
print(os.environ["ANYZERO_DEVICES"], "x" in dir())
```
```text
cpu,cpu False
```
"""


def test_blocks_run_and_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "sample.md"
    page.write_text(SAMPLE)
    first, second = sessions(page)
    assert failures(page, first) == ""
    assert failures(page, second) == ""
    page.write_text(SAMPLE.replace("1 of ...", "2 of ..."))
    assert "prints\n1 of 2" in failures(page, sessions(page)[0])
    page.write_text(SAMPLE.replace("x = 1", "x = 1 / 0"))
    assert "ZeroDivisionError" in failures(page, sessions(page)[0])
