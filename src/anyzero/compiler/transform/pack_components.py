"""Packs two components of each work-item into one vector: sums over pairs of neighbouring floats, in plain loops.

A vector of 8 work-items fills half of a register of 16 floats. Where each work-item loads two neighbours and computes
the same with both, as a product of matrices does with two rows of its tile, the load is a whole register already: lane
0's components, then lane 1's. Sums of both components are kept in that order, and take one instruction instead of two.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.plain_loops import Plain, plain
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import PAIR, SIZES, Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect
from anyzero.compiler.transform.dce import dce

__all__ = ["may_pack", "pack_components"]

_COMPONENT = "float"
_PAIR_SIZE = 2 * SIZES[_COMPONENT]
_FUSED = frozenset({"mad", "fma"})
_PLAIN = frozenset({"fadd", "fsub", "fmul"})
_DEPTH = 8
"""Operations in a row from a component to a sum."""

Key = tuple[object, ...]


def may_pack(flow: Flow) -> bool:
    """A cheap check: does a loop load two components, and carry floats?"""
    return any(
        any(phi.type == _COMPONENT for phi in loop.header.phis)
        and any(_loads_pair(op) for latch in loop.latches for op in latch.ops)
        for loop in flow.loops.all
    )


def pack_components(body: Body, flow: Flow, shapes: Shapes) -> bool:
    """Packs sums of loops; True if there were any."""
    changed = False
    for loop in flow.loops.all:
        found = plain(loop)
        if found is None:
            continue
        condition = found.header.condition
        if condition is None or not shapes[condition].uniform:
            continue
        pairs = _Pairs(found, shapes)
        if pairs.sums:
            _write(body, found, pairs)
            changed = True
    if changed:
        number(body)
        dce(body)
    return changed


def _loads_pair(op: Op) -> bool:
    return op.name == "load" and op.type == _COMPONENT and op.info.count == 2 and not op.info.volatile


class _Pairs:
    """Pairs of sums, and of operations that lead to them."""

    def __init__(self, found: Plain, shapes: Shapes) -> None:
        self.found = found
        self.components: dict[Op, tuple[Op, int]] = {}
        """Components of loads whose lanes are contiguous, with the load and the index."""
        for op in found.ops:
            if op.name == "part" and _loads_pair(op.args[0]) and shapes[op.args[0].args[0]].stride == _PAIR_SIZE:
                self.components[op] = op.args[0], op.info
        self.users: dict[Op, int] = {}
        for op in (*found.ops, *found.header.phis):
            for arg in set(op.args):
                self.users[arg] = self.users.get(arg, 0) + 1
        self.sums: dict[Op, Op] = {}
        """The sum of the second component, by the phi of the first one."""
        waiting: dict[Key, Op] = {}
        for phi in found.header.phis if self.components else ():
            key, index = self._key(phi)
            if index is None:
                continue
            other = waiting.pop((*key, 1 - index), None)
            if other is None:
                waiting[*key, index] = phi
            else:
                first, second = (other, phi) if index else (phi, other)
                self.sums[first] = second

    def _key(self, phi: Op) -> tuple[Key, int | None]:
        """A key that the sums of both components share, and the component; None where it is no such sum."""
        after = phi.args[self.found.next]
        seen: set[int] = set()
        key = self._shape(after, phi, seen, _DEPTH)
        # Nothing else in the loop may use the sum: a phi of its own update, and an update of its phi.
        if len(seen) != 1 or self.users.get(phi) != 1 or self.users[after] != 1:
            return (), None
        return key, seen.pop()

    def _shape(self, op: Op, phi: Op, seen: set[int], depth: int) -> Key:
        """What is computed: equal for both components, except for the index of the component."""
        if op in self.components:
            load, index = self.components[op]
            seen.add(index)
            return "component", load
        if op is phi:
            return ("sum",)
        if _packable(op) and depth:
            return op.name, op.info, op.flags, *(self._shape(arg, phi, seen, depth - 1) for arg in op.args)
        return "same", op


def _packable(op: Op) -> bool:
    return (op.name in _PLAIN and op.info is None) or (op.name == "math" and op.info[0] in _FUSED)


def _write(body: Body, found: Plain, pairs: _Pairs) -> None:
    outside, header, exit_ = found.outside, found.header, _own_exit(body, found)
    single = header is found.latch
    packed: dict[object, Op] = {}
    sums: dict[Op, Op] = {}
    replaced: dict[Op, Op] = {}
    ahead: list[Op] = []
    for first, second in pairs.sums.items():
        begin = [each.args[found.first] for each in (first, second)]
        start = outside.append(Op("pack", PAIR, begin, word=first.word))
        sums[first] = Op("phi", PAIR, [start, start], word=first.word, block=header)

    def pair(one: Op, other: Op, block: Block, after: list[Op]) -> Op:
        """The pair of two values; operations that are new are appended to a list, behind their operands."""
        if one in sums:
            return sums[one]
        made = packed.get((one, other))
        if made is not None:
            return made
        if one is other or one in pairs.components:
            made = Op("pack", PAIR, [one, other], word=one.word, block=block)
        else:
            args = [pair(a, b, block, after) for a, b in zip(one.args, other.args, strict=True)]
            made = Op(one.name, PAIR, args, one.info, one.flags, one.word, block)
        packed[one, other] = made
        after.append(made)
        return made

    latch = found.latch
    behind: dict[Op, list[Op]] = {}
    place = {op: index for index, op in enumerate(latch.ops)}
    for first, second in pairs.sums.items():
        phi = sums[first]
        one, other = (each.args[found.next] for each in (first, second))
        new: list[Op] = []
        phi.args[found.next] = pair(one, other, latch, new)
        last = max(one, other, key=lambda op: place[op])
        behind.setdefault(last, []).extend(new)
        for index, (old, sum_) in enumerate(((one, first), (other, second))):
            # Behind a loop of one block, the sums before their last update are defined, too.
            for value, now in ((sum_, phi), (old, phi.args[found.next]))[: 2 if single else 1]:
                replaced[value] = each = Op("unpack", _COMPONENT, [now], index, word=old.word)
                each.block = exit_
                ahead.append(each)
    latch.ops = [each for op in latch.ops for each in (op, *behind.get(op, ()))]
    gone = {each for both in pairs.sums.items() for each in both}
    header.phis = [phi for phi in header.phis if phi not in gone] + list(sums.values())
    for block in body.blocks:
        if block is header or block is latch:
            continue
        _use(block.everything, replaced)
        if block.condition is not None:
            block.condition = replaced.get(block.condition, block.condition)
    exit_.ops = ahead + exit_.ops


def _own_exit(body: Body, found: Plain) -> Block:
    """The exit of this loop alone: a new block, where the exit has other predecessors, or phis that use the sums."""
    header, exit_ = found.header, found.exit
    if exit_.predecessors == [header] and not exit_.phis:
        return exit_
    own = Block(len(body.blocks), predecessors=[header], successors=[exit_])
    exit_.predecessors[exit_.predecessors.index(header)] = own
    redirect(header, exit_, own)
    body.blocks.append(own)
    return own


def _use(ops: Iterable[Op], values: dict[Op, Op]) -> None:
    for op in ops:
        if any(arg in values for arg in op.args):
            op.args = [values.get(arg, arg) for arg in op.args]
