"""Rows of a matrix that the lanes of a vector follow, each its own, an element in each iteration.

A cache line of each lane has to stay in the first-level cache until its other elements are accessed. Rows often lie a
power of two apart, and their lines share one or two sets of the cache then.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.columns import far
from anyzero.compiler.analysis.induction import step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import DIVISIONS, PURE

__all__ = ["row_walks"]

_FOLLOWS = PURE | DIVISIONS | {"phi", "builtin", "argument", "const"}
"""Operations whose value follows from ids and arguments, if their operands do."""
NEAR = 8
"""Bytes from iteration to iteration, at most: a line serves several."""
MOST = 1000
"""Operations of a body, at most: the sources of each access are looked through."""


def row_walks(body: Body, flow: Flow, shapes: Shapes) -> set[Op]:
    """Loads and stores along rows as long as a loop around them: a stride that no loop knows may be a short one."""
    found: set[Op] = set()
    if not flow.loops.all or sum(1 for _ in body.ops) > MOST:
        return found
    for block in body.blocks:
        loops = flow.loops.around(block)
        if not loops or any(loop in shapes.divergent_loops for loop in loops):
            continue
        lengths = {op.info for op in _sources(_conditions(loops)) or () if op.name == "argument"}
        for op in block.ops:
            if op.name in ("load", "store") and lengths & _distances(op.args[0], loops[0], shapes):
                found.add(op)
    return found


def _conditions(loops: Iterable[Loop]) -> list[Op]:
    return [source.condition for loop in loops for source, _ in loop.exits if source.condition is not None]


def _distances(address: Op, loop: Loop, shapes: Shapes) -> set[int]:
    """Arguments that the ids of lanes are multiplied by, where iterations access neighbours and lanes do not."""
    if len(loop.latches) != 1 or not far(shapes[address]):
        return set()
    step = step_of(address, loop)
    if step is None or step.of is not None or not 0 < abs(step.factor) <= NEAR:
        return set()
    found: set[int] = set()
    for op in _sources([address]) or ():
        if op.name == "mul" and any(not shapes[arg].uniform for arg in op.args):
            uniform = [arg for arg in op.args if shapes[arg].uniform]
            found |= {each.info for each in _sources(uniform) or () if each.name == "argument"}
    return found


def _sources(ops: list[Op]) -> set[Op] | None:
    """What the values are computed from, themselves included; None if the contents of memory are among it, which seldom
    lead to rows at equal distances.
    """
    seen, waiting = set[Op](), list(ops)
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        if op.name not in _FOLLOWS:
            return None
        seen.add(op)
        waiting += op.args
    return seen
