"""Spin loops: loops that end only when another work-item or the host writes memory.

A plain load may be hoisted out of its loop, so no program can wait by one, unless a fence or another atomic operation
in the loop forces a reload. Compare-and-swap loops are no spin loops: each failure is another work-item's success, so
they are lock-free.
"""

from __future__ import annotations

from collections.abc import Container

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow
from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import BLOCK_READS, OPERATIONS, WRITES

_OWN = ("private", "local")
"""Address spaces that only the work-items of a group can write; nothing writes `constant` memory."""
_FENCES = ("fence", "barrier")


def may_wait(body: Body, flow: Flow) -> bool:
    if any(op.name == "call" for op in body.ops):
        return True  # the function's effects are unknown
    if not any(_awaited(op) or op.name in _FENCES for op in body.ops):
        return False
    headers = {loop.header for loop in flow.loops.all}
    return any(_waits(loop, headers, flow.immediate) for loop in flow.loops.all)


def _waits(loop: Loop, headers: set[Block], immediate: Dominators[Block]) -> bool:
    """Does an exit depend on a value that is loaded inside the loop?"""
    inside = [op for block in loop.blocks for op in block.everything]
    reread = any(op.name in _FENCES or _awaited(op) for op in inside)
    if not reread:
        return False
    seen: set[Op] = set()
    conditions = [block.condition for block in loop.blocks if block.condition is not None]
    leaving = {edge[0] for edge in loop.exits}
    waiting = [block.condition for block in leaving if block.condition is not None]
    if not all(immediate.dominates(block, latch) for block in leaving for latch in loop.latches):
        # Other branches choose whether an iteration reaches the exit.
        waiting += conditions
    while waiting:
        op = waiting.pop()
        if op in seen or op.block not in loop.blocks or _succeeds(op, loop.blocks):
            continue
        seen.add(op)
        if _awaited(op) or (OPERATIONS[op.name].reads and _shared(op)):
            return True
        waiting += op.args
        if op.name == "phi" and op.block not in headers:
            # The branches before a phi choose its value; in a loop's header, the last iteration does.
            waiting += conditions
        elif op.name == "load":
            # In the group's own memory, a stored value may come from a load elsewhere.
            waiting += [other for other in inside if other.name in WRITES]
    return False


def _awaited(op: Op) -> bool:
    """Does it reload memory that other work-items may have written?"""
    if op.name == "atomic":
        return bool(op.type) and op.info.space not in _OWN
    return op.name in ("load", "copy") and op.info.volatile and _shared(op)


def _shared(op: Op) -> bool:
    if op.name in ("load", "atomic"):
        return op.info.space not in (*_OWN, "constant")
    return op.name != "group" or op.info.kind in BLOCK_READS


def _succeeds(op: Op, blocks: Container[Block | None]) -> bool:
    """Is it the success test of a compare-and-swap whose expected value is reloaded each time?"""
    if op.name != "icmp" or op.info not in ("eq", "ne"):
        return False
    for exchange, expected in (op.args, op.args[::-1]):
        if exchange.name == "atomic" and exchange.info.kind == "compare_exchange" and exchange.args[2] is expected:
            return expected.block in blocks
    return False
