"""Row blocking: several rows of work-items at once, the operations that they share, and whether it pays.

Neighbours along the second dimension often read the same memory: each row of a product of matrices reads all of the
other matrix. Code that runs some rows in lockstep executes operations that do not depend on the row once. That is
possible where control flow is uniform across the rows.
"""

from __future__ import annotations

from collections.abc import Container

from anyzero.compiler.analysis.loops import find_loops
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import SIZES, Block, Body, Combine, Masks, Op, Slot
from anyzero.compiler.operations import OPERATIONS
from anyzero.lazy_dataclass import dataclass, field

MOST = 8
LIMIT = 800
"""Most operations of the code for several rows."""


@dataclass(slots=True, eq=False)
class Rows:
    """Properties of code that runs several rows."""

    count: int
    each: set[Op]
    """Operations that are repeated for each row."""
    slots: set[Slot]
    """Slots that hold another value for each row."""
    columns: set[Op] = field(default_factory=set)
    """Accesses that are combined for all rows, see `row_columns`."""


def apart(body: Body, masks: Masks, kept: Container[Slot] = ()) -> Rows | None:
    """The operations that differ between rows; None where control flow might. Every vector has memory of its own for
    the slots in `kept`.
    """
    if not _simple(body):
        return None
    each: set[Op] = set()
    slots: set[Slot] = set()
    changed = True
    while changed:
        changed = False
        for block in body.blocks:
            for op in block.ops:
                if op not in each and _differs(op, each, slots):
                    each.add(op)
                    changed = True
                    if op.name == "write":
                        slots.add(op.info)
    for block in body.blocks:
        if block.condition in each or masks.of.get(block) in each:
            return None
    # Also where the value that is written is the same for all rows.
    each |= {op for op in body.ops if op.name == "write" and op.info in kept}
    return Rows(1, each, slots)


def can_share(body: Body) -> bool:
    """Are there rows, and loops in which they might share loads? A cheap check before anything is analysed."""
    again = any(target.number <= block.number for block in body.blocks for target in block.successors)
    return again and any(_is_row(op) for op in body.ops)


def served(body: Body, flow: Flow, shapes: Shapes) -> list[Op]:
    """Vectors that loops read and that are the same for all rows; known before the number of lanes is."""
    each: set[Op] = set()
    before = -1
    while len(each) > before:
        before = len(each)
        each |= {op for op in body.ops if _differs(op, each, set())}
    rows = Rows(1, each, set())
    inside = [op for op in body.ops if op.block and flow.loops.innermost[op.block] is not None]
    return [op for op in inside if each and _serves(op, rows, shapes)]


def _simple(body: Body) -> bool:
    """Are there rows, and no operations that involve more than one vector?"""
    if not any(_is_row(op) for op in body.ops):
        return False
    for op in body.ops:
        if OPERATIONS[op.name].rows == "never" or (op.name == "barrier" and isinstance(op.info, Combine)):
            return False
        if op.name == "builtin" and op.info[0].startswith("sub_group"):
            return False
    return not any(variable.space == "private" for variable in body.variables)


def _is_row(op: Op) -> bool:
    return op.name == "builtin" and op.info[0] in ("global_id", "local_id") and op.info[1] == 1


def _differs(op: Op, each: set[Op], slots: set[Slot]) -> bool:
    if op.name == "builtin":
        return _is_row(op)
    if op.name in ("read", "write") and op.info in slots:
        return True
    if OPERATIONS[op.name].rows == "each":
        return True
    if op.name in ("load", "store") and op.info.volatile:
        return True
    return any(arg in each for arg in op.args)


def worth(rows: Rows, body: Body, shapes: Shapes, lanes: int, register: int, registers: int, most: int) -> int:
    """How many rows should run at once: 1 where a vector that is loaded serves one row only."""
    loops = find_loops(body, dominators(body.blocks[0], lambda block: block.successors))
    inside = [block for block in body.blocks if loops.innermost[block] is not None]
    shared = [_width(op, lanes, register) for block in inside for op in block.ops if _serves(op, rows, shapes)]
    if not shared:
        return 1
    carried = max(_carried(block, rows, shapes, lanes, register) for block in inside)
    operations = sum(len(block.ops) for block in body.blocks)
    count = MOST
    while count > 1 and (
        count > most
        or count * carried + max(shared) > registers * 3 // 4
        or count * len(rows.each) + operations > LIMIT
    ):
        count //= 2
    return count


def _carried(block: Block, rows: Rows, shapes: Shapes, lanes: int, register: int) -> int:
    """Live registers of one row at the beginning of the block."""
    values = {op for op in block.ops if op.name == "read"}
    values |= {arg for op in block.ops for arg in op.args if arg.block is not block}
    return sum(_registers(op.type, lanes, register) for op in values & rows.each if shapes[op].varying)


def _serves(op: Op, rows: Rows, shapes: Shapes) -> bool:
    """Is it a vector from memory that all rows use?"""
    return op.name == "load" and op not in rows.each and not shapes[op.args[0]].uniform


def _width(op: Op, lanes: int, register: int) -> int:
    return int(op.info.count) * _registers(op.type, lanes, register)


def _registers(type_: str, lanes: int, register: int) -> int:
    return max(1, SIZES[type_] * lanes // register)
