"""Conditions of early exits: the outcome under which a work-item has something to do.

`if (i <= k || i >= n) return;` and `if (i > k && i < n) { … }` are the same: in one of the two successors of the
branch, work-items end without any effect. The outcome that leads to the other one is known then for each comparison of
the condition.
"""

from __future__ import annotations

from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import REMOVABLE

__all__ = ["outcomes_before_effects", "outcomes_with_work"]


def outcomes_with_work(body: Body) -> dict[Op, bool]:
    """Conditions, and the outcome of each without which work-items end at once."""
    found: dict[Op, bool] = {}
    for block in body.blocks:
        if block.condition is None or len(block.successors) != 2:
            continue
        ends = [_ends(successor) for successor in block.successors]
        if ends[0] != ends[1]:
            _spread(block.condition, ends[1], found)
    return found


def outcomes_before_effects(body: Body) -> dict[Op, bool]:
    """The same for the branches that all work-items reach before any of them has an effect: without one of these
    outcomes, a work-item does nothing at all.
    """
    found: dict[Op, bool] = {}
    block, seen = body.blocks[0], set[Block]()
    while block not in seen and all(op.name in REMOVABLE and not _volatile(op) for op in block.ops):
        seen.add(block)
        successors = block.successors
        if len(successors) == 1:
            block = successors[0]
            continue
        ends = [_ends(successor) for successor in successors]
        if block.condition is None or len(ends) != 2 or ends[0] == ends[1]:
            break
        _spread(block.condition, ends[1], found)
        block = successors[int(ends[0])]
    return found


def _volatile(op: Op) -> bool:
    return op.name == "load" and bool(op.info.volatile)


def _ends(block: Block) -> bool:
    """Do work-items end here, or behind blocks without a branch, without any effect?"""
    seen: set[Block] = set()
    while block not in seen and all(op.name in REMOVABLE for op in block.ops):
        if not block.successors:
            return True
        if len(block.successors) > 1:
            return False
        seen.add(block)
        block = block.successors[0]
    return False


def _spread(condition: Op, outcome: bool, found: dict[Op, bool]) -> None:
    """All operands of an `and` that holds hold, and none of an `or` that does not."""
    waiting = [(condition, outcome)]
    while waiting:
        op, wanted = waiting.pop()
        if op in found:
            continue
        found[op] = wanted
        if op.name == ("and" if wanted else "or"):
            waiting += [(arg, wanted) for arg in op.args]
        elif op.name == "select" and op.type == "i1":
            asked, first, second = op.args
            if _is(second, False) and wanted:
                waiting += [(asked, True), (first, True)]
            elif _is(first, True) and not wanted:
                waiting += [(asked, False), (second, False)]
        elif op.name == "xor" and _is(op.args[1], True):
            waiting.append((op.args[0], not wanted))


def _is(op: Op, value: bool) -> bool:
    return op.name == "const" and bool(op.info) == value
