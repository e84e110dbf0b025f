"""Accesses that are strided across lanes and contiguous across rows of work-items, as in a transposition.

Where several rows run at once, the elements of all rows are contiguous for each lane: one load or store a lane, and a
transposition in registers.
"""

from __future__ import annotations

from anyzero.compiler.analysis.rows import Rows
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import SIZES, Body, Masks, Op

__all__ = ["columns", "may_have_row_columns", "tall"]

DEPTH = 16
LINE = 64
"""Most bytes that all rows together access for a lane: a cache line."""
FEWEST = 4
OPERATIONS = 800
"""Most operations of the code for all rows."""


def may_have_row_columns(body: Body) -> bool:
    """A cheap check before anything is analysed."""
    return any(op.name in ("load", "store") and _beside(op) for op in body.ops)


def columns(body: Body, rows: Rows, masks: Masks, shapes: Shapes) -> set[Op]:
    """Accesses of that kind, of all lanes."""
    return {
        op
        for block in body.blocks
        if block in masks.of and masks.of[block].name == "entry_mask"
        for op in block.ops
        if op in rows.each and op.name in ("load", "store") and shapes[op.args[0]].varying and _beside(op)
    }


def tall(rows: Rows, body: Body, lanes: int, register: int, registers: int, most: int) -> int:
    """How many rows should run at once for such accesses."""
    if not rows.columns or lanes & (lanes - 1):
        return 1
    size = max(SIZES[op.type or op.args[1].type] for op in rows.columns)
    count, each = LINE // size, max(1, size * lanes // register)
    operations = sum(len(block.ops) for block in body.blocks)
    while count > 1 and (count * each > registers or count > most or count * len(rows.each) + operations > OPERATIONS):
        count //= 2
    return count if count >= FEWEST else 1


def _beside(op: Op) -> bool:
    """Does the next row access the adjacent element?"""
    access, size = op.info, SIZES[op.type or op.args[1].type]
    if access.count != 1 or access.volatile or size < 4 or (op.type or op.args[1].type) == "ptr":
        return False
    return _step(op.args[0], DEPTH) == size


def _step(op: Op, depth: int) -> int | None:
    """The stride between two rows' values, modulo the type's range; None if unknown."""
    if op.name == "builtin":
        return int(op.info[0] in ("global_id", "local_id") and op.info[1] == 1)
    if not op.args:
        return 0 if op.name in ("const", "argument", "argument_address", "local_argument", "variable") else None
    if not depth or not op.pure or op.name == "phi":
        return None
    steps = [_step(each, depth - 1) for each in op.args]
    known = [each for each in steps if each is not None]
    if len(known) < len(steps):
        return None
    if not any(known):
        return 0
    if op.name in ("add", "offset"):
        return known[0] + known[1]
    if op.name == "sub":
        return known[0] - known[1]
    if op.name == "cast" and op.info in ("trunc", "sext", "zext"):
        return known[0]
    if op.name in ("mul", "shl") and op.args[1].name == "const":
        number = int(op.args[1].info)
        return known[0] * number if op.name == "mul" else known[0] << (number % 64)
    return None
