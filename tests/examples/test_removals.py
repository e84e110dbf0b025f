"""An example fails without the thing that it shows: the wait, the barrier, the import, the reset."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.examples.removals import CPP, PYTHON, Removal
from tests.examples.running import EXAMPLES, ROOT, account, run
from tests.thorough import every

ATTEMPTS = 5
"""Without a wait a program may still come late enough by chance."""


def without(removal: Removal, folder: Path) -> Path:
    """The example with the piece taken away, where it finds its kernels."""
    changed = folder / removal.example
    changed.parent.mkdir(exist_ok=True)
    changed.write_text(removal.applied((EXAMPLES / removal.example).read_text()))
    (folder / "kernels").symlink_to(EXAMPLES / "kernels")
    return changed


@pytest.mark.parametrize("removal", every(12, PYTHON), ids=str)
def test_python(removal: Removal, tmp_path: Path) -> None:
    changed = without(removal, tmp_path)
    for _ in range(ATTEMPTS):
        result = run([sys.executable, "-W", "error", changed], removal.variables)
        if result.returncode != 0:
            break
    if result.stdout.startswith("skipped: "):
        pytest.skip(result.stdout)
    assert result.returncode != 0, account(result)
    # By its own words, and not because the change is none.
    assert re.search(r"^(?:AssertionError|anyzero\.errors\.)", result.stderr, re.MULTILINE), account(result)


@pytest.mark.parametrize("removal", every(26, CPP), ids=str)
def test_cpp(removal: Removal, tmp_path: Path) -> None:
    changed, program = without(removal, tmp_path), tmp_path / "program"
    library = ROOT / "src" / "anyzero" / "lib"
    includes = ["-I", EXAMPLES / "c", "-I", ROOT / "engine" / "abi" / "gen"]
    libraries = ["-L", library, "-lze_loader", f"-Wl,-rpath,{library}"]
    built = run(["g++", "-std=c++20", "-pthread", *includes, changed, *libraries, "-o", program])
    assert built.returncode == 0, account(built)
    devices = re.search(r"^// needs: ANYZERO_DEVICES=(.+)$", changed.read_text(), re.MULTILINE)
    variables = {"ANYZERO_DEVICES": devices[1] if devices else "cpu", "ANYZERO_PYTHON": sys.executable}
    for _ in range(ATTEMPTS):
        result = run([program], variables | removal.variables)
        if result.returncode != 0:
            break
    if result.stdout.startswith("skipped: "):
        pytest.skip(result.stdout)
    assert result.returncode != 0, account(result)
    assert "FAILED: " in result.stdout or " returned 0x" in result.stderr, account(result)


def test_every_piece_is_there() -> None:
    for removal in [*PYTHON, *CPP]:
        source = (EXAMPLES / removal.example).read_text()
        assert removal.applied(source) != source or removal.variables, removal


def test_every_example_has_one() -> None:
    present = {*(path.name for path in EXAMPLES.glob("*.py")), *(f"c/{path.name}" for path in EXAMPLES.glob("c/*.cpp"))}
    assert present - {removal.example for removal in [*PYTHON, *CPP]} == set()
