"""Code generation by LLVM: text to machine code, and the intermediate forms for `anyzero spirv`."""

from __future__ import annotations

from anyzero import config
from anyzero.compiler import dump
from anyzero.compiler.errors import CompileError
from anyzero.compiler.lanes.units import FunctionUnit, KernelUnit
from anyzero.compiler.targets import cpu

MOST_PRIVATE = (1 << 31) - 1
"""The most bytes of private memory of all work-items of a vector together."""


def emit(unit: KernelUnit | FunctionUnit) -> None:
    if isinstance(unit, KernelUnit) and unit.per_vector > MOST_PRIVATE:
        raise CompileError(f"its private memory takes {unit.per_vector} bytes for {unit.lanes} work-items at once")
    unit.code = cpu.compile_text(unit.text, unit.target, unit.options.level, unit.options.quick)
    if folder := config.read(only=["dump"]).dump:
        dump.write(folder, unit.title, {"ll": unit.text, "opt.ll": optimised(unit), "s": assembly(unit)})


def optimised(unit: KernelUnit | FunctionUnit) -> str:
    """LLVM's IR after its passes."""
    return str(unit.code.optimised)


def assembly(unit: KernelUnit | FunctionUnit) -> str:
    return cpu.assembly(unit.code.optimised, unit.target, 0 if unit.options.quick else unit.options.level)
