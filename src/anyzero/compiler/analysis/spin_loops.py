"""Spin loops: loops that end only when another work-item or the host writes memory.

A plain load may be done once, before its loop, so nobody can wait by one, unless a fence or another atomic operation
in the loop makes it read again. What is told apart is a loop that tries again until it was faster than all others, as
sums of floats are often written: each failure is another's success, so it waits for nothing.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import OPERATIONS, WRITES

_OWN = ("private", "local")
"""Memory that only the work-items of a group can write, while `constant` memory nobody can."""
_FENCES = ("fence", "barrier")


def may_wait(body: Body, loops: Loops) -> bool:
    if any(op.name == "call" for op in body.ops):
        return True  # nobody knows what the function does
    if not any(_awaited(op) or op.name in _FENCES for op in body.ops):
        return False
    if loops.irreducible:
        return True
    headers = {loop.header for loop in loops.all}
    return any(_waits(loop, headers) for loop in loops.all)


def _waits(loop: Loop, headers: set[Block]) -> bool:
    """Does any way out of the loop depend on what is read inside it?"""
    inside = [op for block in loop.blocks for op in block.everything]
    reread = any(op.name in _FENCES or _awaited(op) for op in inside)
    if not reread:
        return False
    seen: set[Op] = set()
    waiting = [block.condition for block in {edge[0] for edge in loop.exits} if block.condition is not None]
    while waiting:
        op = waiting.pop()
        if op in seen or op.block not in loop.blocks or _succeeds(op, loop.blocks):
            continue
        seen.add(op)
        if _awaited(op) or (OPERATIONS[op.name].reads and _shared(op)):
            return True
        waiting += op.args
        if op.name == "phi" and op.block not in headers:
            # Which of its values it has is up to the branches before it. Where loops begin, it is the last turn's.
            waiting += [block.condition for block in loop.blocks if block.condition is not None]
        elif op.name == "load":
            # Of the group's own memory: what was put there may have been read elsewhere.
            waiting += [other for other in inside if other.name in WRITES]
    return False


def _awaited(op: Op) -> bool:
    """Does it read anew each time what others may have written?"""
    if op.name == "atomic":
        return bool(op.type) and op.info.space not in _OWN
    return op.name in ("load", "copy") and op.info.volatile and _shared(op)


def _shared(op: Op) -> bool:
    if op.name in ("load", "atomic"):
        return op.info.space not in (*_OWN, "constant")
    return op.name != "group" or op.info.kind in ("block_read", "image_block_read")


def _succeeds(op: Op, blocks: set[Block]) -> bool:
    """Is it the question whether an exchange took place, whose expectation is another one each time?"""
    if op.name != "icmp" or op.info not in ("eq", "ne"):
        return False
    for exchange, expected in (op.args, op.args[::-1]):
        if exchange.name == "atomic" and exchange.info.kind == "compare_exchange" and exchange.args[2] is expected:
            return expected.block in blocks
    return False
