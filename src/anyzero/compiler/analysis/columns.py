"""Loads that are strided across lanes and contiguous across iterations: each lane reads along a row of a matrix.

Several iterations of such a load are one contiguous load for each lane, and a transposition in registers.
"""

from __future__ import annotations

from anyzero.compiler.analysis.induction import counter, step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.plain_loops import Plain, plain
from anyzero.compiler.analysis.uniformity import Shape, Shapes
from anyzero.compiler.folding import signed, width
from anyzero.compiler.ir import SIZES, Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["Columns", "find_columns", "may_have_columns"]

ROW = 32
"""Bytes that one load of the unrolled loop reads for a lane."""
LINE = 64
MOST = 400
"""Operations of the unrolled loop."""

_STAYS = {"sge": "slt", "uge": "ult", "eq": "ne", "sle": "sgt", "ule": "ugt"}
"""The inverse of each comparison: loops are described by the condition to stay."""
_TURNED = {"slt": "sgt", "ult": "ugt", "sgt": "slt", "ugt": "ult", "ne": "ne"}
"""Each comparison with its operands exchanged."""
_UP, _DOWN = ("slt", "ult"), ("sgt", "ugt")


@dataclass(slots=True, eq=False)
class Columns:
    found: Plain
    loads: set[Op]
    counter: Op
    bound: Op
    order: str
    """The comparison of counter and bound that holds while there is another iteration: ne; slt, ult; sgt, ugt."""
    by: int
    """The counter's step, negative where it counts down."""
    before: bool
    """Does a loop of one block compare the counter of the finished iteration, or that of the next one?"""
    factor: int
    """The unroll factor."""


def may_have_columns(loop: Loop) -> bool:
    """A cheap check before lanes are analysed: are there loads that are contiguous across iterations?"""
    found = plain(loop)
    return found is not None and any(op.name == "load" and _along(op, loop) for op in found.ops)


def find_columns(loop: Loop, shapes: Shapes) -> Columns | None:
    found = plain(loop)
    if found is None:
        return None
    loads = {op for op in found.ops if op.name == "load" and _far(shapes[op.args[0]]) and _along(op, loop)}
    condition = found.header.condition
    if not loads or condition is None or condition.name != "icmp" or not shapes[condition].uniform:
        return None
    counted = _counted(found, condition)
    factor = min(ROW // (SIZES[op.type] * op.info.count) for op in loads)
    if counted is None or factor < 2 or factor * len(found.ops) > MOST:
        return None
    return Columns(found, loads, *counted, factor)


def _far(shape: Shape) -> bool:
    """Does each lane load from a cache line of its own?"""
    return shape.stride is None or abs(shape.stride) >= LINE


def _along(load: Op, loop: Loop) -> bool:
    """Does each iteration load the element after the previous iteration's?"""
    size = SIZES[load.type] * load.info.count
    if load.info.volatile or size not in (4, 8, 16) or SIZES[load.type] < 4 or load.type == "ptr":
        return False
    step = step_of(load.args[0], loop)
    return step is not None and step.of is None and step.factor == size


def _counted(found: Plain, condition: Op) -> tuple[Op, Op, str, int, bool] | None:
    """Counter, bound, order, by and before of `Columns`."""
    order = str(condition.info)
    if found.header.successors[0] is found.exit:
        order = _STAYS.get(order, "")
    left, right = condition.args
    if left.block not in found.loop.blocks:
        order, left, right = _TURNED.get(order, ""), right, left
    if right.block in found.loop.blocks:
        return None
    for phi in found.header.phis:
        sum_ = counter(phi, found.loop)
        # Only a loop of one block tests its condition after an iteration.
        if sum_ is not None and (left is phi or (left is sum_ and found.header is found.latch)):
            by = signed(sum_.args[1].info, width(phi.type))
            ends = abs(by) == 1 if order == "ne" else abs(by) < 1 << 16 and order in (_UP if by > 0 else _DOWN)
            return (phi, right, order, by, left is phi) if ends else None
    return None
