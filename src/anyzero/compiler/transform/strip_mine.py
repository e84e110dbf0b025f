"""Strip-mining: cuts loops with a large stride into strips, and ends a region after each.

A naive product of matrices reads down a column of the second matrix: each iteration reads another page, and where a row
of the matrix is a power of two long, all of them map to the same few sets of the caches. All vectors of a block run one
strip before any starts the next (loop tiling), so that the memory of a strip stays in the caches for all rows.
"""

from __future__ import annotations

from anyzero.compiler.analysis.group_uniformity import group_uniform
from anyzero.compiler.analysis.induction import counter, step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.rows import served
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import DIVISIONS, LONG, ORDERS
from anyzero.compiler.transform.block_order import number, redirect

TURNS = 64
"""Iterations of a strip: with the columns of a block, the memory that they read fits into a small second-level cache.
"""
FAR = 256
"""Strides in bytes beyond which caches and prefetchers do badly."""

_ALONE = ORDERS | (LONG - DIVISIONS - {"frem"}) | {"fault"}
"""Kernels with these operations are left alone: the order of work-items may be visible, or there is little to gain."""


def strip_mine(body: Body, flow: Flow, shapes: Shapes) -> bool:
    """Cuts loops; True if any was, and the flow graph has to be analysed again."""
    if not all(_may_wait(op) for op in body.ops):
        return False
    same = group_uniform(body, flow)
    # All vectors have to reach the end of a strip together.
    if any(block.condition is not None and not _agreed(block.condition, same) for block in body.blocks):
        return False
    loops = {flow.loops.innermost[op.block]: None for op in served(body, flow, shapes) if op.block and _far(op, flow)}
    chosen = [loop for loop in loops if loop is not None and _fit(loop)]
    for loop in chosen:
        _cut(loop, body)
    if chosen:
        number(body)
    return bool(chosen)


def _may_wait(op: Op) -> bool:
    return op.name not in _ALONE and not (op.name in ("load", "store") and op.info.volatile)


def _agreed(condition: Op, same: set[Op]) -> bool:
    return condition.block is None or condition in same


def _fit(loop: Loop) -> bool:
    stores = any(op.name == "store" for block in loop.blocks for op in block.ops)
    return not stores and len(loop.header.predecessors) == 2 and _counter(loop) is not None


def _far(op: Op, flow: Flow) -> bool:
    """Is its stride per iteration large?"""
    assert op.block is not None
    loop = flow.loops.innermost[op.block]
    assert loop is not None
    step = step_of(op.args[0], loop)
    return step is None or step.of is not None or abs(step.factor) >= FAR


def _counter(loop: Loop) -> tuple[Op, Op] | None:
    """An induction variable with a constant step: the phi and the sum."""
    found = ((phi, counter(phi, loop)) for phi in loop.header.phis)
    return next(((phi, sum_) for phi, sum_ in found if sum_ is not None), None)


def _cut(loop: Loop, body: Body) -> None:
    """Ends a region on the back edge of each strip's last iteration."""
    header, latch = loop.header, loop.latches[0]
    found = _counter(loop)
    assert found is not None
    phi, sum_ = found
    length = body.const(phi.type, TURNS * sum_.args[1].info)
    (outside,) = (each for each in header.predecessors if each is not latch)
    asking = Block(len(body.blocks), predecessors=[latch])
    pause = Block(len(body.blocks) + 1, predecessors=[asking])
    onward = Block(len(body.blocks) + 2, predecessors=[asking, pause], successors=[header])
    asking.successors, pause.successors = [pause, onward], [onward]
    first = outside.append(Op("add", phi.type, [phi.args[header.predecessors.index(outside)], length]))
    end = Op("phi", phi.type)
    asking.condition = asking.append(Op("icmp", "i1", [sum_, end], "eq"))
    pause.append(Op("barrier", "", [], "joint"))
    following = pause.append(Op("add", phi.type, [sum_, length]))
    again = onward.add_phi(Op("phi", phi.type, [end, following]))
    redirect(latch, header, asking)
    header.predecessors = [onward if each is latch else each for each in header.predecessors]
    end.args = [again if each is onward else first for each in header.predecessors]
    header.add_phi(end)
    body.blocks += [asking, pause, onward]
