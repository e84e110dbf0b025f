"""Right programs have no findings with all checks: a sample of the examples, all of them with THOROUGH.

What an example does wrong on purpose is all that is found in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, account, run
from tests.thorough import every

DELIBERATE = {
    "memory_kinds": {"command-out-of-bounds"},
    "residency_fault": {"missing-indirect-access"},
    "residency_fault.py": {"missing-indirect-access"},
}
C = sorted(path.stem for path in (EXAMPLES / "c").glob("*.cpp") if not path.stem.startswith("npu_"))
PYTHON = sorted(path.name for path in EXAMPLES.glob("*.py") if not path.stem.startswith("npu_"))


def found_in(command: list[str | Path], folder: Path) -> list[str]:
    result = run(command, {"ANYZERO_CHECK": "all", "ANYZERO_CHECK_REPORT": str(folder)})
    assert result.returncode == 0, account(result)
    return [json.loads(line)["rule"] for path in folder.iterdir() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", every(4, C))
def test_c(name: str, tmp_path: Path) -> None:
    assert set(found_in([EXAMPLES / "c" / "run", name], tmp_path)) == DELIBERATE.get(name, set())


@pytest.mark.parametrize("name", every(8, PYTHON))
def test_python(name: str, tmp_path: Path) -> None:
    assert set(found_in([sys.executable, EXAMPLES / name], tmp_path)) == DELIBERATE.get(name, set())
