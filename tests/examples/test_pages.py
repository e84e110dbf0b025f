"""What the documentation shows runs, and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.blocks import PAGES, blocks, problems
from tests.examples.pages import failures, has_code, not_tested
from tests.examples.running import ROOT

WITH_CODE = [page for page in PAGES if has_code(page)]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path) -> None:
    for line in not_tested(page):
        print(f"NOT TESTED: {line}")
    wrong = failures(page)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs_or_says_why_it_does_not(page: Path) -> None:
    assert problems(page) == []


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
    assert failures(page) == []
    page.write_text(SAMPLE.replace("1 of ...", "2 of ..."))
    assert "prints\n1 of 2" in failures(page)[0]
    page.write_text(SAMPLE.replace("x = 1", "x = 1 / 0"))
    assert "ZeroDivisionError" in failures(page)[0]


COMMANDS = """
```c title="zero.c"
int main(void) { return 0; }
```

<!-- setup: echo 3 > numbers -->
```sh
cat zero.c numbers
```
```text
int main...
3
```

```console
$ echo "time   4 ms"
time   5 ms
```

<!-- not run: needs a moon -->
```sh
exit 1
```
"""


def test_commands_run_and_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "sample.md"
    page.write_text(COMMANDS)
    assert failures(page) == []
    assert problems(page) == []
    page.write_text(COMMANDS.replace("<!-- not run: needs a moon -->\n", ""))
    assert "exit status 1" in failures(page)[0]
    page.write_text(COMMANDS.replace("\n3\n", "\n4\n"))
    assert "but the page says" in failures(page)[0]
    page.write_text(COMMANDS.replace("time   5 ms", "speed   5 ms"))
    assert "without lines like\nspeed" in failures(page)[0]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (' title="zero.c"', "", "needs a title"),
        ("```sh\ncat", "```fish\ncat", "has the language 'fish'"),
        ("not run: needs a moon", "run by tests/examples/running.py", "does not name other.md"),
    ],
)
def test_a_block_that_nothing_runs_is_a_problem(tmp_path: Path, before: str, after: str, problem: str) -> None:
    page = tmp_path / "other.md"
    page.write_text(COMMANDS.replace(before, after))
    assert problem in "".join(problems(page))
