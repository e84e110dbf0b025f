"""Kernels that divide their id run in rows; reports name work-items as programs know them, and odd sizes do no harm."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kernels.case import FOLDER
from tests.abi.calls import run_python

PROGRAM = """
import re
import sys
import numpy as np
import anyzero as az

@az.kernel
def check(y: az.ptr[az.u32], width: az.u32, n: az.u32):
    i = az.u32(az.global_id(0))
    if i < n:
        assert i != 7233, "not here"
        y[i] = i // width

@az.kernel
def divide(y: az.ptr[az.u32], width: az.u32, n: az.u32):
    i = az.u32(az.global_id(0))
    if i < n:
        y[i] = 100 // (i // width * 1000 + i % width - 72033)

def lost(kernel):
    ctx = az.device().context()
    y = ctx.zeros(30000, np.uint32)
    try:
        kernel[30016](y, 100, 30000)
        y.copy_to()
    except az.DeviceLost as error:
        return str(error)

@az.kernel
def product(c: az.ptr[az.i32], a: az.ptr[az.i32], b: az.ptr[az.i32], m: az.i32, n: az.i32, k: az.i32):
    i = az.global_id(0)
    if i < m * n:
        row, column = i // n, i % n
        total = az.i32(0)
        for j in range(k):
            total += a[row * k + j] * b[j * n + column]
        c[i] = total

ctx = az.device().context()
a, b = np.arange(70 * 30, dtype=np.int32).reshape(70, 30), np.arange(30 * 90, dtype=np.int32).reshape(30, 90) % 37
c = ctx.zeros((70, 90), np.int32)
product[6400](c, ctx.to_device(a), ctx.to_device(b), 70, 90, 30)
assert (c.copy_to() == a @ b).all()

said = lost(check)
assert "in work-item (7233, 0, 0), local id " in said, said
said = lost(divide)
first, last = [int(each) for each in re.findall(r"\\((\\d+), 0, 0\\)", said)[:2]]
assert first <= 7233 <= last < 30000, said

module = ctx.module(sys.argv[2])
a = np.arange(6000, dtype=np.int32)
bias = ctx.to_device(a)
add = module["add_bias"]
# The length of rows, the number of elements, and the work-items.
for area, n, size in [
    (100, 6000, 6016), (100, 6000, 6000), (100, 6000, 3000), (100, 5950, 6016), (100, 0, 6016), (100, -100, 6016),
    (3000, 6000, 6016), (6000, 6000, 6000), (7000, 6000, 6016), (1, 6000, 6016),
    (2**31 - 1, 6000, 6016), (64, 2**31 - 1, 4096),
]:
    y = ctx.to_device(a)
    add[size](y, bias, 5, area, n)
    i = np.arange(max(0, min(size, n, len(a))))
    expected = a.copy()
    expected[i] += (i // area % 5).astype(np.int32)
    assert (y.copy_to() == expected).all(), (area, n, size)
# Ids that do not begin with zero.
y = ctx.to_device(a)
with ctx.immediate() as lst:
    lst.launch(add, 5000, (y, bias, 5, 100, 6000), offset=1000).wait()
expected = a.copy()
expected[1000:] += (np.arange(1000, 6000) // 100 % 5).astype(np.int32)
assert (y.copy_to() == expected).all()
"""


def test_given_launches_in_rows_then_reports_and_results_are_those_of_one_dimension(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    kernels = str(FOLDER / "linear_ids.spv")
    run_python(
        "import runpy, sys; runpy.run_path(sys.argv[1])", arguments=[str(program), kernels], ANYZERO_STAGES="final"
    )
