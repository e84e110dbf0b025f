"""Right programs have no findings with all checks: a sample of the examples, all of them with THOROUGH.

What an example does wrong on purpose is all that is found in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, account, run
from tests.examples.together import APART, TOGETHER, run_cpp
from tests.thorough import every

DELIBERATE = {
    "cooperative_kernel": {"refused-call"},
    "command_list": {"refused-call"},
    "command_queue": {"refused-call"},
    "dynamic_linking": {"refused-call"},
    "kernel_arguments": {"refused-call"},
    "kernel_launch": {"refused-call"},
    "memory_kinds": {"command-out-of-bounds"},
    "residency_fault": {"device-lost", "missing-indirect-access"},
    "residency_fault.py": {"device-lost", "missing-indirect-access"},
}
C = sorted(name for name in {*TOGETHER, *APART} if not name.startswith("npu_"))
PYTHON = sorted(path.name for path in EXAMPLES.glob("*.py") if not path.stem.startswith("npu_"))


def checks(folder: Path) -> dict[str, str]:
    return {"ANYZERO_CHECK": "all", "ANYZERO_CHECK_REPORT": str(folder)}


def found_by(result: subprocess.CompletedProcess[str], folder: Path) -> set[str]:
    assert result.returncode == 0, account(result)
    return {json.loads(line)["rule"] for path in folder.iterdir() for line in path.read_text().splitlines()}


@pytest.mark.parametrize("name", every(4, C))
def test_c(name: str, tmp_path: Path) -> None:
    assert found_by(run_cpp(name, checks(tmp_path)), tmp_path) == DELIBERATE.get(name, set())


@pytest.mark.parametrize("name", every(8, PYTHON))
def test_python(name: str, tmp_path: Path) -> None:
    result = run([sys.executable, EXAMPLES / name], checks(tmp_path))
    assert found_by(result, tmp_path) == DELIBERATE.get(name, set())
