"""Computes in 16 bits what C promotes from bytes and shorts to `int`: a vector register holds twice the lanes.

Operations keep their places and become ones of 16 bits; extensions of their operands become shorter, and a result that
others need as 32 bits is extended behind the operation.
"""

from __future__ import annotations

from anyzero.compiler.analysis.narrow_values import BITS, Narrow, has_short_values, is_leaf, narrow_values, order_of
from anyzero.compiler.analysis.value_ranges import fits_signed
from anyzero.compiler.ir import WIDTHS, Body, Op
from anyzero.compiler.transform.blocks import substitute

SHORT = "i16"


def narrow_integers(body: Body) -> bool:
    """True if any operation was changed."""
    if not has_short_values(body):
        return False
    found = narrow_values(body)
    if not found.ops:
        return False
    change = _Narrowing(body, found)
    for block in body.blocks:
        for op in block.everything:
            if op in found.ops:
                change.narrow(op)
    change.convert()
    return True


class _Narrowing:
    def __init__(self, body: Body, found: Narrow) -> None:
        self.body, self.ops, self.ranges, self.users = body, found.ops, found.ranges, found.users
        self.behind: dict[Op, list[Op]] = {}
        """Conversions to insert, by the operation that they follow."""
        self.instead: dict[Op, Op] = {}
        self.short: dict[Op, Op] = {}

    def narrow(self, op: Op) -> None:
        order = order_of(op, self.ranges) if op.name in ("icmp", "math") else ""
        if op.name == "icmp":
            op.info = op.info.replace("s", "u", 1) if order == "u" and op.info[0] == "s" else op.info
        else:
            self._widen_for_others(op)
        if op.name == "math" and order == "u" and op.info[0][0] == "s":
            op.info = (f"u{op.info[0][1:]}", *op.info[1:])
        if op.name in ("ashr", "sdiv", "srem") and self.ranges[op.args[0]][0] >= 0:
            # What the range says is not to be seen in the operation any more.
            op.name = {"ashr": "lshr", "sdiv": "udiv", "srem": "urem"}[op.name]
        first = 1 if op.name == "select" else 0
        op.args = [*op.args[:first], *(self._short(arg) for arg in op.args[first:])]
        op.flags = ""
        if op.name != "icmp":
            op.type = SHORT

    def _short(self, arg: Op) -> Op:
        if arg in self.ops:
            return arg
        if arg.name == "const":
            return self.body.const(SHORT, int(arg.info))
        if arg not in self.short:
            if not is_leaf(arg):
                made = Op("cast", SHORT, [arg], "trunc", word=arg.word)
            elif arg.args[0].type == SHORT:
                return arg.args[0]
            else:
                made = Op("cast", SHORT, [arg.args[0]], arg.info, word=arg.word)
            self.short[arg] = self._put(arg, made)
        return self.short[arg]

    def _widen_for_others(self, op: Op) -> None:
        """Users that stay get an extension; those that truncate need none of 32 bits."""
        others = [user for user in self.users.get(op, ()) if user not in self.ops]
        wide: Op | None = None
        for user in others:
            if user.name == "cast" and user.info == "trunc" and WIDTHS[user.type] <= BITS:
                if user.type == SHORT:
                    self.instead[user] = op
                continue
            if wide is None:
                kind = "sext" if fits_signed(self.ranges[op], BITS) else "zext"
                wide = self._put(op, Op("cast", "i32", [op], kind, word=op.word))
            user.args = [wide if arg is op else arg for arg in user.args]

    def _put(self, op: Op, made: Op) -> Op:
        self.behind.setdefault(op, []).append(made)
        return made

    def convert(self) -> None:
        for block in self.body.blocks:
            ops, block.ops = block.ops, []
            for phi in block.phis:
                for made in self.behind.get(phi, ()):
                    block.append(made)
            for op in ops:
                if op not in self.instead:
                    block.append(op)
                for made in self.behind.get(op, ()):
                    block.append(made)
        substitute(self.body, self.instead)
