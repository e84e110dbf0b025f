"""print and assert in kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PRINTS = """
import numpy as np, anyzero as az

@az.kernel
def k(x: az.ptr[az.f32], n: az.u64):
    i = az.global_id(0)
    print("item", i, x[i], f"{x[i]:.2f}|{n:4d}", 100 * x[i] > 50, sep=" : ", end=" %\\n")

x = np.array([0.25, 1.5], np.float32)
ctx = az.device().context()
k[2](ctx.to_device(x), 7)
k.simulate[2](x, 7)
"""

ASSERTS = """
import numpy as np, anyzero as az

@az.kernel
def k(x: az.ptr[az.f32]):
    i = az.global_id(0)
    assert x[i] < 2, "100% too large"
    x[i] = 0

ctx = az.device().context()
x = ctx.to_device(np.arange(3, dtype=np.float32))
k[2](x)
print(x.copy_to().tolist(), flush=True)
try:
    k[3](ctx.to_device(np.arange(3, dtype=np.float32)))
except az.DeviceLost as error:
    print("lost", "kernel k" in str(error))
"""


def run(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(text)
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_print(tmp_path: Path) -> None:
    lines = run(tmp_path, PRINTS)
    expected = ["item : 0 : 0.25 : 0.25|   7 : 0 %", "item : 1 : 1.5 : 1.50|   7 : 1 %"]
    assert sorted(lines[:2]) == expected
    assert lines[2:] == expected


def test_a_failed_assertion_names_the_line_and_the_work_item(tmp_path: Path) -> None:
    lines = run(tmp_path, ASSERTS)
    assert lines[0] == "[0.0, 0.0, 2.0]"
    assert "program.py:7: assertion failed in work-item (2, 0, 0): 100% too large" in lines
    assert lines[-1] == "lost True"
