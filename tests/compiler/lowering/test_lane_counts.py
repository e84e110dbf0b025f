"""How many work-items a vector has."""

from __future__ import annotations

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from anyzero.compiler.targets import cpu
from benchmarks.kernels.case import FOLDER


@pytest.mark.parametrize("form", ["", ".O0"])
@pytest.mark.parametrize("file", ["nbody", "black_scholes"])
def test_doubles_fill_as_many_registers_as_floats_do(file: str, form: str) -> None:
    module = read((FOLDER / f"{file}{form}.spv").read_bytes())
    lanes = [compile_kernel(module, f"{file}_{real}", Options(level=0)).lanes for real in ("f32", "f64")]
    assert lanes == [4 * cpu.host().lanes, 2 * cpu.host().lanes]
