"""Dead code elimination: removes operations without effect or user, and unused variables."""

from __future__ import annotations

from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import REMOVABLE


def dce(body: Body) -> None:
    """Removes operations that no operation with an effect depends on, and variables without uses."""
    needed: set[Op] = set()
    waiting: list[Op] = []
    for block in body.blocks:
        waiting += [op for op in block.ops if not _removable(op)]
        if block.condition is not None:
            waiting.append(block.condition)
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += op.args
    for block in body.blocks:
        if any(phi not in needed for phi in block.phis):
            block.phis = [phi for phi in block.phis if phi in needed]
        block.ops = [op for op in block.ops if op in needed]
    kept = {op.info for op in needed if op.name == "variable"}
    body.variables = [variable for variable in body.variables if variable in kept]


def _removable(op: Op) -> bool:
    if op.name == "load":
        return not op.info.volatile
    if op.name == "group":
        return not op.may_write
    return op.name in REMOVABLE
