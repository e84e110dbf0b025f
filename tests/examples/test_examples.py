"""Every example runs, proves what it says, and fails when it cannot."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, ROOT, account, run
from tests.examples.together import APART, FOLDER, TOGETHER, run_cpp
from tests.thorough import THOROUGH

PYTHON = sorted(path.name for path in EXAMPLES.glob("*.py"))
CPP = sorted(path.stem for path in (EXAMPLES / "c").glob("*.cpp"))
KERNELS = EXAMPLES / "kernels"
APPLICATIONS = EXAMPLES / "applications"


def proved(output: str) -> bool:
    return re.search(r"^ok: .+", output, re.MULTILINE) is not None and "FAILED" not in output


@pytest.mark.parametrize("name", PYTHON)
def test_python(name: str) -> None:
    result = run([sys.executable, "-W", "error", EXAMPLES / name])
    assert result.returncode == 0, account(result)
    if result.stdout.startswith("skipped: "):
        pytest.skip(result.stdout)
    assert proved(result.stdout), account(result)


def shows(name: str, result: subprocess.CompletedProcess[str]) -> None:
    """The program has proved what it says, or it lacks something."""
    if name.startswith("npu_") and importlib.util.find_spec("openvino") is None:
        pytest.skip("NOT TESTED: the NPU device needs OpenVINO; pip install openvino")
    assert result.returncode == 0, account(result)
    if result.stdout.startswith("skipped: "):
        pytest.skip(result.stdout)
    assert proved(result.stdout), account(result)
    assert "warning:" not in result.stderr, account(result)


ALONE = CPP if THOROUGH else sorted({*APART, "saxpy"})
"""These are compiled by the command for users, which takes a second each; saxpy shares no code with others."""


@pytest.mark.parametrize("name", ALONE)
def test_cpp(name: str) -> None:
    shows(name, run([EXAMPLES / "c" / "run", name]))


@pytest.mark.parametrize("name", TOGETHER)
def test_cpp_together(name: str) -> None:
    shows(name, run_cpp(name))


def test_every_file_is_run_or_used() -> None:
    sources = {path: path.read_text() for path in (EXAMPLES / "c").glob("*.*")}
    headers = {path for path in sources if any(f'#include "{path.name}"' in text for text in sources.values())}
    known = {
        *(EXAMPLES / name for name in PYTHON),
        *(EXAMPLES / "c" / f"{name}.cpp" for name in CPP),
        *headers,
        EXAMPLES / "README.md",
        EXAMPLES / "c" / "run",
        KERNELS / "build",
        *APPLICATIONS.glob("*.py"),
        *APPLICATIONS.glob("*.ipynb"),
        *KERNELS.glob("*.cl"),
        *KERNELS.glob("*.spv"),
    }
    found = {path for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert found == known


def test_python_and_cpp_show_the_same() -> None:
    assert set(CPP) == {Path(name).stem for name in PYTHON}


def test_every_kernel_has_a_source_and_is_used() -> None:
    sources = {path.stem for path in KERNELS.glob("*.cl")}
    assert sources == {path.stem for path in KERNELS.glob("*.spv")}
    code = "".join((EXAMPLES / name).read_text() for name in PYTHON)
    assert [name for name in sorted(sources) if f'"{name}.spv"' not in code] == []


BROKEN = """
#include "check.h"
int main(int argc, char**) {
  Setup s;
  if (argc > 1) CHECK(zeMemFree(s.context, &s));
  prove(1 + 1 == 3, "sums are what they seem");
}
"""


def test_a_failure_is_told(tmp_path: Path) -> None:
    source, program, devices = tmp_path / "broken.cpp", tmp_path / "broken", tmp_path / "description"
    source.write_text(BROKEN)
    library = ROOT / "src" / "anyzero" / "lib"
    includes = ["-I", FOLDER, "-I", ROOT / "engine" / "abi" / "gen"]
    built = run(
        ["g++", "-std=c++20", *includes, source, library / "libze_anyzero.so.1", f"-Wl,-rpath,{library}", "-o", program]
    )
    assert built.returncode == 0, account(built)
    described = run(["sh", "-c", f"'{sys.executable}' -m anyzero.driver > '{devices}'"])
    assert described.returncode == 0, account(described)
    for given, said in (((), "FAILED: sums are what they seem"), (("call",), "cannot be freed")):
        result = run([program, *given], {"ANYZERO_DESCRIPTION": str(devices)})
        assert result.returncode == 1, account(result)
        assert said in result.stdout + result.stderr, account(result)


def test_without_a_python_a_program_is_told_what_to_do(tmp_path: Path) -> None:
    assert run([EXAMPLES / "c" / "run", "saxpy"]).returncode == 0
    absent = tmp_path / "python"
    result = run([ROOT / "build" / "examples" / "saxpy"], {"ANYZERO_PYTHON": str(absent)})
    assert result.returncode == 1, account(result)
    assert "zeModuleCreate" in result.stderr, account(result)
    assert f"ANYZERO_PYTHON={absent}" in result.stderr, account(result)
