"""The wheel that `make wheel` builds, and the Pythons of this machine; `make wheelcheck` runs these tests."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE

OLDEST = (3, 11)
ASK = "import sys, ensurepip, venv; print(*sys.version_info[:2])"


@pytest.fixture(scope="session")
def wheel() -> Path:
    named = os.environ.get("ANYZERO_WHEEL")
    if not named:
        pytest.skip("NOT TESTED: the wheel, which takes minutes to build; make wheelcheck")
    return Path(named)


@functools.cache
def pythons() -> dict[str, Path]:
    """An interpreter of each version from 3.11 on: those on PATH, and those that pyenv has installed."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*os.environ["PATH"].split(":"), *map(str, sorted(root.glob("versions/*/bin")))]
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and path.name not in found and version(path) >= OLDEST:
                found[path.name] = path
    return found


def version(python: Path) -> tuple[int, ...]:
    """The version of a Python that can make virtual environments; (0,) for others, such as pyenv's placeholders."""
    try:
        told = subprocess.run([python, "-c", ASK], capture_output=True, text=True, timeout=PATIENCE)
    except OSError:
        return (0,)
    return tuple(map(int, told.stdout.split())) if told.returncode == 0 and shutil.which(python) else (0,)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "python" in metafunc.fixturenames:
        found = pythons() if os.environ.get("ANYZERO_WHEEL") else {"python": Path("python")}
        metafunc.parametrize("python", found.values(), ids=list(found), scope="module")
