"""Shifts to casts: `(x << 32) + (4 << 32) >> 32` becomes the sign extension of `(int)x + 4`.

Clang writes the extension of a sum or product of truncated ids, as `tile[lx + 4]` has one, in 64 bits: the upper half
holds the sum, and a shift brings it down, less where the size of an element is a factor. No analysis sees a stride in
that.
"""

from __future__ import annotations

from anyzero.compiler.folding import signed
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce

HALF = 32
DEPTH = 6
_MOST_ITEMS = (1 << 16) - 1
"""More than any group has in one dimension."""
_EXTENSIONS = {"ashr": "sext", "lshr": "zext"}


def shifts_to_casts(body: Body) -> None:
    by: dict[Op, Op] = {}
    for block in body.blocks:
        half = _UpperHalf(body, block)
        old, block.ops = block.ops, []
        for op in old:
            made = half.brought_down(op)
            if made is None:
                block.ops.append(op)
            else:
                by[op] = made
    if by:
        substitute(body, by)
        dce(body)


class _UpperHalf:
    """Values of the upper half of 64 bits whose lower half is zero, as numbers of 32 bits in one block."""

    def __init__(self, body: Body, block: Block) -> None:
        self.body, self.block = body, block
        self.made: dict[Op, Op] = {}

    def brought_down(self, op: Op) -> Op | None:
        """The extension that a shift of 64 bits to the right is, times a power of two; None where it is none."""
        if op.name not in _EXTENSIONS or op.type != "i64" or op.args[1].name != "const":
            return None
        by, wide = int(op.args[1].info), op.args[0]
        if not 0 <= HALF - by < 8 or not _is_upper(wide):
            return None
        narrow = self._narrow(wide)
        made = self._add(Op("cast", "i64", [narrow], _EXTENSIONS[op.name], word=op.word))
        if by < HALF:
            # It fits: the number has 32 bits.
            factor = self.body.const("i64", 1 << (HALF - by))
            made = self._add(Op("mul", "i64", [made, factor], flags="nsw", word=op.word))
        return made

    def _add(self, op: Op) -> Op:
        return self.block.append(op)

    def _narrow(self, op: Op) -> Op:
        if op.name == "const":
            return self.body.const("i32", int(op.info) >> HALF)
        found = self.made.get(op)
        if found is None:
            found = self.made[op] = self._made(op)
        return found

    def _made(self, op: Op) -> Op:
        if op.name == "shl":
            return self._low(op.args[0], op.word)
        if op.name == "mul":
            args = [self._low(op.args[0], op.word), self._narrow(op.args[1])]
        else:
            args = [self._narrow(arg) for arg in op.args]
        flags = "nsw" if _range(op, 0) is not None else ""
        return self._add(Op(op.name, "i32", args, flags=flags, word=op.word))

    def _low(self, op: Op, word: int) -> Op:
        found = self.made.get(op)
        if found is None:
            found = self.made[op] = self._add(Op("cast", "i32", [op], "trunc", word=word))
        return found


def _is_upper(op: Op, depth: int = DEPTH) -> bool:
    """Is it a sum of numbers whose lower halves are zero by the way they are written?"""
    if op.name == "const":
        return not int(op.info) & ((1 << HALF) - 1)
    if op.type != "i64" or depth == 0 or len(op.args) != 2:
        return False
    if op.name == "shl":
        return op.args[1].name == "const" and int(op.args[1].info) == HALF
    if op.name == "mul":
        return op.args[1].name == "const" and _is_upper(op.args[1])
    return op.name in ("add", "sub") and all(_is_upper(arg, depth - 1) for arg in op.args)


def _range(op: Op, depth: int) -> tuple[int, int] | None:
    """Bounds of the number in the upper half, where it is made of local ids and constants; None if it may wrap."""
    if op.name == "const":
        upper = signed(int(op.info) >> HALF, HALF)
        return upper, upper
    if depth == DEPTH:
        return None
    if op.name in ("shl", "mul"):
        low = op.args[0]
        if low.name != "builtin" or low.info[0] != "local_id":
            return None
        factor = 1 if op.name == "shl" else signed(int(op.args[1].info) >> HALF, HALF)
        given = [(0, factor * _MOST_ITEMS)]
    else:
        sides = [_range(arg, depth + 1) for arg in op.args]
        if None in sides:
            return None
        given = [each for each in sides if each is not None]
        if op.name == "sub":
            given[1] = -given[1][0], -given[1][1]
    low_, high = sum(min(each) for each in given), sum(max(each) for each in given)
    return (low_, high) if low_ >= -(1 << 31) and high < 1 << 31 else None
