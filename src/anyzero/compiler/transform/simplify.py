"""Simplification: folds operations whose operands became constant, by the builder's rules, and constant branches."""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import signed_offset
from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import SIZES, Body, Op, Variable
from anyzero.compiler.operations import INTEGER
from anyzero.compiler.transform.blocks import arrange, join, substitute
from anyzero.compiler.transform.phis import remove_trivial_phis

_KNOWN = INTEGER | {"icmp", "select", "cast", "offset", "fneg"}


def simplify(body: Body) -> None:
    b = Builder(body)
    instead: dict[Op, Op] = {}
    for block in body.blocks:
        ops, block.ops = block.ops, []
        b.block = block
        for op in ops:
            args = op.args
            for place, arg in enumerate(args):
                if arg in instead:
                    args[place] = instead[arg]
            if op.name not in _KNOWN:
                known = _contents(body, op) if op.name in ("load", "part") else None
                if known is not None:
                    instead[op] = known
                if known is None or known.name != "const":
                    block.ops.append(known or op)
                continue
            b.word = op.word
            shorter = _again(b, op)
            if _same(op, shorter) and block.ops and block.ops[-1] is shorter:
                block.ops[-1] = op
            else:
                instead[op] = shorter
    substitute(body, instead)
    _decide(body)


def _same(op: Op, other: Op) -> bool:
    return op.name == other.name and op.type == other.type and op.info == other.info and op.args == other.args


def _again(b: Builder, op: Op) -> Op:
    args = op.args
    if op.name in INTEGER:
        return b.binary(op.name, args[0], args[1], op.flags)
    if op.name == "icmp":
        return b.icmp(op.info, args[0], args[1])
    if op.name == "select":
        return b.select(args[0], args[1], args[2])
    if op.name == "cast":
        return b.cast(op.info, args[0], op.type)
    if op.name == "fneg":
        return b.fneg(args[0], op.flags)
    return b.offset(args[0], args[1])


def _contents(body: Body, load: Op) -> Op | None:
    """The value of a load from a constant or from the arguments, at a constant offset."""
    of = load.args[0] if load.name == "part" else load
    if of.name != "load" or of.info.volatile or (load is of and of.info.count != 1):
        return None
    pointer, offset = of.args[0], 0
    if pointer.name == "offset" and pointer.args[1].name == "const":
        pointer, offset = pointer.args[0], signed_offset(pointer.args[1])
    size = SIZES[load.type]
    offset += load.info * size if load is not of else 0
    if pointer.name == "argument_address" and offset >= 0:
        return Op("argument", load.type, info=pointer.info + offset, word=load.word, block=load.block)
    if pointer.name != "variable" or pointer.info.image is None or offset < 0:
        return None
    return _constant(body, pointer.info, offset, size, load)


def _constant(body: Body, of: Variable, offset: int, size: int, load: Op) -> Op | None:
    """A number, or the address of a function; other addresses are constant only once the code is loaded."""
    for place, function in of.functions:
        if place == offset and load.type == "ptr":
            return Op("function", "ptr", info=function, word=load.word, block=load.block)
    addresses = [*(place for place, _ in of.functions), *(place for place, _, _ in of.addresses)]
    if any(place < offset + size and offset < place + SIZES["ptr"] for place in addresses):
        return None
    assert of.image is not None
    data = of.image[offset : offset + size]
    return body.const(load.type, int.from_bytes(data, "little")) if len(data) == size else None


def _decide(body: Body) -> None:
    """Folds branches with a constant condition."""
    changed = False
    for block in body.blocks:
        condition = block.condition
        if condition is not None and condition.name == "const":
            changed = True
            taken, other = block.successors if condition.info else block.successors[::-1]
            block.condition, block.successors = None, [taken]
            place = other.predecessors.index(block)
            del other.predecessors[place]
            for phi in other.phis:
                del phi.args[place]
    if changed:
        arrange(body, body.blocks[0])
        remove_trivial_phis(body)
        join(body)
