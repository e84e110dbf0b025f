"""The unmodified openvino as a client of the NPU.

The checks are in `client/`. They run together in one process, which has nothing of this one's state; each appears here
by its name. Tests that need a separate process are in the files beside this one.
"""

from __future__ import annotations

import ast
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.npu.conftest import Client, require_openvino

CHECKS = Path(__file__).with_name("client")
TIMEOUT = 110


def names() -> list[str]:
    found = []
    for path in sorted(CHECKS.glob("*.py")):
        functions = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        found += [f"{path.stem}.{name}" for name in functions if name.startswith("test_")]
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[ET.Element]], str]:
    """The result of each check, and all output."""
    require_openvino()
    folder = tmp_path_factory.mktemp("client")
    cache = folder / "models"
    cache.mkdir(mode=0o700)
    report = folder / "report.xml"
    files = [path for path in sorted(CHECKS.glob("*.py")) if path.name != "conftest.py"]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    done = Client(cache).start([*command, f"--junitxml={report}", *files], TIMEOUT)
    said = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    found: dict[str, list[ET.Element]] = {}
    try:
        for case in ET.parse(report).iter("testcase"):
            module = case.attrib["classname"].rpartition(".")[2]
            found.setdefault(f"{module}.{case.attrib['name'].partition('[')[0]}", []).append(case)
    except (OSError, ET.ParseError):
        pass  # it crashed; the output has the details
    return found, said


@pytest.mark.parametrize("name", names())
def test_check(outcomes: tuple[dict[str, list[ET.Element]], str], name: str) -> None:
    found, said = outcomes
    assert name in found, f"{name} did not run: {said}"
    for case in found[name]:
        wrong = [child.text or child.attrib["message"] for child in case if child.tag in ("failure", "error")]
        assert not wrong, f"{case.attrib['name']}\n" + "\n".join(wrong)


def test_the_process_ended_well(outcomes: tuple[dict[str, list[ET.Element]], str]) -> None:
    assert outcomes[1].startswith(("exit status 0\n", "exit status 1\n")), outcomes[1]
