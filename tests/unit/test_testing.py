"""The plugin for pytest, in runs of pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

KIT = """
import os

import numpy as np
import pytest


def test_context(az_context, az_device):
    x = az_context.full(8, 1, np.float32, kind="shared")
    assert np.asarray(x).sum() == 8
    assert az_context.device == az_device


def test_strict_and_limited():
    assert os.environ["ANYZERO_STRICT"] == "1"
    assert os.environ["ANYZERO_KERNEL_TIMEOUT"] == "60"


@pytest.mark.az_topology("cpu,cpu", "cpu:tiles=2")
def test_devices(az_devices, az_topology):
    computing = [device for device in az_devices if "CPU" in device.name]
    assert len(computing) == (2 if az_topology == "cpu,cpu" else 1)
    print("printed", az_topology)
    assert az_topology != "cpu:tiles=2", "on purpose"


@pytest.mark.az_kernel(timeout=7)
@pytest.mark.az_strict(False)
class TestOthers:
    def test_dying(self):
        os.abort()

    def test_goes_on(self):
        assert os.environ["ANYZERO_KERNEL_TIMEOUT"] == "7"
        assert os.environ["ANYZERO_STRICT"] == "0"
"""
UNUSED = """
import os
import sys


def test_nothing_was_loaded():
    assert not {"numpy", "anyzero.api", "anyzero.ze", "anyzero.testing.process"} & sys.modules.keys()


def test_lenient_and_unlimited():
    assert "ANYZERO_STRICT" not in os.environ
    assert os.environ["ANYZERO_KERNEL_TIMEOUT"] == "0"
"""
PLUGIN = ("-p", "no:anyzero", "-p", "anyzero.testing.plugin")


def run(folder: Path, *options: str, **variables: str) -> str:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    environment = {name: value for name, value in os.environ.items() if not re.match("ANYZERO_|PYTEST_", name)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.stdout + done.stderr


def test_fixtures_marks_and_processes(tmp_path: Path) -> None:
    (tmp_path / "test_kit.py").write_text(KIT)
    told = run(tmp_path, "-rA")
    assert re.search(r"^anyzero \S+: anyzero CPU.*; strict, kernels stop after 60 s$", told, re.MULTILINE), told
    for good in ("test_context", "test_strict_and_limited", "test_devices[cpu,cpu]", "TestOthers::test_goes_on"):
        assert f"PASSED test_kit.py::{good}" in told, told
    assert "FAILED test_kit.py::test_devices[cpu:tiles=2] - AssertionError: on purpose" in told
    assert "printed cpu:tiles=2" in told
    assert re.search(r"the process with ANYZERO_KERNEL_TIMEOUT=7 ANYZERO_STRICT=0 ended with SIGABRT", told)
    assert "2 failed, 4 passed" in told


def test_a_mark_without_devices_says_so(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("import pytest\n@pytest.mark.az_topology()\ndef test(): pass\n")
    assert "az_topology names no devices" in run(tmp_path, "-q")


def test_it_costs_nothing_where_it_is_not_used_and_can_be_lenient(tmp_path: Path) -> None:
    (tmp_path / "test_unused.py").write_text(UNUSED)
    told = run(tmp_path, "-o", "anyzero_strict=off", "-o", "anyzero_kernel_timeout=0")
    assert "2 passed" in told, told
    assert "anyzero 0" not in told
