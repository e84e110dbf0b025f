"""Speculation of loads through a select of two pointers, where both may be dereferenced."""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import signed_offset
from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import SIZES, Body, Op
from anyzero.compiler.transform.blocks import substitute


def speculate_loads(body: Body) -> None:
    """Loads both and selects the value: variables whose addresses are no longer selected can be promoted."""
    if not any(op.name == "select" and op.type == "ptr" for op in body.ops):
        return
    b = Builder(body)
    instead: dict[Op, Op] = {}
    loaded: dict[Op, list[Op]] = {}
    for block in body.blocks:
        ops, block.ops = block.ops, []
        b.block = block
        for op in ops:
            b.word = op.word
            if op.name == "part" and op.args[0] in loaded:
                instead[op] = loaded[op.args[0]][op.info]
            elif op.name == "load" and not op.info.volatile and (sides := _sides(op)) is not None:
                condition, then, otherwise, offset = sides
                pairs = zip(
                    b.load(b.offset(then, offset), op.type, op.info),
                    b.load(b.offset(otherwise, offset), op.type, op.info),
                    strict=True,
                )
                values = [b.select(condition, first, second) for first, second in pairs]
                if len(values) == 1:
                    instead[op] = values[0]
                else:
                    loaded[op] = values
            else:
                block.ops.append(op)
    substitute(body, instead)


def _sides(load: Op) -> tuple[Op, Op, Op, int] | None:
    """The condition, the two pointers, and the offset that is added to either."""
    pointer, offset = load.args[0], 0
    if pointer.name == "offset" and pointer.args[1].name == "const":
        pointer, offset = pointer.args[0], signed_offset(pointer.args[1])
    if pointer.name != "select":
        return None
    condition, then, otherwise = pointer.args
    size = SIZES[load.type] * load.info.count
    if _readable(then, offset, size) and _readable(otherwise, offset, size):
        return condition, then, otherwise, offset
    return None


def _readable(pointer: Op, offset: int, size: int) -> bool:
    if pointer.name == "offset" and pointer.args[1].name == "const":
        pointer, offset = pointer.args[0], offset + signed_offset(pointer.args[1])
    if pointer.name != "variable" or pointer.info.space not in ("private", "constant"):
        return False
    return bool(0 <= offset <= pointer.info.size - size)
