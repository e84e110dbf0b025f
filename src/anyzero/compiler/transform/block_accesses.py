"""Block reads and writes of sub-groups as a load or store for each component, for checks of accesses."""

from __future__ import annotations

from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import SIZES, Access, Body, Op
from anyzero.compiler.transform.blocks import substitute


def expand_blocks(body: Body, lanes: int) -> None:
    """Replaces block reads and writes by the same accesses, component by component."""
    if not any(op.name == "group" and op.info.kind in ("block_read", "block_write") for op in body.ops):
        return
    b = Builder(body)
    read: dict[Op, list[Op]] = {}
    instead: dict[Op, Op] = {}
    for block in body.blocks:
        ops, block.ops = block.ops, []
        b.block = block
        for op in ops:
            if op.name == "part" and op.args[0] in read:
                instead[op] = read[op.args[0]][op.info]
            elif op.name != "group" or op.info.kind not in ("block_read", "block_write"):
                block.ops.append(op)
            else:
                b.word = op.word
                found = _block_accesses(b, op, lanes)
                if op.info.kind == "block_read" and op.info.count == 1:
                    instead[op] = found[0]
                read[op] = found
    substitute(body, instead)


def _block_accesses(b: Builder, op: Op, lanes: int) -> list[Op]:
    """The accesses of one block operation. The first components of all lanes are contiguous, then the second ones."""
    reads = op.info.kind == "block_read"
    element = op.type if reads else op.args[1].type
    size = SIZES[element]
    access = Access(alignment=size, space="global")
    lane = b.emit("builtin", "i64", [], ("sub_group_local_id", 0))
    own = b.offset(op.args[0], b.mul(lane, b.const("i64", size)))
    found = []
    for row in range(op.info.count):
        address = b.offset(own, row * lanes * size)
        if reads:
            found += b.load(address, element, access)
        else:
            b.store(address, [op.args[1 + row]], access)
    return found
