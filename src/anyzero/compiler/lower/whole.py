"""Blocks of loops that lanes leave one by one, written twice: for rounds that all lanes take part in, and for others.

Most rounds are of the first kind. In them nothing is masked, and addresses need not be found from the first lane that
is still there.
"""

from __future__ import annotations

from functools import cached_property

from anyzero.compiler.ir import SIZES, Block, Body, Op
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.lanes import whole_or_part
from anyzero.compiler.lower.llvm import Value
from anyzero.compiler.transform.linearise import LOOP_MASK

MOST = 64
"""Operations of a block that is written twice."""


class Rounds:
    """Writes the blocks of a body, in which some are worth being written twice."""

    def __init__(self, e: Emitter, body: Body) -> None:
        self.e = e
        self.body = body

    @cached_property
    def elsewhere(self) -> set[Op]:
        """What others than the block that computes it may ask for."""
        home = {op: block for block in self.body.blocks for op in block.ops}
        used = {arg for block in self.body.blocks for op in block.ops for arg in op.args if home.get(arg) is not block}
        conditions = {block.condition for block in self.body.blocks if block.condition is not None}
        return used | conditions | set(self.e.masks.of.values())

    def write_block(self, block: Block) -> None:
        e = self.e
        if not _worth(e, block):
            e.write_block(block)
            return
        mask = e.masks[block]
        once, ops = _parted(block)
        e.block = block
        e.forget_since({})
        e.write(once)
        masked = e.vector(mask)
        known, all_here, some, join = whole_or_part(e)
        e.start(all_here)
        e.vectors[mask] = Value(e.b, "splat (i1 true)", masked.type)
        e.write(ops)
        whole, whole_end = _results(e, ops), e.last_label()
        e.b.line(f"br label %{join}")
        e.start(some)
        e.vectors[mask] = masked
        e.forget_since(dict(known))
        e.write(ops)
        part, part_end = _results(e, ops), e.last_label()
        e.b.line(f"br label %{join}")
        e.start(join)
        e.forget_since(known)
        for table, one, other in ((e.scalars, whole[0], part[0]), (e.vectors, whole[1], part[1])):
            for op in ops:
                if op in self.elsewhere and op in one:
                    table[op] = _either(e, one[op], whole_end, other[op], part_end)
        for op in ops:
            if op in self.elsewhere and op in whole[2]:
                pairs = zip(whole[2][op], part[2][op], strict=True)
                e.parts[op] = [_either(e, one, whole_end, other, part_end) for one, other in pairs]


def _worth(e: Emitter, block: Block) -> bool:
    mask = e.masks.of.get(block)
    if not e.lanes or mask is None or len(block.ops) > MOST or not _of_loop(mask):
        return False
    return any(op.name in ("load", "store") and _gains(e, op) for op in block.ops)


def _of_loop(mask: Op) -> bool:
    if mask.name in ("mask_and", "mask_andn"):
        # The loop's condition stands in front of what it decides about.
        mask = mask.args[0]
    return mask.name == "read" and mask.info.name == LOOP_MASK


def _gains(e: Emitter, op: Op) -> bool:
    shape = e.shape(op.args[0])
    small = SIZES[op.type or op.args[1].type] < 4
    return not shape.uniform and (op.name == "store" or small or not shape.exact)


def _parted(block: Block) -> tuple[list[Op], list[Op]]:
    """What is the same with any mask, which comes first, and what is not."""
    once: list[Op] = []
    twice: dict[Op, None] = {}
    written: set[object] = set()
    for op in block.ops:
        same = op.pure or (op.name == "read" and op.info not in written)
        if same and not any(arg in twice for arg in op.args):
            once.append(op)
        else:
            twice[op] = None
            written.add(op.info if op.name == "write" else None)
    return once, list(twice)


def _results(e: Emitter, ops: list[Op]) -> tuple[dict[Op, Value], dict[Op, Value], dict[Op, list[Value]]]:
    """What the operations gave, which nobody finds any more afterwards."""
    scalars = {op: e.scalars.pop(op) for op in ops if op in e.scalars}
    vectors = {op: e.vectors.pop(op) for op in ops if op in e.vectors}
    parts = {op: e.parts.pop(op) for op in ops if op in e.parts}
    return scalars, vectors, parts


def _either(e: Emitter, one: Value, one_end: str, other: Value, other_end: str) -> Value:
    if one.text == other.text:
        return one
    return e.b.op(f"phi {one.type} [ {one.text}, %{one_end} ], [ {other.text}, %{other_end} ]", one.type)
