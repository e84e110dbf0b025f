"""Kernels that number rows first run with two dimensions exchanged; reports name work-items as programs know them."""

from __future__ import annotations

from pathlib import Path

from tests.abi.calls import run_python

PROGRAM = """
import re
import numpy as np
import anyzero as az

@az.kernel
def check(y: az.ptr[az.i32], n: az.i32):
    i, j = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    assert i != 70 or j != 233, "not here"
    y[i * n + j] = i

@az.kernel
def divide(y: az.ptr[az.i32], n: az.i32):
    i, j = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    y[i * n + j] = 100 // ((i - 70) * 1000 + j - 233)

@az.kernel
def fill(y: az.ptr[az.i32], n: az.i32):
    i, j = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    y[i * n + j] = 1000 * i + j

def lost(kernel):
    ctx = az.device().context()
    y = ctx.zeros((100, 300), np.int32)
    try:
        kernel[(100, 300)](y, 300)
        y.copy_to()
    except az.DeviceLost as error:
        return str(error)

ctx = az.device().context()
y = ctx.zeros((100, 300), np.int32)
for size in ((100, 300), (100, 7), (5, 300)):
    fill[size](y, 300)
i, j = np.indices((100, 300))
assert (y.copy_to() == 1000 * i + j).all()
said = lost(check)
assert "in work-item (70, 233, 0), local id " in said, said
said = lost(divide)
first, last = re.findall(r"\\((\\d+), (\\d+), 0\\)", said)[:2]
low, high = [int(each) for each in first], [int(each) for each in last]
assert low[0] <= 70 <= high[0] and low[1] <= 233 <= high[1], said
assert high[0] < 100 and 100 < high[1] < 300, said
"""


def test_given_exchanged_dimensions_then_reports_name_the_work_items_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run_python("import runpy, sys; runpy.run_path(sys.argv[1])", arguments=[str(program)], ANYZERO_STAGES="final")
