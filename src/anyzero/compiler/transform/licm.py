"""Loop-invariant code motion of loads; other operations are cheap to repeat or left to LLVM."""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.ir import Block, Op
from anyzero.compiler.operations import REMOVABLE


def licm(loops: Loops) -> None:
    """Hoists loads of a loop's header, with the operations of their addresses.

    Only into a preheader with no other successor: the load is executed in any case.
    """
    # Inner loops first: loads that are hoisted out of them may be invariant in outer ones, too.
    for loop in reversed(loops.all):
        outside = [block for block in loop.header.predecessors if block not in loop]
        if len(outside) == 1 and len(outside[0].successors) == 1 and _quiet(loop):
            _move(loop, outside[0])


def _quiet(loop: Loop) -> bool:
    return all(
        op.name in REMOVABLE and not (op.name == "load" and op.info.volatile)
        for block in loop.blocks
        for op in block.ops
    )


def _move(loop: Loop, before: Block) -> None:
    header = loop.header
    same: dict[Op, None] = {}
    for op in header.ops:
        if op.name != "phi" and all(arg in same or arg.block not in loop.blocks for arg in op.args):
            same[op] = None
    wanted = {op for op in same if op.name == "load"}
    if not wanted:
        return
    for op in reversed(list(same)):
        if op in wanted:
            wanted.update(arg for arg in op.args if arg in same)
    wanted.update(op for op in same if op.name == "part" and op.args[0] in wanted)
    for op in same:
        if op in wanted:
            op.block = before
            before.ops.append(op)
    header.ops = [op for op in header.ops if op not in wanted]
