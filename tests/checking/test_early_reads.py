"""A C program that touches results before it has waited for them, and right ways to read them."""

from __future__ import annotations

import json
import linecache
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.shape.tree import ROOT

SOURCE = Path(__file__).with_name("early.c")
LIBRARY = ROOT / "src" / "anyzero" / "lib"
KERNELS = ROOT / "tests" / "kernels"

FOUND = {
    "reads_a_fill": ("reads", "a memory fill of 1048576 bytes"),
    "reads_a_copy": ("reads", "a memory copy of 1048576 bytes"),
    "reads_what_a_kernel_writes": ("reads", "kernel saxpy_unchecked"),
    "reads_what_a_guarded_kernel_writes": ("reads", "kernel saxpy"),
    "writes_into_a_result": ("writes", "a memory fill of 1048576 bytes"),
    "reads_a_small_result_that_waits": ("reads", "a memory fill of 64 bytes"),
    "reads_the_first_of_two_results": ("reads", "a memory fill of 1048576 bytes"),
    "reads_what_a_list_writes": ("reads", "a memory fill of 1048576 bytes"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("early") / "early"
    compiler = os.environ.get("CC", "cc")
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    flags += ["-Wno-missing-field-initializers", "-rdynamic", "-pthread"]
    link = [f"-I{ROOT / 'engine' / 'abi' / 'gen'}", str(LIBRARY / "libze_loader.so.1"), f"-Wl,-rpath,{LIBRARY}"]
    subprocess.run([compiler, *flags, str(SOURCE), *link, "-o", str(made)], check=True, timeout=PATIENCE)
    return made


def findings(program: Path, folder: Path, checks: str) -> list[dict[str, Any]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    chosen = {"ANYZERO_CHECK": checks, "ANYZERO_CHECK_REPORT": str(folder), "ANYZERO_PYTHON": sys.executable}
    modules = [str(KERNELS / "saxpy.spv"), str(KERNELS / "atomics.spv")]
    command = [str(program), *modules]
    done = subprocess.run(command, env=kept | chosen, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for path in folder.iterdir() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("checks", ["races", "all"])
def test_accesses_before_a_wait_are_found_and_no_others(checks: str, program: Path, tmp_path: Path) -> None:
    found = findings(program, tmp_path, checks)
    assert len(found) == len(FOUND), [each["message"] for each in found]
    for name, (access, command) in FOUND.items():
        (each,) = (finding for finding in found if finding["caller"].startswith(f"{name}+"))
        assert each["rule"] == "early-host-read"
        assert each["message"] == f"the host {access} memory that a command is still to write"
        assert each["other"].startswith(f"{command}, command ")
        assert "zeCommandListAppend" in each["other"]
        assert "made by zeMemAllocShared" in each["memory"]
        if shutil.which("addr2line"):
            line = re.search(rf'File "(.*early.c)", line (\d+), in {name}$', each["caller"])
            assert line is not None, each["caller"]
            assert "result" in (text := linecache.getline(line[1], int(line[2]))) or "small" in text


def test_other_checks_hold_no_commands_back(program: Path, tmp_path: Path) -> None:
    assert findings(program, tmp_path, "memory,sync,strict") == []
