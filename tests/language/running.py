"""A kernel on the device and in the simulator, with the same arguments."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import Any

import numpy as np

import anyzero as az

__all__ = ["agree", "context", "run", "validate"]

_checked: set[bytes] = set()


@cache
def context() -> az.Context:
    return az.device().context()


def validate(spirv: bytes) -> None:
    """spirv-val accepts the module; without it the test goes on, and test_twins.py says so."""
    tool = shutil.which("spirv-val")
    if tool is None or spirv in _checked:
        return
    _checked.add(spirv)
    result = subprocess.run([tool, "--target-env", "spv1.3", "-"], input=spirv, capture_output=True)
    assert result.returncode == 0, (result.stdout + result.stderr).decode()


def run(kernel: Any, grid: Any, *args: Any, **options: Any) -> list[Any]:
    """The arrays among the arguments after a launch on the device."""
    ctx = context()
    given = [ctx.to_device(each) if isinstance(each, np.ndarray) and each.shape else each for each in args]
    validate(kernel.specialization(tuple(given)).spirv)
    kernel[grid](*given, **options)
    return [each.copy_to() for each in given if isinstance(each, az.Buffer)]


def agree(kernel: Any, grid: Any, *args: Any, rtol: float = 0, **options: Any) -> list[Any]:
    """The arrays after a launch, which are those after a simulated one."""
    found = run(kernel, grid, *args, **options)
    copies = [each.copy() if isinstance(each, np.ndarray) and each.shape else each for each in args]
    kernel.simulate[grid](*copies, **options)
    simulated = [each for each in copies if isinstance(each, np.ndarray) and each.shape]
    for compiled, plain in zip(found, simulated, strict=True):
        if rtol:
            np.testing.assert_allclose(compiled, plain, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(compiled, plain)
    return found
