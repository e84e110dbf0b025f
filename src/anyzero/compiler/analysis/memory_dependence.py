"""Values that depend on the contents of memory. The others follow from ids, arguments and the launch's size alone."""

from __future__ import annotations

from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import MASKS

_PASS_ON = {"read", "write", *MASKS}
"""Operations, besides pure ones, that depend on nothing but their operands, or on what is written to their slot."""


def memory_dependent(body: Body) -> set[Op]:
    """Found forwards, from loads and other operations whose results are not known from their operands."""
    users: dict[object, list[Op]] = {}
    waiting: list[Op] = []
    for block in body.blocks:
        for op in (*block.phis, *block.ops):
            for arg in op.args:
                users.setdefault(arg, []).append(op)
            if op.name == "read":
                users.setdefault(op.info, []).append(op)
            elif not op.pure and op.name not in _PASS_ON:
                waiting.append(op)
    found: set[Op] = set()
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += users.pop(op, ())
            if op.name == "write":
                # Once: a slot may have as many writes as reads.
                waiting += users.pop(op.info, ())
    return found
