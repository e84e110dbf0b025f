"""OpenCL interoperability, with PoCL from Debian, and with Intel's runtime where the benchmarks have fetched it.

The checks are in `opencl/`. They run in a separate process, which has the platform and pyopencl, once for each
platform; each appears here by its name. So do the examples of docstrings, of the page and of the examples' folder.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.clients import pocl
from tests.clients.debian import NotAvailableError
from tests.examples.blocks import blocks
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CHECKS = Path(__file__).with_name("opencl")

# The first one to run fetches what is missing.
pytestmark = pytest.mark.timeout(900)

DOCTESTS = """
import importlib, sys, numpy as np, anyzero as az
from tests.shape.test_docstring_examples import failures
report = [failures(importlib.import_module(name), {"az": az, "np": np}) for name in sys.argv[1:]]
print("".join(report))
sys.exit(any(report))
"""


def names() -> list[str]:
    found = []
    for path in sorted(CHECKS.glob("*.py")):
        functions = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        found += [f"{path.stem}.{name}" for name in functions if name.startswith("test_")]
    return found


@functools.cache
def available(platform: str) -> dict[str, str] | str:
    """The variables, or the reason without them; cached, because an offline machine takes long to fail."""
    try:
        return pocl.environment(platform)
    except NotAvailableError as error:
        return str(error)


def environment(platform: str) -> dict[str, str]:
    found = available(platform)
    if isinstance(found, str):
        pytest.skip(f"OpenCL cannot be had: {found}")
    return found


def run(platform: str, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env={**environment(platform), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@functools.cache
def outcomes(platform: str) -> tuple[dict[str, list[ET.Element]], str]:
    """The result of each check, and all output."""
    report = ROOT / "build" / f"opencl-{platform}.{os.getpid()}.xml"
    report.parent.mkdir(exist_ok=True)
    files = [path for path in sorted(CHECKS.glob("*.py")) if path.name != "conftest.py"]
    done = run(platform, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *files)
    said = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    found: dict[str, list[ET.Element]] = {}
    try:
        for case in ET.parse(report).iter("testcase"):
            module = case.attrib["classname"].rpartition(".")[2]
            found.setdefault(f"{module}.{case.attrib['name'].partition('[')[0]}", []).append(case)
        report.unlink()
    except (OSError, ET.ParseError):
        pass  # it crashed; the output has the details
    return found, said


def told(cases: list[ET.Element], *tags: str) -> list[str]:
    return [child.text or child.attrib["message"] for case in cases for child in case if child.tag in tags]


@pytest.mark.parametrize("name", names())
def test_check(name: str) -> None:
    found, said = outcomes("pocl")
    assert name in found, f"{name} did not run: {said}"
    wrong = told(found[name], "failure", "error")
    assert not wrong, "\n".join(wrong)
    skipped = told(found[name], "skipped")
    if len(skipped) == len(found[name]):
        pytest.skip(skipped[0])


def test_all_checks_with_intel() -> None:
    found, said = outcomes("intel")
    assert sorted(found) == sorted(names()), said
    assert not any(told(cases, "failure", "error") for cases in found.values()), said


def test_the_examples_of_docstrings() -> None:
    folder = ROOT / "src" / "anyzero" / "interop" / "opencl"
    modules = [f"anyzero.interop.opencl.{path.stem}" for path in folder.glob("*.py") if ">>> " in path.read_text()]
    assert len(modules) > 3
    done = run("pocl", "-W", "error", "-c", DOCTESTS, *modules)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example() -> None:
    done = run("pocl", "-W", "error", "examples/opencl_interop.py")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said
    assert all(line.startswith("ok: ") for line in said), done.stdout


def test_the_example_in_cpp() -> None:
    """With the OpenCL loader that pyopencl has inside, which crashes outside of it without a variable."""
    loader = next((pocl.pyopencl() / "pyopencl" / ".libs").glob("libOpenCL*"), None)
    assert loader is not None
    variables = {"OPENCL_LIBRARY": str(loader), "PYOPENCL_HOME": str(loader.parents[1]), "PYTHON": sys.executable}
    done = subprocess.run(
        [ROOT / "examples" / "c" / "run", "opencl_interop"],
        env={**environment("pocl"), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ok: "), done.stdout


def test_the_page() -> None:
    """It needs an OpenCL platform, which this test brings."""
    shown = [block for block in blocks(ROOT / "docs" / "interop.md") if block.language == "python"]
    assert len(shown) > 3
    done = run("pocl", "-W", "error", "-c", "\n".join(block.text for block in shown))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "".join(block.expected or "" for block in shown)


def test_without_pyopencl_there_is_a_remedy() -> None:
    command = [sys.executable, "-S", "-c", "from anyzero.interop import opencl"]
    # Without site-packages there is neither numpy nor pyopencl; which of them is missed first does not matter.
    done = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert "[opencl]'" in done.stderr
    done = subprocess.run(
        [sys.executable, "-S", "examples/opencl_interop.py"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped: ")


def test_without_a_platform_the_example_is_skipped(tmp_path: Path) -> None:
    done = run("pocl", "examples/opencl_interop.py", OCL_ICD_VENDORS=str(tmp_path), OPENCL_VENDOR_PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped: ")
