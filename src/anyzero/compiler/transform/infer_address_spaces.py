"""Inference of address spaces: accesses through generic pointers that can only point into one memory."""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import known_space, root
from anyzero.compiler.ir import Body, Op, Space
from anyzero.compiler.operations import ADDRESSED
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.simplify import simplify
from anyzero.lazy_dataclass import replace

_NUMBERS = {"global": 0, "constant": 0, "local": 1, "private": 2}


def infer_address_spaces(body: Body) -> None:
    """Sets the address space of generic accesses, and folds the kernel's own queries of address spaces."""
    asked = [op for op in body.ops if op.name == "space_of" or (op.name in ADDRESSED and op.info.space == "generic")]
    if not asked:
        return
    spaces = _spaces(body)
    answers: dict[Op, Op] = {}
    for op in asked:
        space = spaces.get(op.args[0])
        if space is None or space == "generic":
            continue
        if op.name == "space_of":
            answers[op] = body.const("i32", _NUMBERS[space])
        else:
            op.info = replace(op.info, space=space)
    if answers:
        substitute(body, answers)
        simplify(body)
        dce(body)


def _spaces(body: Body) -> dict[Op, Space]:
    """Address spaces of pointers; a phi is assumed to have its first argument's until another argument differs."""
    found: dict[Op, Space] = {}
    changed = True
    while changed:
        changed = False
        for block in body.blocks:
            for op in block.everything:
                if op.type != "ptr":
                    continue
                space = _of(op, found)
                if space is not None and found.get(op) != space:
                    found[op] = space
                    changed = True
    return found


def _of(op: Op, found: dict[Op, Space]) -> Space | None:
    if op.name == "offset":
        return found.get(op.args[0])
    if op.name in ("phi", "select"):
        choices = op.args[1:] if op.name == "select" else op.args
        spaces = {found[arg] for arg in choices if arg in found}
        if len(spaces) > 1:
            return "generic"
        return spaces.pop() if spaces else None
    if op.name == "load" and known_space(op.args[0]) == "constant" and root(op.args[0]).name == "argument_address":
        return "global"
    return known_space(op) or "generic"
