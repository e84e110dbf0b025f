"""Inserts residency checks before every access, for devices without on-demand paging.

Page protection is no alternative: the host and other devices use the same pages at the same time, and would lose access
as well.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.analysis.uniformity import UNIFORM, Shapes
from anyzero.compiler.ir import SIZES, Body, Op, Reach, Space

_OWN_ROOTS = frozenset({"variable", "argument_address", "local_argument"})
"""Addresses of memory that belongs to the kernel: its variables, its arguments, its local memory."""
_OWN_SPACES: frozenset[Space] = frozenset({"private", "local", "code"})


def check_residency(body: Body, shapes: Shapes) -> None:
    """Puts a `resident` operation in front of each access to memory that is not the kernel's own."""
    for block in body.blocks:
        ops: list[Op] = []
        for op in block.ops:
            for check in _checks(op):
                check.block, check.word = block, op.word
                shapes.of[check] = UNIFORM
                ops.append(check)
            ops.append(op)
        block.ops = ops


def _checks(op: Op) -> list[Op]:
    if op.name in ("load", "store"):
        element = op.type if op.name == "load" else op.args[1].type
        return _check(op.args[0], op.info.space, Reach(SIZES[element] * op.info.count))
    if op.name == "atomic":
        values = [each.type for each in op.args[1:]]
        element = values[0] if values else op.type
        return _check(op.args[0], op.info.space, Reach(4 if op.info.kind.startswith("flag") else SIZES[element]))
    if op.name == "copy":
        to, source, size = op.args
        return _check(to, op.info.space, Reach(1), size) + _check(source, "generic", Reach(1), size)
    if op.name == "group_copy":
        to, source, elements, stride = op.args
        outside = source if op.info.space == "local" else to
        return _check(outside, "global", Reach(op.info.count), elements, stride)
    if op.name == "group" and op.info.kind in ("block_read", "block_write"):
        element = op.type if op.info.kind == "block_read" else op.args[1].type
        return _check(op.args[0], "generic", Reach(SIZES[element], op.info.count))
    return []


def _check(pointer: Op, space: Space, reach: Reach, *sizes: Op) -> list[Op]:
    if space in _OWN_SPACES or _own(pointer, set()):
        return []
    return [Op("resident", "", [pointer, *sizes], reach)]


def _own(pointer: Op, seen: set[Op]) -> bool:
    begin = root(pointer)
    if begin in seen:
        return True
    seen.add(begin)
    if begin.name in ("phi", "select"):
        choices = begin.args[1:] if begin.name == "select" else begin.args
        return all(_own(each, seen) for each in choices)
    return begin.name in _OWN_ROOTS
