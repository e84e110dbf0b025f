"""Fixtures of the NPU tests: programs that use the unmodified openvino, in separate processes."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import hang
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = f"""
{hang.LISTENING}
import anyzero
anyzero.enable_openvino()
import openvino as ov, numpy as np
"""
NEEDED = ("openvino", "onnx")


@functools.cache
def require_openvino() -> None:
    """Skip, where this Python has no openvino."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(
            f"NOT TESTED: {' and '.join(missing)} cannot be imported by {sys.executable}; pip install openvino onnx"
        )


def client_environment(cache: Path, **variables: str) -> dict[str, str]:
    """The current environment without variables that configure devices, and with a separate model cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_", "ZEL_"))}
    return {**kept, "ANYZERO_CACHE_DIR": str(cache), **variables}


@dataclass(frozen=True)
class Client:
    """Starts programs that use OpenVINO."""

    cache: Path
    """The driver's model cache."""

    def start(
        self, command: Sequence[str | Path], timeout: float = PATIENCE, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=ROOT,
            env=client_environment(self.cache, **variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        report = ""
        with process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                report = f"the program did not end within {timeout} s\n{hang.describe(process.pid, str(self.cache))}"
                process.kill()
                # Not for ever: a process that it has started may have its standard error.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=10)
                    report += f"\nit said: {out}\n{err}"
        if report:
            pytest.fail(report, pytrace=False)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def ending(
        self, program: str, *arguments: str | Path, timeout: float = PATIENCE, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a Python program that sees the NPU."""
        source = PRELUDE + textwrap.dedent(program)
        return self.start([sys.executable, "-c", source, *arguments], timeout, **variables)

    def run(
        self, program: str, *arguments: str | Path, expect: int = 0, timeout: float = PATIENCE, **variables: str
    ) -> str:
        """The same; return what it printed. It has to end with `expect`, and without a complaint."""
        done = self.ending(program, *arguments, timeout=timeout, **variables)
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        if not expect:
            assert done.stderr == "", done.stderr
        return done.stdout


@pytest.fixture
def client(tmp_path: Path) -> Client:
    require_openvino()
    folder = tmp_path / "models"
    folder.mkdir(mode=0o700)
    return Client(folder)
