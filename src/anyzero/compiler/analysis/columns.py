"""Accesses that are strided across lanes and contiguous across iterations: each lane goes along a row of a matrix.

Several iterations of such a load are one contiguous load for each lane, and a transposition in registers; so are those
of a store.
"""

from __future__ import annotations

from anyzero.compiler.analysis.distances import bytes_of
from anyzero.compiler.analysis.induction import counter, step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.plain_loops import Plain, plain
from anyzero.compiler.analysis.row_order import Apart, kept_apart
from anyzero.compiler.analysis.uniformity import Shape, Shapes
from anyzero.compiler.folding import signed, width
from anyzero.compiler.ir import SIZES, Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["Columns", "far", "find_columns", "may_have_columns"]

ROW = 32
"""Bytes that one access of the unrolled loop reads or writes for a lane."""
SHORT_ROW = 16
WORD = 4
"""The same of elements of less than a word: as many iterations as of half a row of words, or twice that."""
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
    accesses: set[Op]
    """Loads and stores along rows."""
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
    tests: list[Apart]
    """The accesses that have to be compared at run time: the unrolled loop must not run where they meet."""


def may_have_columns(loop: Loop, thorough: bool) -> bool:
    """A cheap check before lanes are analysed: are there accesses that are contiguous across iterations?"""
    found = plain(loop, thorough)
    return found is not None and any(op.name in ("load", "store") and _along(op, loop, thorough) for op in found.ops)


def find_columns(loop: Loop, shapes: Shapes, thorough: bool) -> Columns | None:
    """`thorough` says that stores and elements of less than a word count as well."""
    found = plain(loop, thorough)
    if found is None:
        return None
    accesses = {
        op
        for op in found.ops
        if op.name in ("load", "store") and far(shapes[op.args[0]]) and _along(op, loop, thorough)
    }
    condition = found.header.condition
    if not accesses or condition is None or condition.name != "icmp" or not shapes[condition].uniform:
        return None
    counted = _counted(found, condition, thorough)
    factor = min((ROW if _element(op) >= WORD else SHORT_ROW) // bytes_of(op) for op in accesses)
    if counted is None or factor < 2 or factor * len(found.ops) > MOST:
        return None
    counted_by = factor * abs(counted[3])
    if counted_by >> width(counted[0].type) - 1:
        return None
    tests = kept_apart(found.ops, loop, accesses, factor)
    return None if tests is None else Columns(found, accesses, *counted, factor, tests)


def far(shape: Shape) -> bool:
    """Does each lane access a cache line of its own?"""
    return shape.stride is None or abs(shape.stride) >= LINE


def _element(op: Op) -> int:
    return SIZES[op.type or op.args[1].type]


def _along(op: Op, loop: Loop, thorough: bool) -> bool:
    """Does each iteration access the element after the previous iteration's?"""
    size, type_ = bytes_of(op), op.type or op.args[1].type
    if op.info.volatile or size not in (1, 2, 4, 8, 16) or type_ == "ptr" or SIZES[type_] < (1 if thorough else WORD):
        return False
    step = step_of(op.args[0], loop)
    return step is not None and step.of is None and step.factor == size


def _counted(found: Plain, condition: Op, thorough: bool) -> tuple[Op, Op, str, int, bool] | None:
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
            # A counter that is compared for equality may wrap around; so does the difference from its bound.
            ends = (thorough or abs(by) == 1) if order == "ne" else order in (_UP if by > 0 else _DOWN)
            return (phi, right, order, by, left is phi) if ends and abs(by) < 1 << 16 else None
    return None
