"""Mistakes of kernels with memory are found, with line, work-item and memory; nothing is found in right ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

PROGRAM = Path(__file__).with_name("wrong_kernels.py")

FOUND = {
    # rule, first work-item, how often, words of the message
    "read_behind": (
        "out-of-bounds-read",
        "(99, 0, 0)",
        1,
        "right behind the end of the device allocation of 400 bytes",
    ),
    "read_before": ("out-of-bounds-read", "(0, 0, 0)", 1, "4 bytes before the beginning of the device allocation"),
    "write_behind": ("out-of-bounds-write", "(100, 0, 0)", 1, "right behind the end of the device allocation"),
    "write_far": ("out-of-bounds-write", "(2, 0, 0)", 1, "399600 bytes behind the end of the device allocation"),
    "read_vector": ("out-of-bounds-read", "(7, 0, 0)", 1, "8 bytes over the end of the device allocation of 120 bytes"),
    "same_place": ("out-of-bounds-read", "(0, 0, 0)", 1, "right behind the end of the device allocation of 40 bytes"),
    "strided": ("out-of-bounds-read", "(7, 0, 0)", 1, "4 bytes behind the end of the device allocation of 80 bytes"),
    "local_array": ("out-of-bounds-write", "(7, 0, 0)", 2, "right behind the end of the local variable"),
    "local_argument": ("out-of-bounds-write", "(7, 0, 0)", 1, "right behind the end of the local argument of 28 bytes"),
    "private_array": ("out-of-bounds-read", "(2, 0, 0)", 1, "4 bytes behind the end of the private variable"),
    "atomic": ("out-of-bounds-write", "(3, 0, 0)", 1, "right behind the end of the device allocation of 40 bytes"),
    "in_a_loop": ("out-of-bounds-read", "(0, 0, 0)", 1, "right behind the end of the device allocation of 40 bytes"),
    "freed": ("use-after-free", "(0, 0, 0)", 64, "in memory that has been freed"),
    "in_a_function": ("out-of-bounds-write", "(39, 0, 0)", 1, "right behind the end of the device allocation"),
    "rows": ("out-of-bounds-write", "(7, 3, 0), local id (3, 1, 0) of group (1, 1, 0)", 1, "right behind the end of"),
}


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """By the name of the kernel."""
    folder = tmp_path_factory.mktemp("found")
    environment = os.environ | {"ANYZERO_CHECK": "memory", "ANYZERO_CHECK_REPORT": str(folder)}
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            each = json.loads(line)
            found.setdefault(each["kernel"], []).append(each)
    return found


@pytest.mark.parametrize("name", FOUND)
def test_given_a_mistake_then_it_is_found_with_its_place(name: str, findings: dict[str, list[dict[str, Any]]]) -> None:
    rule, item, count, words = FOUND[name]
    (each,) = findings[name]
    assert each["rule"] == rule
    assert words in each["message"]
    assert each["work_item"].startswith(item)
    assert each["count"] == count
    line = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if text.endswith(f"# {name}"))
    assert f'{PROGRAM}", line {line}, in ' in each["stack"]
    assert f"# {name}" in each["stack"]


def test_given_a_right_kernel_then_nothing_is_found(findings: dict[str, list[dict[str, Any]]]) -> None:
    assert set(findings) == set(FOUND)


def test_given_a_call_then_the_stack_has_both_lines(findings: dict[str, list[dict[str, Any]]]) -> None:
    (each,) = findings["in_a_function"]
    assert "in in_a_function" in each["stack"]
    assert "in inner" in each["stack"]
