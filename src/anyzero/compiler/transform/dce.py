"""Dead code elimination: removes operations without effect or user, and unused variables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import REMOVABLE


def dce(body: Body) -> None:
    """Removes operations that no operation with an effect depends on, and variables without uses."""
    kept = needed(body)
    for block in body.blocks:
        if any(phi not in kept for phi in block.phis):
            block.phis = [phi for phi in block.phis if phi in kept]
        block.ops = [op for op in block.ops if op in kept]
    variables = {op.info for op in kept if op.name == "variable"}
    body.variables = [variable for variable in body.variables if variable in variables]


def needed(body: Body, instead: Mapping[Op, Op] = MappingProxyType({})) -> set[Op]:
    """Operations with an effect, and those that they depend on. `instead` are replacements that are yet to be made."""
    found: set[Op] = set()
    waiting: list[Op] = []
    for block in body.blocks:
        waiting += [op for op in block.ops if not _removable(op)]
        if block.condition is not None:
            waiting.append(block.condition)
    while waiting:
        op = waiting.pop()
        op = instead.get(op, op)
        if op not in found:
            found.add(op)
            waiting += op.args
    return found


def _removable(op: Op) -> bool:
    if op.name == "load":
        return not op.info.volatile
    if op.name == "group":
        return not op.may_write
    return op.name in REMOVABLE
