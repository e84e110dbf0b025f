"""Unrolls loops whose lanes each read along a row of a matrix, so that several iterations of a lane are one load.

`sum += a[row * n + k]`, with a row for each lane, would gather from as many cache lines in each iteration. The unrolled
loop runs before the original loop, which has the iterations that are left, if any.
"""

from __future__ import annotations

from anyzero.compiler.analysis.columns import Columns, find_columns
from anyzero.compiler.analysis.induction import step_of
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect
from anyzero.compiler.transform.dce import dce
from anyzero.lazy_dataclass import replace

__all__ = ["unroll_columns"]


def unroll_columns(body: Body, flow: Flow, shapes: Shapes) -> bool:
    """Unrolls loops; True if any was, and the flow graph has to be analysed again."""
    chosen = [found for loop in flow.loops.all if (found := find_columns(loop, shapes)) is not None]
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
        """The address of a load in the first iteration."""

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

    def _iteration(self, iteration: int, block: Block, values: dict[Op, Op]) -> None:
        """Adds what the iteration computes to `values`."""
        for op in self.found.ops:
            if op.name == "load":
                values[op] = self._load(iteration, op, block, values)
            elif op.name == "part" and op.args[0] in self.columns.loads:
                place = iteration * op.args[0].info.count + op.info
                values[op] = block.append(Op("part", op.type, [self.joined[op.args[0]]], place, word=op.word))
            else:
                args = [values.get(arg, arg) for arg in op.args]
                values[op] = block.append(Op(op.name, op.type, args, op.info, op.flags, op.word))

    def _load(self, iteration: int, op: Op, block: Block, values: dict[Op, Op]) -> Op:
        address = values.get(op.args[0], op.args[0])
        if op in self.columns.loads:
            if not iteration:
                access = replace(op.info, count=op.info.count * self.columns.factor)
                self.joined[op] = block.append(Op("load", op.type, [address], access, op.flags, op.word))
            joined = self.joined[op]
            # Components of a vector load are extracted one by one.
            return joined if op.info.count > 1 else block.append(Op("part", op.type, [joined], iteration, word=op.word))
        step = step_of(op.args[0], self.found.loop)
        first = self.first.setdefault(op, address)
        if iteration and step is not None and step.of is None:
            # A constant offset, which addressing modes add for free.
            away = self.body.const("i64", iteration * step.factor)
            address = block.append(Op("offset", "ptr", [first, away], word=op.word))
        return block.append(Op("load", op.type, [address], op.info, op.flags, op.word))
