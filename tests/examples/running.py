"""How the tests run a program of the documentation: on its own, in a clean environment, keeping all it said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def environment(**extra: str) -> dict[str, str]:
    """The environment without what a developer may have set to shape devices."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    return kept | {"PYTHON": sys.executable} | extra


def run(
    command: Sequence[str | Path], extra: Mapping[str, str] | None = None, given: str = "", folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment(**(extra or {})),
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def account(result: subprocess.CompletedProcess[str]) -> str:
    """What a failed run leaves for the reader of the test report."""
    return f"exit status {result.returncode}\n--- stdout\n{result.stdout}\n--- stderr\n{result.stderr}"
