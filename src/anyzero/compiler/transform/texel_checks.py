"""Texel checks: a call in front of each access of an image, for check mode. The engine compares the coordinates with
the size of the image, and finds texels that nothing has written.
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Body, Check, Op
from anyzero.compiler.transform.access_notes import moved_loads
from anyzero.layouts.kernel import CheckedAccess, CheckedMemory, CheckFlag

_ACCESSES = {
    "image_read": CheckedAccess.LOAD,
    "image_write": CheckedAccess.STORE,
    "image_block_read": CheckedAccess.LOAD,
    "image_block_write": CheckedAccess.STORE,
}


def check_texels(body: Body) -> None:
    """Puts a `check` in front of each access of an image."""
    moved: set[Op] | None = None
    for block in body.blocks:
        ops: list[Op] = []
        for op in block.ops:
            name = op.info.kind if op.name == "group" else op.name
            if name in _ACCESSES:
                if moved is None:
                    moved = moved_loads(body)
                ops.append(_check(body, op, name, CheckFlag.MOVED if op in moved else 0))
                ops[-1].block = block
            ops.append(op)
        block.ops = ops


def _check(body: Body, op: Op, name: str, flags: int) -> Op:
    if op.name == "group":
        element, count = SIZES[op.type or op.args[3].type], op.info.count
        flags |= CheckFlag.ROWS
    else:
        element, count = 4, op.info.coordinates
        if name == "image_read" and op.info.kind == 0:
            flags |= CheckFlag.BLENDS
    what = Check(op, _ACCESSES[name], element, count, 1, CheckedMemory.IMAGE, flags=flags)
    return Op("check", "", [body.const("ptr", 0), body.const("i64", 0)], what, word=op.word)
