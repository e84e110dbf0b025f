"""Undoes software pipelining: values that a loop loads an iteration ahead are loaded in the iteration that uses them.

Kernels for GPUs load the next iteration's operands while this one computes. Out-of-order processors overlap iterations
by themselves, and the loaded values would occupy registers: eight vectors in a product of matrices.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.analysis.plain_loops import Plain, plain
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce

__all__ = ["load_in_turn"]

DEPTH = 12
"""The longest chain of operations of an address."""


def load_in_turn(body: Body, loops: Loops) -> bool:
    """Rewrites such loads; True if there were any. Blocks stay as they are."""
    changed = False
    for loop in loops.all:
        found = plain(loop)
        if found is not None and found.header.phis and _Turns(body, found).run():
            changed = True
    if changed:
        dce(body)
    return changed


class _Turns:
    def __init__(self, body: Body, found: Plain) -> None:
        self.body, self.found = body, found
        self.by: dict[Op, Op] = {}
        self.written: list[Op] = []
        """Operations that are inserted at the beginning of an iteration."""
        self.made: dict[tuple[Op, Op], Op] = {}

    def run(self) -> bool:
        pairs = self._pairs()
        if not pairs:
            return False
        users = _users(self.body)
        for (early, ahead), phis in pairs.items():
            if self._delayed(early, ahead, phis, users):
                self._delay(early, ahead, phis, users)
        if not self.by:
            return False
        for op in self.written:
            op.block = self.found.latch
        self.found.latch.ops[:0] = self.written
        substitute(self.body, self.by)
        return True

    def _pairs(self) -> dict[tuple[Op, Op], list[Op]]:
        """Pairs of loads, before the loop and in it, whose results are the arguments of a phi."""
        found = self.found
        pairs: dict[tuple[Op, Op], list[Op]] = {}
        for phi in found.header.phis:
            early, ahead = phi.args[found.first], phi.args[found.next]
            if early.name == ahead.name == "part" and early.info == ahead.info:
                early, ahead = early.args[0], ahead.args[0]
            same = early.name == ahead.name == "load" and early.info == ahead.info and not early.info.volatile
            if same and early.block is found.outside and ahead.block is found.latch:
                pairs.setdefault((early, ahead), []).append(phi)
        return pairs

    def _delayed(self, early: Op, ahead: Op, phis: list[Op], users: dict[Op, set[Op]]) -> bool:
        """Is the loaded value used in the next iteration only, with no write to its memory in between?"""
        found = self.found
        loaded = {ahead}
        if ahead.info.count > 1:
            loaded = users[ahead]
        if any(users[each] - set(phis) for each in loaded):
            return False
        place = found.outside.ops.index(early)
        if not all(op.pure or op.name == "load" for op in found.outside.ops[place + 1 :]):
            return False
        return all(self._in_turn(phi, users) for phi in phis)

    def _in_turn(self, phi: Op, users: dict[Op, set[Op]]) -> bool:
        """Is it used in the loop's body alone?"""
        latch, header = self.found.latch, self.found.header
        return all(user.block is latch or (user.block is header and user.name == "phi") for user in users[phi]) and all(
            block.condition is not phi for block in (latch, header)
        )

    def _delay(self, early: Op, ahead: Op, phis: list[Op], users: dict[Op, set[Op]]) -> None:
        address = self._both(early.args[0], ahead.args[0], users, DEPTH)
        load = self._put(Op("load", ahead.type, [address], ahead.info, ahead.flags, ahead.word))
        for phi in phis:
            value = phi.args[self.found.next]
            if value.name == "part":
                self.by[phi] = self._put(Op("part", value.type, [load], value.info, "", value.word))
            else:
                self.by[phi] = load

    def _put(self, op: Op) -> Op:
        self.written.append(op)
        return op

    def _both(self, before: Op, ahead: Op, users: dict[Op, set[Op]], depth: int) -> Op:
        """The value of `before` in the first iteration, and in the others `ahead` of the previous iteration."""
        if before is ahead:
            return before
        made = self.made.get((before, ahead))
        if made is not None:
            return made
        alike = (before.name, before.type, before.info, len(before.args)) == (
            ahead.name, ahead.type, ahead.info, len(ahead.args),
        )  # fmt: skip
        if alike and depth and before.pure and before.args and before.name != "phi":
            args = [self._both(*pair, users, depth - 1) for pair in zip(before.args, ahead.args, strict=True)]
            flags = before.flags if before.flags == ahead.flags else ""
            made = self._put(Op(ahead.name, ahead.type, args, ahead.info, flags, ahead.word))
        else:
            made = self._counter(before, ahead, users) or self._kept(before, ahead)
        self.made[before, ahead] = made
        return made

    def _counter(self, before: Op, ahead: Op, users: dict[Op, set[Op]]) -> Op | None:
        """A counter that is a step ahead, rewritten as one that is not."""
        found = self.found
        if ahead.name != "phi" or ahead.block is not found.header or not self._in_turn(ahead, users):
            return None
        start, after = ahead.args[found.first], ahead.args[found.next]
        if start.name != "add" or after.name != "add" or start.args[0] is not before or after.args[0] is not ahead:
            return None
        if start.args[1] is not after.args[1] or ahead in self.by:
            return None
        phi = self._kept(before, before)
        following = self._put(Op("add", ahead.type, [phi, start.args[1]], word=ahead.word))
        phi.args[found.next] = following
        self.by[ahead] = following
        return phi

    def _kept(self, before: Op, ahead: Op) -> Op:
        args = [ahead, ahead]
        args[self.found.first] = before
        return self.found.header.add_phi(Op("phi", ahead.type, args, word=ahead.word))


def _users(body: Body) -> dict[Op, set[Op]]:
    found: dict[Op, set[Op]] = {}
    for op in body.ops:
        found.setdefault(op, set())
        for arg in op.args:
            found.setdefault(arg, set()).add(op)
    return found
