"""The larger examples run, check their own results, and write the pictures that they promise."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.examples.blocks import Block
from tests.examples.pages import python_failures
from tests.examples.running import EXAMPLES, account, run

FOLDER = EXAMPLES / "applications"
PROGRAMS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_application_runs_and_checks_its_result(program: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    given = [picture] if "[PICTURE.png]" in program.read_text() else []
    result = run([sys.executable, "-W", "error", program, *given])
    assert result.returncode == 0, account(result)
    if result.stdout.startswith("skipped: "):
        pytest.skip(f"NOT TESTED: {result.stdout}")
    assert re.search(r"^ok: .+", result.stdout, re.MULTILINE), account(result)
    assert [path.read_bytes()[:4] for path in given] == [b"\x89PNG"] * len(given)


def cells(notebook: Path) -> list[Block]:
    """The code of a notebook, with what it printed when it was written; a picture is not compared."""
    found, line = [], 0
    for cell in json.loads(notebook.read_text())["cells"]:
        text = "".join(cell["source"]) + "\n"
        if cell["cell_type"] == "code":
            printed = ["".join(each["text"]) for each in cell["outputs"] if each["output_type"] == "stream"]
            found.append(Block(line, "python", text, expected=printed[0] if printed else None))
        line += text.count("\n")
    return found


def test_the_cells_of_the_notebook_run_and_print_what_it_says(tmp_path: Path) -> None:
    notebook = FOLDER / "first_kernel.ipynb"
    assert len(cells(notebook)) > 4
    assert sum(block.expected is not None for block in cells(notebook)) > 3
    assert python_failures(notebook, cells(notebook), sys.executable, tmp_path) == []


def test_the_notebook_has_the_form_that_jupyter_reads() -> None:
    content = json.loads((FOLDER / "first_kernel.ipynb").read_text())
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in content["cells"]]
    assert len(set(names)) == len(names)
    for cell in content["cells"]:
        expected = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == expected | ({"execution_count", "outputs"} if cell["cell_type"] == "code" else set())


def test_the_page_of_the_examples_names_every_application() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert [
        path.name for path in FOLDER.iterdir() if path.is_file() and f"(applications/{path.name})" not in page
    ] == []
