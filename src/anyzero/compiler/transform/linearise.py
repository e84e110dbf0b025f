"""Partial control-flow linearisation: afterwards every branch is uniform (after Moll and Hack, 2018).

Both sides of a divergent branch run one after the other, each under the mask of the lanes that take it; a side whose
mask is empty is skipped. A divergent loop runs until its last lane has left. Uniform branches stay, also inside of
masked code.

Phis become slots that are written on the edges to their block; LLVM's mem2reg makes them phis again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import UNIFORM, VARYING, Flow, Shape, Shapes
from anyzero.compiler.dominators import dominators, tree
from anyzero.compiler.ir import Block, Body, Masks, Op, Slot
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.pending import Pending, Waiting

CHEAP = 8
"""Up to so many operations run under an empty mask: a branch around them would cost more."""

LOOP_MASK = "loop mask"
"""The name of slots with the lanes that are still in a loop."""


def entry_mask(body: Body) -> Op:
    """The mask at the entry: a row's last vector may have fewer work-items than lanes."""
    op = Op("entry_mask", "i1")
    op.block = body.blocks[0]
    body.blocks[0].ops.insert(0, op)
    return op


def linearise(body: Body, flow: Flow, shapes: Shapes) -> Masks:
    mask = entry_mask(body)
    shapes.of[mask] = VARYING
    if not shapes.divergent:
        _slots_for_phis(body, shapes)
        return Masks(dict.fromkeys(body.blocks, mask))
    return _Linearising(body, flow, shapes, mask).run()


class _Linearising:
    def __init__(self, body: Body, flow: Flow, shapes: Shapes, mask: Op) -> None:
        self.body = body
        self.flow = flow
        self.shapes = shapes
        self.masks: dict[Block, Op] = {body.blocks[0]: mask}
        self.mask_slots: dict[Block, Slot] = {}
        self.back_slots: dict[Loop, Slot] = {}
        self.phi_slots: dict[Op, Slot] = {}
        self.out_slots: dict[Op, Slot] = {}
        self.outs: dict[Loop, list[Op]] = {}
        self.edge_masks: dict[tuple[Block, Block], Op] = {}
        self.original = list(body.blocks)
        self.made: list[Block] = []
        self.loop_end: dict[Loop, Block] = {}
        self.loop_exit: dict[Loop, Block] = {}
        self.ended: dict[Block, Loop] = {}
        """The loop that a block is the latch of,"""
        self.left: dict[Block, Loop] = {}
        """or the exit."""
        self.guards: dict[Block, Block] = {}
        self.waiting: dict[Block, Waiting | None] = {}
        """Blocks that are pending after each block."""
        self.ways: dict[Block, dict[Block, int]] = {}
        """Positions of the predecessors of a block, computed on first use."""
        self.exits = {loop: loop.exits for loop in shapes.divergent_loops}
        self.starts_over: set[tuple[Block, Block]] = set()
        self.sure = {body.blocks[0]}
        """Blocks that run only with at least one active lane."""

    def run(self) -> Masks:
        order = self._compact()
        self._find_outs()
        self._decide_masks(order)
        self._start_slots()
        nodes = self._with_loop_ends(order)
        self.pending = Pending({node: place for place, node in enumerate(nodes)})
        was = {block: list(block.successors) for block in self.original}
        for node in nodes:
            self._guard(node)
            self._leave(node, was)
        self._finish(nodes)
        return Masks(self.masks)

    # Small pieces

    def _op(
        self, block: Block, name: str, type_: str, args: Iterable[Op] = (), info: object = None, shape: Shape = VARYING
    ) -> Op:
        op = block.append(Op(name, type_, list(args), info))
        self.shapes.of[op] = shape
        return op

    def _read(self, block: Block, slot: Slot) -> Op:
        return self._op(block, "read", slot.type, (), slot, slot.shape)

    def _write(self, block: Block, slot: Slot, value: Op) -> None:
        self._op(block, "write", "", [value], slot)

    def _blend(self, block: Block, slot: Slot, mask: Op, value: Op) -> None:
        old = self._read(block, slot)
        self._write(block, slot, self._op(block, "select", slot.type, [mask, value, old]))

    def _new(self) -> Block:
        block = Block(len(self.original) + len(self.made))
        self.made.append(block)
        return block

    def _loop_left(self, loop: Loop | None, target: Block) -> Loop | None:
        """The innermost divergent loop, from `loop` outwards, that `target` is not in."""
        while loop is not None and (target in loop or loop not in self.shapes.divergent_loops):
            loop = loop.parent
        return loop

    # Preparation

    def _compact(self) -> list[Block]:
        """A dominance-compact order: blocks that a block dominates follow it contiguously, loops before their exits."""
        flow = self.flow
        entry = self.original[0]
        below = tree(
            entry, dominators(entry, lambda block: [each for each in flow.forward[block] if each is not flow.sink])
        )
        found, stack = [], [entry]
        while stack:
            block = stack.pop()
            found.append(block)
            stack += sorted(below[block], key=lambda each: -flow.place[each])
        return found

    def _find_outs(self) -> None:
        """Values of divergent loops that are used after the loop."""
        loops = self.flow.loops
        if not self.shapes.divergent_loops:
            return
        for block in self.original:
            ops, block.ops = block.ops, []
            for op in ops:
                for place, arg in enumerate(op.args):
                    op.args[place] = self._seen_from(block, arg)
                block.ops.append(op)
        for block in self.original:
            if block.condition is not None:
                block.condition = self._seen_from(block, block.condition)
            for phi in block.phis:
                for place, source in enumerate(block.predecessors):
                    phi.args[place] = self._seen_from(source, phi.args[place])
        for value in self.out_slots:
            assert value.block is not None
            inner = next(each for each in loops.around(value.block) if each in self.shapes.divergent_loops)
            self.outs.setdefault(inner, []).append(value)

    def _seen_from(self, block: Block, value: Op) -> Op:
        """The value at the current end of a block."""
        if value.block is None or self._loop_left(self.flow.loops.innermost[value.block], block) is None:
            return value
        slot = self.out_slots.get(value)
        if slot is None:
            slot = self.out_slots[value] = Slot(value.type, "out", VARYING)
        return self._op(block, "read", value.type, (), slot)

    def _decide_masks(self, order: list[Block]) -> None:
        flow = self.flow
        headers = {loop.header: loop for loop in flow.loops.all if loop in self.shapes.divergent_loops}
        for block in order[1:]:
            anchor = flow.anchor(block)
            sources = [each for each in block.predecessors if each.number < block.number]
            if block in headers:
                self.mask_slots[block] = Slot("i1", LOOP_MASK, VARYING)
                self.back_slots[headers[block]] = Slot("i1", "back", VARYING)
            elif flow.post_dominates(block, anchor):
                self.masks[block] = self.masks[anchor]
                continue
            elif len(sources) == 1 and self._loop_left(flow.loops.innermost[sources[0]], block) is None:
                self.masks[block] = self._edge_mask(sources[0], block)
                continue
            else:
                self.mask_slots[block] = Slot("i1", "mask", VARYING)
            # Computed before the block's own operations, because a guard may use it.
            read = Op("read", "i1", [], self.mask_slots[block])
            self.shapes.of[read] = VARYING
            self.masks[block] = read

    def _edge_mask(self, source: Block, target: Block) -> Op:
        """The mask of an edge."""
        found = self.edge_masks.get((source, target))
        if found is None:
            mask = self.masks[source]
            if source not in self.shapes.divergent:
                return mask
            assert source.condition is not None
            name = "mask_and" if source.successors[0] is target else "mask_andn"
            found = self.edge_masks[source, target] = self._op(source, name, "i1", [mask, source.condition])
        return found

    def _start_slots(self) -> None:
        """Initialises masks to empty and phis to undefined values."""
        false = self.body.const("i1", 0)
        for loop, slot in self.back_slots.items():
            write = Op("write", "", [false], slot, block=loop.header)
            loop.header.ops.insert(0, write)
        for block, slot in self.mask_slots.items():
            self._write(self.flow.anchor(block), slot, false)
        for block in self.original:
            for phi in block.phis:
                self.phi_slots[phi] = slot = Slot(phi.type, "phi", self.shapes[phi])
                if block in self.shapes.joins and block is not self.original[0]:
                    undefined = Op("undef", phi.type)
                    self._write(self.flow.anchor(block), slot, undefined)

    def _with_loop_ends(self, order: list[Block]) -> list[Block]:
        """Adds to each divergent loop a latch that tests for remaining lanes, and an exit block."""
        nodes: list[Block] = []
        place = {block: index for index, block in enumerate(order)}
        ends: dict[Block, list[Loop]] = {}
        for loop in self.flow.loops.all:
            if loop in self.shapes.divergent_loops:
                ends.setdefault(max(loop.blocks, key=lambda block: place[block]), []).append(loop)
        for block in order:
            nodes.append(block)
            for loop in reversed(ends.get(block, [])):
                end, leave = self.loop_end[loop], self.loop_exit[loop] = self._new(), self._new()
                self.ended[end], self.left[leave] = loop, loop
                live = self._read(end, self.back_slots[loop])
                self._write(end, self.mask_slots[loop.header], live)
                end.condition = self._op(end, "any", "i1", [live], shape=UNIFORM)
                nodes += [end, leave]
        return nodes

    # Edges

    def _guard(self, block: Block) -> None:
        """Skips a block under an empty mask."""
        slot = self.mask_slots.get(block)
        home = block
        waiting = self.waiting.get(block)
        sure = not waiting or (block in self.flow.immediate and self._as_sure_as_above(block))
        if block.number < len(self.original) and waiting and not sure and self._worth(block):
            sure = True
            guard = self.guards[block] = self._new()
            home = guard
            first, rest = self.pending.next(waiting)
            guard.successors = [block, first]
            self._defer(first, rest)
        if sure:
            self.sure.add(block)
        loop = self.flow.loops.innermost.get(block)
        again = loop is not None and loop.header is block
        mask = self.masks[block] if slot is not None or home is not block else None
        if slot is not None and mask is not None:
            # The mask of a loop's header changes from iteration to iteration.
            place = block if again else home
            mask.block = place
            place.ops.insert(0, mask)
            if place is not home:
                mask = self._read(home, slot)
        if home is not block and mask is not None:
            home.condition = self._op(home, "any", "i1", [mask], shape=UNIFORM)

    def _as_sure_as_above(self, block: Block) -> bool:
        anchor = self.flow.anchor(block)
        return anchor in self.sure and self.masks[block] is self.masks[anchor]

    def _worth(self, block: Block) -> bool:
        loop = self.flow.loops.innermost[block]
        if loop is not None and loop.header is block:
            return True
        return len(block.ops) > CHEAP or any(not op.pure and op.name not in ("read", "write") for op in block.ops)

    def _defer(self, to: Block, targets: Waiting | None) -> None:
        self.waiting[to] = self.pending.both(self.waiting.get(to), targets)

    def _leave(self, block: Block, was: dict[Block, list[Block]]) -> None:
        waiting = self.waiting.get(block)
        loop = self.ended.get(block)
        if loop is not None:
            leave = self.loop_exit[loop]
            block.successors = [loop.header, leave]
            self.starts_over.add((block, loop.header))
            self._defer(leave, waiting)
            return
        left = self.left.get(block)
        if left is not None:
            self._go(block, {self._route(left.parent, target) for _, target in self.exits[left]}, waiting)
            return
        successors = was[block]
        if not successors:
            self._go(block, (), waiting)
        elif len(successors) == 1 or block in self.shapes.divergent:
            for target in successors:
                self._act(block, block, target)
            if len(successors) == 1 and self._is_back(block, successors[0]):
                block.successors = [successors[0]]
                self.starts_over.add((block, successors[0]))
                return
            inner = self.flow.loops.innermost[block]
            block.condition = None
            self._go(block, {self._route(inner, target, block) for target in successors}, waiting)
        else:
            block.successors = []
            for target in successors:
                edge = self._new()
                self._act(edge, block, target)
                if self._is_back(block, target):
                    edge.successors = [target]
                    self.starts_over.add((edge, target))
                else:
                    self._go(edge, [self._route(self.flow.loops.innermost[block], target, block)], waiting)
                block.successors.append(edge)

    def _is_back(self, source: Block, target: Block) -> bool:
        """Is it the back edge of a uniform loop?"""
        loop = self.flow.loops.innermost[target]
        back = target.number <= source.number
        return back and loop is not None and loop not in self.shapes.divergent_loops

    def _route(self, loop: Loop | None, target: Block, source: Block | None = None) -> Block:
        """The next block towards `target`: the latch of a divergent loop that is left or repeated, else `target`."""
        if source is not None and target.number <= source.number:
            back = self.flow.loops.innermost[target]
            assert back is not None
            return self.loop_end[back]
        left = self._loop_left(loop, target)
        return target if left is None else self.loop_end[left]

    def _go(self, block: Block, targets: Collection[Block], waiting: Waiting | None) -> None:
        for target in targets:
            waiting = self.pending.both(self.pending.one(target), waiting)
        if waiting is None:
            block.successors = []
            return
        first, rest = self.pending.next(waiting)
        block.successors = [first]
        self._defer(first, rest)

    def _act(self, home: Block, source: Block, target: Block) -> None:
        """Writes the slots of an edge's masks and phis, into `home`."""
        if target.number <= source.number:
            loop = self.flow.loops.innermost[target]
            if loop is not None and loop in self.back_slots:
                self._write(home, self.back_slots[loop], self._edge_mask(source, target))
        elif target in self.mask_slots:
            slot = self.mask_slots[target]
            mask = self._edge_mask(source, target)
            both = self._op(home, "mask_or", "i1", [self._read(home, slot), mask])
            self._write(home, slot, both)
        ways = self.ways.get(target)
        if ways is None:
            ways = self.ways[target] = {each: place for place, each in enumerate(target.predecessors)}
        place = ways[source]
        # All active lanes write the slots, not only those of the edge: a lane that takes another edge either never
        # reaches the target or writes again on its own path. So the edge's mask is not needed.
        here = self.masks[source]
        left = self._loop_left(self.flow.loops.innermost[source], target)
        for phi in target.phis:
            slot, value = self.phi_slots[phi], phi.args[place]
            # Other lanes arrived already, by other edges or in earlier iterations.
            if (target in self.shapes.joins or left is not None) and self.shapes[phi].varying:
                self._blend(home, slot, here, value)
            else:
                self._write(home, slot, value)
        loop = left
        while loop is not None:
            for value in self.outs.get(loop, ()):
                assert value.block is not None
                if self.flow.immediate.dominates(value.block, source):
                    self._blend(home, self.out_slots[value], here, value)
            loop = self._loop_left(loop.parent, target)

    def _finish(self, nodes: list[Block]) -> None:
        """Turns phis into reads of their slots, adds guards, and updates predecessors."""
        blocks = [*self.original, *self.made]
        guards = set(self.guards.values())
        for block in self.original:
            reads = []
            for phi in block.phis:
                # The phi itself becomes the read, so that its uses stay.
                phi.name, phi.args, phi.info = "read", [], self.phi_slots[phi]
                reads.append(phi)
            block.ops[:0] = reads
            block.phis = []
        for block in blocks:
            if block not in guards:
                block.successors = [
                    each if (block, each) in self.starts_over else self.guards.get(each, each)
                    for each in block.successors
                ]
            else:
                block.successors = [block.successors[0], self.guards.get(block.successors[1], block.successors[1])]
            block.predecessors = []
        self.body.blocks = blocks
        connect(self.body)


def _slots_for_phis(body: Body, shapes: Shapes) -> None:
    """Phis of uniform bodies become slots too, so that the lowering knows one form."""
    for block in body.blocks:
        for phi in block.phis:
            slot = Slot(phi.type, "phi", shapes[phi])
            for source, value in zip(block.predecessors, phi.args, strict=True):
                source.append(Op("write", "", [value], slot))
            phi.name, phi.args, phi.info = "read", [], slot
        block.ops[:0] = block.phis
        block.phis = []


def connect(body: Body) -> None:
    """Renumbers the blocks and recomputes predecessors."""
    number(body)
    for block in body.blocks:
        block.predecessors = []
    for block in body.blocks:
        for target in block.successors:
            if not target.predecessors or target.predecessors[-1] is not block:
                target.predecessors.append(block)
