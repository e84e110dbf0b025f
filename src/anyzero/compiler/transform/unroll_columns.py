"""Unrolls loops whose lanes each go along a row of a matrix, so that several iterations of a lane are one access.

`sum += a[row * n + k]`, with a row for each lane, would gather from as many cache lines in each iteration, and a store
to `a[row * n + k]` scatter. The unrolled loop runs before the original loop, which has the iterations that are left, if
any: all of them where a load might read what an earlier iteration stores.
"""

from __future__ import annotations

from anyzero.compiler.analysis.columns import Columns, find_columns
from anyzero.compiler.analysis.induction import step_of
from anyzero.compiler.analysis.row_order import Apart
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.preheaders import computed_before
from anyzero.lazy_dataclass import replace

__all__ = ["unroll_columns"]


def unroll_columns(body: Body, flow: Flow, shapes: Shapes, thorough: bool = True) -> bool:
    """Unrolls loops, where `thorough` also those with stores or short elements; True if any was, and the flow graph has
    to be analysed again.
    """
    chosen = [found for loop in flow.loops.all if (found := find_columns(loop, shapes, thorough)) is not None]
    for columns in chosen:
        _Unrolling(body, columns).write()
    if chosen:
        number(body)
        dce(body)
    return bool(chosen)


class _Unrolling:
    def __init__(self, body: Body, columns: Columns) -> None:
        self.body, self.columns, self.found = body, columns, columns.found
        self.joined: dict[Op, Op] = {}
        """The combined load of all unrolled iterations, by the original load."""
        self.first: dict[Op, Op] = {}
        """The address of an access in the first iteration."""
        self.stored: dict[Op, list[Op]] = {}
        """What the unrolled iterations store so far, by the original store."""

    def write(self) -> None:
        body, found = self.body, self.found
        old, outside = found.header, found.outside
        header, unrolled, between = Block(0), Block(0), Block(0)
        start = {phi: header.add_phi(Op("phi", phi.type, [phi.args[found.first]], word=phi.word)) for phi in old.phis}
        self._ask(header, start)
        values, last = dict(start), dict(start)
        for iteration in range(self.columns.factor):
            self._iteration(iteration, unrolled, values)
            after = {phi: phi.args[found.next] for phi in old.phis}
            values, last = {phi: values.get(each, each) for phi, each in after.items()}, values
        for phi, first in start.items():
            first.args.append(values[phi])
            phi.args[found.first] = first
        header.predecessors, header.successors = [outside, unrolled], [unrolled, between]
        unrolled.predecessors, unrolled.successors = [header], [header]
        between.predecessors, between.successors = [header], [old]
        redirect(outside, old, header)
        old.predecessors[old.predecessors.index(outside)] = between
        body.blocks += [header, unrolled, between]
        if old is found.latch:
            self._leave(unrolled, values, last)

    def _leave(self, unrolled: Block, values: dict[Op, Op], last: dict[Op, Op]) -> None:
        """A loop of one block tests its condition after an iteration: it must not be entered where none is left.
        `last` has the values of the last iteration.
        """
        columns, exit_ = self.columns, self.found.exit
        counter = [(last if columns.before else values)[columns.counter], columns.bound]
        unrolled.condition = unrolled.append(Op("icmp", "i1", counter, columns.order))
        unrolled.successors.append(exit_)
        inside = {*self.found.header.phis, *self.found.ops}
        if exit_.predecessors == [self.found.header]:
            self._join(exit_, inside)
        place = exit_.predecessors.index(self.found.header)
        for phi in exit_.phis:
            phi.args.append(last.get(phi.args[place], phi.args[place]))
        exit_.predecessors.append(unrolled)

    def _join(self, exit_: Block, inside: set[Op]) -> None:
        """Gives each value of the loop that is used after it a phi in the exit."""
        by: dict[Op, Op] = {}

        def outside(value: Op) -> Op:
            return by.setdefault(value, Op("phi", value.type, [value])) if value in inside else value

        for block in self.body.blocks:
            if block is self.found.header:
                continue
            for op in block.everything:
                if block is not exit_ or op not in exit_.phis:
                    op.args = [outside(arg) for arg in op.args]
            if block.condition is not None:
                block.condition = outside(block.condition)
        for phi in by.values():
            exit_.add_phi(phi)

    def _ask(self, header: Block, values: dict[Op, Op]) -> None:
        """Are as many iterations left as the unroll factor? The counter is below its bound, or above where it counts
        down, so an unsigned difference is exact.
        """
        columns, body = self.columns, self.body
        now, bound = values[columns.counter], columns.bound
        left = header.append(Op("sub", now.type, [bound, now] if columns.by > 0 else [now, bound]))
        most = body.const(now.type, columns.factor * abs(columns.by))
        header.condition = header.append(Op("icmp", "i1", [left, most], "uge"))
        if columns.order != "ne":
            below = header.append(Op("icmp", "i1", [now, bound], columns.order))
            header.condition = header.append(Op("and", "i1", [below, header.condition]))
        initial = {phi: phi.args[self.found.first] for phi in self.found.header.phis}
        meets = [
            self._meets(self.found.outside, initial, test) if test.invariant else self._meets(header, values, test)
            for test in columns.tests
        ]
        if meets:
            self._allow(header, meets)

    def _allow(self, header: Block, meets: list[Op]) -> None:
        """Lanes may differ: all of them take the unrolled loop, or none."""
        by: dict[Block | None, Op] = {}
        for each in meets:
            block = each.block
            assert block is not None
            by[block] = block.append(Op("or", "i1", [by[block], each])) if block in by else each
        for block, any_meets in by.items():
            assert block is not None
            some = block.append(Op("any", "i1", [any_meets], "active"))
            none = block.append(Op("xor", "i1", [some, self.body.const("i1", 1)]))
            assert header.condition is not None
            header.condition = header.append(Op("and", "i1", [header.condition, none]))

    def _meets(self, block: Block, values: dict[Op, Op], test: Apart) -> Op:
        """Do the accesses meet in a lane? `values` are those of the loop's phis."""
        values, body, loop = dict(values), self.body, self.found.loop
        one, other = (
            block.append(Op("cast", "i64", [computed_before(op.args[0], loop, block, values)], "ptrtoint"))
            for op in (test.store, test.other)
        )
        distance = block.append(Op("sub", "i64", [one, other]))
        above = block.append(Op("sub", "i64", [distance, body.const("i64", test.low)]))
        return block.append(Op("icmp", "i1", [above, body.const("i64", test.width)], "ult"))

    def _iteration(self, iteration: int, block: Block, values: dict[Op, Op]) -> None:
        """Adds what the iteration computes to `values`."""
        for op in self.found.ops:
            if op.name == "load":
                values[op] = self._load(iteration, op, block, values)
            elif op.name == "store":
                self._store(iteration, op, block, values)
            elif op.name == "part" and op.args[0] in self.columns.accesses:
                place = iteration * op.args[0].info.count + op.info
                values[op] = block.append(Op("part", op.type, [self.joined[op.args[0]]], place, word=op.word))
            else:
                args = [values.get(arg, arg) for arg in op.args]
                values[op] = block.append(Op(op.name, op.type, args, op.info, op.flags, op.word))

    def _load(self, iteration: int, op: Op, block: Block, values: dict[Op, Op]) -> Op:
        if op in self.columns.accesses:
            address = values.get(op.args[0], op.args[0])
            if not iteration:
                access = replace(op.info, count=op.info.count * self.columns.factor)
                self.joined[op] = block.append(Op("load", op.type, [address], access, op.flags, op.word))
            joined = self.joined[op]
            # Components of a vector load are extracted one by one.
            return joined if op.info.count > 1 else block.append(Op("part", op.type, [joined], iteration, word=op.word))
        address = self._address(iteration, op, block, values)
        return block.append(Op("load", op.type, [address], op.info, op.flags, op.word))

    def _store(self, iteration: int, op: Op, block: Block, values: dict[Op, Op]) -> None:
        given = [values.get(arg, arg) for arg in op.args[1:]]
        if op not in self.columns.accesses:
            address = self._address(iteration, op, block, values)
            block.append(Op("store", op.type, [address, *given], op.info, op.flags, op.word))
            return
        first = self.first.setdefault(op, values.get(op.args[0], op.args[0]))
        stored = self.stored.setdefault(op, [])
        stored += given
        if iteration == self.columns.factor - 1:
            access = replace(op.info, count=len(stored))
            block.append(Op("store", op.type, [first, *stored], access, op.flags, op.word))

    def _address(self, iteration: int, op: Op, block: Block, values: dict[Op, Op]) -> Op:
        """The address of an access that stays with its iteration."""
        address = values.get(op.args[0], op.args[0])
        step = step_of(op.args[0], self.found.loop)
        first = self.first.setdefault(op, address)
        if not iteration or step is None or step.of is not None:
            return address
        # A constant offset, which addressing modes add for free.
        away = self.body.const("i64", iteration * step.factor)
        return block.append(Op("offset", "ptr", [first, away], word=op.word))
