"""Loop fission: a loop that carries more sums than there are registers becomes several, each with a part of the sums.

Kernels for GPUs keep large tiles in registers, 64 vectors of sums in a product of matrices. On a CPU most of them would
be spilled in each iteration. The new loops are strip-mined: they run one strip of iterations after the other, short
enough for its loads to stay in the first-level cache, and an outer loop goes from strip to strip.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.cost import ADDRESSING, vector_cost
from anyzero.compiler.analysis.lane_loads import only_picked
from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.analysis.plain_loops import Plain, plain
from anyzero.compiler.analysis.uniformity import VARYING, Flow, Shapes
from anyzero.compiler.ir import SIZES, Block, Body, Op, Slot
from anyzero.compiler.transform.block_order import number, redirect
from anyzero.compiler.transform.dce import dce
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["crowded", "split_loops"]

CACHE = 24 << 10
"""Bytes that a strip may read: less than the smallest first-level cache holds."""
TURNS = (32, 256)
"""Bounds of the iterations of a strip."""
SPARE = 4
"""Registers for temporaries of an iteration."""
MOST = 512
"""The fewest sums of a loop that is considered."""
GAIN = 0.9
"""The most that may be left of the cost, as a fraction."""
SPILL = 2.0
"""The cost of a loop-carried value in memory, per iteration: a load and a store."""


def crowded(loops: Loops, registers: int) -> bool:
    """A cheap check: may there be loops to split?"""
    return any(len(loop.header.phis) > registers for loop in loops.all)


def split_loops(body: Body, flow: Flow, shapes: Shapes, lanes: int, register: int, registers: int) -> bool:
    """Splits loops; True if any was, and the flow graph has to be analysed again."""
    changed = False
    for loop in flow.loops.all:
        found = plain(loop)
        if found is None or not registers < len(found.header.phis) <= MOST:
            continue
        condition = found.header.condition
        if condition is None or not shapes[condition].uniform:
            continue
        sums = _Sums(found, shapes, lanes, register, registers, only_picked(body, found.ops, lanes, shapes))
        groups = sums.groups() if sums.gives(_used_behind(body, found)) else []
        if len(groups) > 1:
            _Split(body, found, sums, groups).write()
            changed = True
    if changed:
        number(body)
        dce(body)
    return changed


def _used_behind(body: Body, found: Plain) -> set[Op]:
    """Values of the loop that are used after it."""
    inside = {*found.ops, *found.header.phis}
    used: set[Op] = set()
    for block in body.blocks:
        if block not in found.loop:
            used.update(arg for op in block.everything for arg in op.args if arg in inside)
            if block.condition in inside:
                used.add(block.condition)
    return used


class _Sums:
    """The loop-carried values, and the operations that each depends on."""

    def __init__(
        self, found: Plain, shapes: Shapes, lanes: int, register: int, registers: int, picked: set[Op]
    ) -> None:
        self.found, self.shapes, self.lanes, self.register, self.registers = found, shapes, lanes, register, registers
        self.picked = picked
        """Loads of which only single lanes are used."""
        place = found.next
        inside = set(found.ops)
        needs: dict[Op, frozenset[Op]] = {}
        """The phis that a value depends on."""
        for op in found.ops:
            needs[op] = frozenset().union(
                *(
                    needs[arg] if arg in inside else (frozenset({arg}) if arg.block is found.header else frozenset())
                    for arg in op.args
                )
            )
        self.inside, self.needs = inside, needs

        def of(op: Op) -> frozenset[Op]:
            return needs[op] if op in inside else frozenset({op} if op.block is found.header else ())

        phis = found.header.phis
        condition = found.header.condition
        assert condition is not None
        shared = set(of(condition))
        if found.header is not found.latch:
            # Each of the loops needs the exit test.
            shared |= {phi for op in found.header.ops for phi in of(op)}
        for phi in phis:
            after = of(phi.args[place])
            shared |= after - {phi}
            if phi not in after or not shapes[phi].varying:
                shared.add(phi)
        waiting = list(shared)
        while waiting:
            more = of(waiting.pop().args[place]) - shared
            shared |= more
            waiting += more
        self.shared = [phi for phi in phis if phi in shared]
        self.own = [phi for phi in phis if phi not in shared]
        self.everywhere = self.made_of([condition, *(phi.args[place] for phi in self.shared)])
        if found.header is not found.latch:
            self.everywhere |= self.made_of(found.header.ops)
        self.made = {phi: self.made_of([phi.args[place]]) for phi in self.own}

    def made_of(self, values: Iterable[Op]) -> set[Op]:
        """The operations of an iteration that these depend on."""
        found: set[Op] = set()
        waiting = list(values)
        while waiting:
            op = waiting.pop()
            if op in self.inside and op not in found:
                found.add(op)
                waiting += op.args
        return found

    def gives(self, behind: set[Op]) -> bool:
        """Do the loops compute all values that are used after them?"""
        own = set(self.own)
        if self.found.header is self.found.latch:
            # Sums keep the value of the last iteration.
            sums = {phi.args[self.found.next] for phi in self.own}
            if behind & (own | set().union(*self.made.values())) - sums - self.everywhere:
                return False
        self.everywhere |= self.made_of(op for op in behind if op in self.inside and not self.needs[op] & own)
        return behind - set(self.found.header.phis) <= self.everywhere.union(*self.made.values())

    def size(self, op: Op) -> int:
        """Registers that a value occupies."""
        if not self.shapes[op].varying:
            return 0
        return max(1, SIZES[op.type] * self.lanes // self.register)

    def groups(self) -> list[list[Op]]:
        """The partition of the sums into loops; one group if a split does not pay."""
        still = {arg for op in self.found.ops for arg in op.args if arg not in self.inside and self.size(arg)}
        taken = sum(self.size(phi) for phi in still if phi.block is not self.found.header)
        taken += sum(map(self.size, self.shared)) + SPARE
        room, total = self.registers - taken, sum(map(self.size, self.own))
        if room < self.registers // 4 or total <= room:
            return [self.own]
        count = -(-total // room)
        groups = self._divide(count, room)
        before = self._cost(set(self.found.ops)) + SPILL * (total - room)
        after = sum(self._cost(self.everywhere.union(*(self.made[phi] for phi in group))) for group in groups)
        return groups if after <= GAIN * before else [self.own]

    def _divide(self, count: int, room: int) -> list[list[Op]]:
        """Groups sums that share operations."""
        left = dict.fromkeys(self.own)
        groups: list[list[Op]] = []
        while left:
            even = sum(map(self.size, left)) / max(1, count - len(groups))
            first = next(iter(left))
            group, known, size = [first], self.everywhere | self.made[first], self.size(first)
            del left[first]
            while left:
                best = min(left, key=lambda phi: len(self.made[phi] - known))
                if size + self.size(best) > room or (size >= even and len(self.made[best] - known) > 1):
                    break
                group.append(best)
                known |= self.made[best]
                size += self.size(best)
                del left[best]
            groups.append(group)
        return groups

    def in_order(self, group: list[Op]) -> list[Op]:
        """The operations of some sums, one sum after the other: shared values are used soon after their definition, so
        live ranges are short.
        """
        found = dict.fromkeys(op for op in self.found.ops if op in self.everywhere)
        for phi in group:
            waiting = [phi.args[self.found.next]]
            while waiting:
                op = waiting[-1]
                more = [arg for arg in op.args if arg in self.inside and arg not in found] if op not in found else []
                if more:
                    waiting += reversed(more)
                else:
                    waiting.pop()
                    if op in self.inside:
                        found[op] = None
        return list(found)

    def _cost(self, ops: set[Op]) -> float:
        """The cost of operations. Addresses and counters are free: scalar units compute them beside the vectors."""
        return sum(
            vector_cost(op, self.shapes, self.lanes, self.register)
            * (1.0 if self.shapes[op].varying or not op.pure else ADDRESSING)
            for op in ops
            if op not in self.picked
        )

    def iterations(self) -> int:
        """The iterations of a strip, a power of two."""
        read = 0
        for op in self.found.ops:
            if op.name == "load":
                each = SIZES[op.type] * op.info.count
                read += each if self.shapes[op.args[0]].uniform else each * self.lanes
        least, most = TURNS
        iterations = most
        while iterations > least and iterations * read > CACHE:
            iterations //= 2
        return iterations


@dataclass(slots=True, eq=False)
class _Part:
    """One of the loops that a loop is split into."""

    header: Block
    latch: Block
    values: dict[Op, Op] = field(default_factory=dict)
    """The copies of the loop's values that it computes, by the original."""
    stays: Op | None = None
    """In the first loop: is there another iteration, whatever the strip's length?"""
    iterations: Op | None = None
    """The number of iterations that it ran."""


class _Split:
    """Writes the loops. Sums are in memory between them: LLVM spills a value over its whole live range if it has no
    register in any part of it.
    """

    def __init__(self, body: Body, found: Plain, sums: _Sums, groups: list[list[Op]]) -> None:
        self.body, self.found, self.sums, self.groups = body, found, sums, groups
        self.single = found.header is found.latch
        self.slots = {phi: Slot(phi.type, "sum", VARYING, memory=True) for phi in sums.own}

    def write(self) -> None:
        body, found = self.body, self.found
        outside, exit_ = found.outside, found.exit
        for phi, slot in self.slots.items():
            outside.append(Op("write", "", [phi.args[found.first]], slot, word=phi.word))
        strip, behind = Block(0), Block(0, successors=[exit_])
        start = {
            phi: strip.add_phi(Op("phi", phi.type, [phi.args[found.first]], word=phi.word)) for phi in self.sums.shared
        }
        made = [strip]
        values: dict[Op, Op] = {}
        parts: list[_Part] = []
        for group in self.groups:
            part = self._part(made[-1], group, start, parts[0] if parts else None)
            parts.append(part)
            following = Block(0, predecessors=[part.header])
            part.header.successors.append(following)
            for phi in group:
                following.append(Op("write", "", [self._last(phi, part.values)], self.slots[phi], word=phi.word))
            made += [*dict.fromkeys((part.header, part.latch)), following]
            # Values that all of them compute are taken from the first, so that they are dead in the others.
            values = part.values | values
        test = made[-1]
        test.condition, test.successors = parts[0].stays, [strip, behind]
        behind.predecessors = [test]
        strip.predecessors = [outside, test]
        for phi, first in start.items():
            first.args.append(self._last(phi, values))
        for phi, slot in self.slots.items():
            last = phi.args[found.next] if self.single else phi
            values[last] = behind.append(Op("read", phi.type, [], slot, word=phi.word))
        redirect(outside, found.header, strip)
        exit_.predecessors[exit_.predecessors.index(found.header)] = behind
        body.blocks = [block for block in body.blocks if block not in found.loop.blocks]
        _replace(body, values)
        body.blocks += [*made, behind]

    def _last(self, phi: Op, values: dict[Op, Op]) -> Op:
        """The value after a loop: in a loop of one block the latch's, else the header's."""
        if not self.single:
            return values[phi]
        after = phi.args[self.found.next]
        return values.get(after, after)

    def _part(self, above: Block, group: list[Op], start: dict[Op, Op], first: _Part | None) -> _Part:
        """The first loop tests for the end of the loop and of the strip; the others run as many iterations."""
        body, found, sums = self.body, self.found, self.sums
        header = Block(0, predecessors=[above])
        above.successors = [header]
        latch = header if self.single else Block(0, predecessors=[header], successors=[header])
        part = _Part(header, latch)
        for phi in [*sums.shared, *group]:
            slot = self.slots.get(phi)
            begin = start[phi] if slot is None else above.append(Op("read", phi.type, [], slot, word=phi.word))
            part.values[phi] = header.add_phi(Op("phi", phi.type, [begin], word=phi.word))
        counter = header.add_phi(Op("phi", "i32", [body.const("i32", 0)]))
        for op in sums.in_order(group):
            copy = header if op.block is found.header else latch
            args = [part.values.get(arg, arg) for arg in op.args]
            part.values[op] = copy.append(Op(op.name, op.type, args, op.info, op.flags, op.word))
        following = latch.append(Op("add", "i32", [counter, body.const("i32", 1)]))
        for phi in [*sums.shared, *group]:
            after = phi.args[found.next]
            part.values[phi].args.append(part.values.get(after, after))
        counter.args.append(following)
        header.predecessors.append(latch)
        part.iterations = following if self.single else counter
        if first is None:
            header.condition = header.append(
                Op("and", "i1", [self._stays(part), self._shorter(part, sums.iterations())])
            )
        else:
            assert first.iterations is not None
            header.condition = header.append(Op("icmp", "i1", [part.iterations, first.iterations], "ult"))
        header.successors = [latch]
        return part

    def _stays(self, part: _Part) -> Op:
        condition = self.found.header.condition
        assert condition is not None
        part.stays = part.values.get(condition, condition)
        if self.found.header.successors[0] is self.found.exit:
            part.stays = part.header.append(Op("xor", "i1", [part.stays, self.body.const("i1", 1)]))
        return part.stays

    def _shorter(self, part: _Part, iterations: int) -> Op:
        assert part.iterations is not None
        return part.header.append(Op("icmp", "i1", [part.iterations, self.body.const("i32", iterations)], "ult"))


def _replace(body: Body, values: dict[Op, Op]) -> None:
    """Replaces uses after the loop; there are no others outside of it."""
    for block in body.blocks:
        for op in block.everything:
            op.args = [values.get(arg, arg) for arg in op.args]
        if block.condition is not None:
            block.condition = values.get(block.condition, block.condition)
