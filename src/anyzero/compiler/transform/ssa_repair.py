"""SSA repair: values whose definitions no longer dominate their uses go through slots, also across barriers."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Block, Body, Masks, Op, Slot


def demote(values: set[Op], body: Body, shapes: Shapes, masks: Masks) -> None:
    """Demotes values to slots: written at the definition, read in every other block with a use."""
    slots: dict[Op, Slot] = {}
    for value in values:
        slots[value] = Slot(value.type, "value", shapes[value])
    for block in body.blocks:
        reads: dict[Op, Op] = {}

        def seen(value: Op, block: Block = block, reads: dict[Op, Op] = reads) -> Op:
            if value.block is block or value not in slots:
                return value
            found = reads.get(value)
            if found is None:
                found = reads[value] = Op("read", value.type, [], slots[value], block=block)
                shapes.of[found] = slots[value].shape
            return found

        for op in block.ops:
            op.args = [seen(each) for each in op.args]
        if block.condition is not None:
            block.condition = seen(block.condition)
        if block in masks.of:
            masks.of[block] = seen(masks.of[block])
        block.ops[:0] = reads.values()
    for block in {value.block: None for value in slots if value.block is not None}:
        ops, block.ops = block.ops, []
        for op in ops:
            block.ops.append(op)
            if op in slots:
                block.append(Op("write", "", [op], slots[op]))


def repair_ssa(body: Body, shapes: Shapes, masks: Masks) -> None:
    """Demotes values whose block no longer dominates all their users."""
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    lost: set[Op] = set()
    for block in body.blocks:
        used = [arg for op in block.ops for arg in op.args]
        used += [each for each in (block.condition, masks.of.get(block)) if each is not None]
        for value in used:
            if value.block not in (None, block) and value not in lost and not immediate.dominates(value.block, block):
                lost.add(value)
    if lost:
        demote(lost, body, shapes, masks)
