"""Operations of 32 bits that 16 bits compute as well: those on bytes and shorts, which C promotes to `int`.

A result of 16 bits is enough where the value's range fits, or where its users look at the low bits only. Sums, products
and the like take low bits to low bits; comparisons, shifts to the right and divisions need operands whose ranges fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from anyzero.compiler.analysis.value_ranges import Range, fits, fits_signed, fits_unsigned, value_ranges
from anyzero.compiler.ir import WIDTHS, Body, Op
from anyzero.compiler.operations import CHEAP, PURE
from anyzero.lazy_dataclass import dataclass

__all__ = ["BITS", "Narrow", "has_short_values", "is_leaf", "narrow_values", "order_of"]

BITS = 16
WIDE = "i32"
Order = Literal["", "s", "u"]
"""How operands of 16 bits are numbers: signed, unsigned, or not both alike."""

_RING = frozenset({"add", "sub", "mul", "and", "or", "xor"})
_EXACT = frozenset({"lshr", "ashr", "udiv", "sdiv", "urem", "srem"})
_LOW_MATHS = frozenset({"s_mul24", "u_mul24", "s_mad24", "u_mad24"})
_ORDERED_MATHS = frozenset({"min", "max", "clamp", "abs", "abs_diff"})
_COSTS = {"udiv": 7.0, "sdiv": 8.0, "urem": 9.0, "srem": 10.0, "phi": 0.5}
"""Instructions for a vector of 32 bits, relative to those of a sum."""
_HALF = 0.5
"""What a conversion of a byte to a short costs, less than one to 32 bits."""
_EXPORT = 2.0
"""What an extension of a result costs: a register becomes two, across its halves."""
_PACKED = 0.75
"""What is saved where a result is stored as a byte or a short."""
_MASK = 0.5
"""What it costs to make a mask of another width fit."""


@dataclass(slots=True, eq=False)
class Narrow:
    """Operations that become ones of 16 bits."""

    ops: set[Op]
    ranges: Mapping[Op, Range]
    users: Mapping[Op, Sequence[Op]]


def has_short_values(body: Body) -> bool:
    return any(is_leaf(op) and op.args[0].type != "i1" for op in body.ops)


def is_leaf(op: Op) -> bool:
    """Is it the extension of a number of at most 16 bits?"""
    return (
        op.name == "cast"
        and op.type == WIDE
        and op.info in ("zext", "sext")
        and WIDTHS.get(op.args[0].type, 64) <= BITS
    )


def order_of(op: Op, ranges: Mapping[Op, Range]) -> Order:
    """The order in which all operands are numbers of 16 bits."""
    given = [ranges[arg] for arg in op.args]
    if all(fits_signed(each, BITS) for each in given):
        return "s"
    return "u" if all(fits_unsigned(each, BITS) for each in given) else ""


def narrow_values(body: Body) -> Narrow:
    ranges = value_ranges(body)
    users: dict[Op, list[Op]] = {}
    conditions = {block.condition for block in body.blocks}
    for op in body.ops:
        for arg in op.args:
            users.setdefault(arg, []).append(op)
    found = _Search(ranges, users, conditions)
    chosen = {op for op in body.ops if found.computable(op)}
    found.reduce(chosen)
    found.reduce(chosen, found.losing(chosen))
    return Narrow(chosen, ranges, users)


class _Search:
    def __init__(self, ranges: Mapping[Op, Range], users: Mapping[Op, list[Op]], conditions: set[Op | None]) -> None:
        self.ranges, self.users, self.conditions = ranges, users, conditions
        self.invariants: dict[Op, bool] = {}

    def computable(self, op: Op) -> bool:
        """May it be of 16 bits as far as the operation itself is concerned?"""
        if op.name == "icmp":
            return op.args[0].type == WIDE and bool(order_of(op, self.ranges)) and op not in self.conditions
        if op.type != WIDE:
            return False
        if op.name in ("select", "phi") or op.name in _RING:
            return True
        if op.name == "shl":
            return op.args[1].name == "const" and op.args[1].info < BITS
        if op.name in _EXACT:
            return self._divides(op)
        if op.name != "math" or any(arg.type != WIDE for arg in op.args):
            return False
        name = op.info[0]
        if name in _LOW_MATHS:
            # Its range is known where the operands have 24 bits.
            fit = fits_signed if name[0] == "s" else fits_unsigned
            return all(fit(self.ranges[arg], 24) for arg in op.args[:2])
        sign, _, what = name.partition("_")
        return sign in ("s", "u") and what in _ORDERED_MATHS and bool(order_of(op, self.ranges))

    def _divides(self, op: Op) -> bool:
        operand, by = op.args
        given = self.ranges[operand]
        if by.name != "const" or not 0 < by.info < (BITS if op.name in ("lshr", "ashr") else 1 << (BITS - 1)):
            return False
        return fits_unsigned(given, BITS) or (op.name in ("ashr", "sdiv", "srem") and fits_signed(given, BITS))

    def reduce(self, chosen: set[Op], dropped: Sequence[Op] = ()) -> None:
        """Removes operations that lack operands or show more than 16 bits to some user, until none is left."""
        waiting = [*dropped, *(op for op in chosen if not self._holds(op, chosen))]
        while waiting:
            op = waiting.pop()
            if op not in chosen:
                continue
            chosen.remove(op)
            near = [*op.args, *self.users.get(op, ())]
            waiting += [each for each in near if each in chosen and not self._holds(each, chosen)]

    def _holds(self, op: Op, chosen: set[Op]) -> bool:
        if any(not self._there(arg, chosen) for arg in op.args[op.name == "select" :]):
            return False
        users = self.users.get(op, ())
        if op.name == "icmp":
            return all(user.name == "select" and user.args[0] is op and self._short(user, chosen) for user in users)
        if fits(self.ranges[op], BITS):
            return True
        # Operations that look at more than low bits are computable only where the ranges of their operands fit.
        return all(
            user in chosen or (user.name == "cast" and user.info == "trunc" and WIDTHS[user.type] <= BITS)
            for user in users
        )

    def _short(self, op: Op, chosen: set[Op]) -> bool:
        return op in chosen or op.type in ("i8", "i16")

    def _there(self, arg: Op, chosen: set[Op]) -> bool:
        """Has the operand a form of 16 bits, or one that costs nothing?"""
        return arg in chosen or arg.name == "const" or is_leaf(arg) or self._invariant(arg)

    def _invariant(self, op: Op, depth: int = 4) -> bool:
        """Is it made of arguments alone?"""
        if op.name in ("argument", "const"):
            return True
        if depth == 0 or op.name not in PURE or op.name not in CHEAP or not op.args or op.type not in WIDTHS:
            return False
        return all(self._invariant(arg, depth - 1) for arg in op.args)

    def losing(self, chosen: set[Op]) -> list[Op]:
        """The operations of connected parts whose conversions would cost more than is saved."""
        leader: dict[Op, Op] = {}

        def top(op: Op) -> Op:
            while (above := leader.get(op, op)) is not op:
                leader[op] = leader.get(above, above)
                op = above
            return op

        for op in chosen:
            for arg in op.args:
                if arg in chosen or is_leaf(arg):
                    leader[top(arg)] = top(op)
        saved: dict[Op, float] = {}
        for op in chosen:
            saved[top(op)] = saved.get(top(op), 0.0) + self._saved(op, chosen)
        for leaf in {arg for op in chosen for arg in op.args if is_leaf(arg)}:
            saved[top(leaf)] += self._saved_by_leaf(leaf, chosen)
        return [op for op in chosen if saved[top(op)] <= 0]

    def _saved(self, op: Op, chosen: set[Op]) -> float:
        saved = _COSTS.get(op.name, 1.0) / 2
        if op.name == "select" and op.args[0] not in chosen:
            saved -= _MASK
        users = [user for user in self.users.get(op, ()) if user not in chosen]
        truncated = [user for user in users if user.name == "cast" and user.info == "trunc"]
        if op.name != "icmp":
            saved += _PACKED * bool(truncated) - _EXPORT * (len(truncated) < len(users))
        return saved

    def _saved_by_leaf(self, leaf: Op, chosen: set[Op]) -> float:
        bits = WIDTHS[leaf.args[0].type]
        if all(user in chosen for user in self.users[leaf]):
            return _HALF * (1 if bits < BITS else 2)
        return -_HALF * (bits < BITS)
