"""Why a kernel got as many lanes as it has, in words: for people, not for the compiler."""

from __future__ import annotations

from anyzero.compiler.analysis.cost import SCALAR, estimate
from anyzero.compiler.analysis.shapes import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.lowering import prepare
from anyzero.compiler.pipeline import is_flat, simplified
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import cpu

__all__ = ["why_lanes"]


def why_lanes(module: Module, name: str, options: Options, lanes: int) -> str:
    """The reason for what `pipeline.choose_lanes` chose."""
    translation = simplified(module, name)
    kernel, uses, body = translation.kernel, translation.uses, translation.body
    target = cpu.target(options.cpu, options.features)
    flow = prepare(body)
    if flow.loops.irreducible:
        return "a loop has several entries, which only one lane can run"
    if options.lanes:
        return "as asked for"
    if kernel.required_sub_group_size:
        return "the kernel requires sub-groups of this size"
    if uses.sub_groups:
        return "a sub-group is a vector register of floats"
    if uses.calls:
        return "functions that are called by address all have the lanes of a register"
    together, apart = estimate(body, flow, analyse(body, flow, target.lanes), target.lanes, target.register)
    costs = f"{target.lanes} work-items cost {together:.0f} as a vector, {apart * SCALAR:.0f} one by one"
    if lanes == 1:
        return f"a vector would not pay: {costs}"
    registers = max(1, lanes // target.lanes)
    several = f"{registers} registers" if registers > 1 else "one register"
    rows = "groups are run as one long row" if is_flat(uses) else "groups stay apart"
    return f"{several} of floats; {rows}; {costs}"
