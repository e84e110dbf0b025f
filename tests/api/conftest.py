"""Fixtures of the tests of the Python API: a context, and child processes with their own devices."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

import anyzero as az
from tests.patience import PATIENCE

RunPython = Callable[..., str]


@pytest.fixture
def ctx() -> Iterator[az.Context]:
    with az.device().context() as context:
        yield context


def child_environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    return {**kept, **variables}


@pytest.fixture
def run_python() -> RunPython:
    """Run a program in a separate process, with the given ANYZERO_ variables, and return its output."""

    def run(source: str, *arguments: str, expect: int = 0, stderr: bool = False, **variables: str) -> str:
        program = "import numpy as np, anyzero as az, sys\n" + textwrap.dedent(source)
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", program, *arguments],
            env=child_environment(**variables),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert result.returncode == expect, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
        if not stderr:
            assert result.stderr == "", result.stderr
        return result.stderr if stderr else result.stdout

    return run
