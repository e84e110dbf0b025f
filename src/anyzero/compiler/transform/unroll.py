"""Full unrolling of short loops: tiny ones, and those that index private memory.

An array that is indexed by a loop's counter has to be in memory. After full unrolling every index is constant, and the
array can be promoted. SPIR-V that was optimised has its tiny loops unrolled; in other SPIR-V their counters hide
constant distances between addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.analysis.cost import CHEAP_MATHS
from anyzero.compiler.analysis.loops import Loop, Loops, find_loops
from anyzero.compiler.analysis.trip_count import Counted, counted
from anyzero.compiler.dominators import Dominators, dominators
from anyzero.compiler.ir import Block, Body, Op, Variable
from anyzero.compiler.operations import LONG
from anyzero.compiler.transform.blocks import arrange, join, substitute
from anyzero.compiler.transform.phis import remove_trivial_phis
from anyzero.compiler.transform.simplify import simplify
from anyzero.lazy_dataclass import dataclass

TURNS = 32
OPERATIONS = 512
"""Most operations of an unrolled loop, all iterations together."""
TINY = 256
"""The same, where no array is promoted."""
BYTES = 1024
"""The largest array that is worth it."""
MEETINGS = 10
"""Most iterations of a tiny loop with a barrier, because each adds regions: enough for a tree over a group."""
MUCH = 16
"""The weight of an operation that becomes much code."""
ALL = 4096
"""Most operations that unrolling may add to a body."""


def unroll(body: Body, *, barriers: bool = False) -> bool:
    """Unrolls the loops that pay, inner ones first; True if there were any.

    With `barriers`, only loops with a barrier of a group, otherwise only loops without.
    """
    changed, room = False, ALL
    while room > 0:
        immediate = dominators(body.blocks[0], lambda block: block.successors)
        loops = find_loops(body, immediate)
        behind: dict[Op, Op] = {}
        done: set[Block] = set()
        for loop in _that_pay(body, loops, immediate, barriers):
            size = iteration_size(loop)
            # An earlier unrolling may have changed the loop's entry.
            found = counted(loop, immediate, TURNS) if done.isdisjoint(loop.blocks) else None
            if found is not None and size * (found.iterations + 1) <= room:
                room -= size * (found.iterations + 1)
                done.update(loop.blocks)
                behind |= _write_out(body, found)
        if not done:
            break
        changed = True
        substitute(body, behind)
        arrange(body, body.blocks[0])
        remove_trivial_phis(body)
        simplify(body)
        join(body)
    return changed


def _that_pay(body: Body, loops: Loops, immediate: Dominators[Block], barriers: bool) -> list[Loop]:
    """Tiny loops, and loops over arrays all of whose indices become constant once all such loops are unrolled; small
    ones first.
    """
    walks = [(block, variable) for block in body.blocks for variable in _walked(block)]
    short: dict[Loop, bool] = {}

    def is_short(loop: Loop) -> bool:
        if loop not in short:
            found = counted(loop, immediate, TURNS) if not has_barriers(loop) else None
            short[loop] = found is not None and iteration_size(loop) * (found.iterations + 1) <= OPERATIONS
        return short[loop]

    kept = {variable for block, variable in walks if not any(is_short(loop) for loop in loops.around(block))}
    chosen = {loop for loop in loops.all if has_barriers(loop) == barriers and _is_tiny(loop, loops, immediate)}
    if not barriers:
        chosen |= {
            loop for block, variable in walks if variable not in kept for loop in loops.around(block) if is_short(loop)
        }
    return sorted(chosen, key=lambda loop: (len(loop.blocks), loop.header.number))


def _is_tiny(loop: Loop, loops: Loops, immediate: Dominators[Block]) -> bool:
    if any(loops.innermost[block] is not loop for block in loop.blocks):
        return False
    size = sum(_weight(op) for block in loop.blocks for op in block.ops)
    most = TINY // max(size, 1)
    return counted(loop, immediate, min(most, MEETINGS) if has_barriers(loop) else most) is not None


def _weight(op: Op) -> int:
    if op.name in ("cast", "offset"):
        # Arithmetic on counters, and accesses at constant offsets: most of these are folded.
        return 0
    return MUCH if op.name in LONG or (op.name == "math" and op.info[0] not in CHEAP_MATHS) else 1


def iteration_size(loop: Loop) -> int:
    return sum(len(block.ops) + len(block.phis) for block in loop.blocks)


def _walked(block: Block) -> Iterator[Variable]:
    """Private arrays with an index that is not constant."""
    for op in block.ops:
        if op.name == "offset" and op.args[1].name != "const":
            begin = root(op)
            if begin.name == "variable" and begin.info.space == "private" and begin.info.size <= BYTES:
                yield begin.info


def has_barriers(loop: Loop) -> bool:
    """Does it have barriers of a group? Each iteration would then add regions."""
    for block in loop.blocks:
        for op in block.ops:
            if op.name == "group_copy" or (op.name == "barrier" and op.info != "sub_group"):
                return True
            if op.name == "group" and op.info.scope == "group":
                return True
    return False


@dataclass(slots=True, eq=False)
class Iteration:
    """A copy of a loop's blocks and operations."""

    blocks: dict[Block, Block]
    """The copy of each block of the loop."""
    values: dict[Op, Op]
    """The values of this iteration, by the original."""

    def value(self, op: Op) -> Op:
        return self.values.get(op, op)


def _write_out(body: Body, found: Counted) -> dict[Op, Op]:
    """The caller replaces uses after the loop by the values of the last iteration."""
    header = found.loop.header
    blocks = sorted(found.loop.blocks, key=lambda block: block.number)
    initial, carried = (header.predecessors.index(block) for block in (found.before, found.latch))
    iterations: list[Iteration] = []
    for _ in range(found.iterations + 1):
        iteration = Iteration({block: Block(0) for block in blocks}, {})
        for phi in header.phis:
            iteration.values[phi] = iterations[-1].value(phi.args[carried]) if iterations else phi.args[initial]
        iterations.append(iteration)
        copy_operations(blocks, header, iteration)
    first, last = iterations[0], iterations[-1]
    for iteration, following in zip(iterations, [*iterations[1:], None], strict=True):
        for block in blocks:
            _copy_flow(block, iteration, following, found)
    first.blocks[header].predecessors = [found.before]
    found.before.successors = [first.blocks.get(each, each) for each in found.before.successors]
    place = found.exit.predecessors.index(found.leaves)
    found.exit.predecessors[place] = last.blocks[found.leaves]
    body.blocks = [block for block in body.blocks if block not in found.loop.blocks]
    body.blocks += [copy for iteration in iterations for copy in iteration.blocks.values()]
    return last.values


def copy_operations(blocks: list[Block], header: Block, iteration: Iteration) -> None:
    for block in blocks:
        if block is not header:
            for phi in block.phis:
                iteration.values[phi] = iteration.blocks[block].add_phi(Op("phi", phi.type, word=phi.word))
    for block in blocks:
        copy = iteration.blocks[block]
        for op in block.ops:
            args = [iteration.value(arg) for arg in op.args]
            iteration.values[op] = copy.append(Op(op.name, op.type, args, op.info, op.flags, op.word))


def _copy_flow(block: Block, iteration: Iteration, following: Iteration | None, found: Counted) -> None:
    copy, header = iteration.blocks[block], found.loop.header
    targets = list(block.successors)
    if block is found.leaves:
        targets = [each for each in targets if (each is found.exit) == (following is None)]
    for target in targets:
        if target is header:
            if following is not None:
                copy.successors.append(following.blocks[header])
                following.blocks[header].predecessors.append(copy)
        elif target is found.exit:
            copy.successors.append(target)
        else:
            copy_edge(block, target, iteration, copy)
    if len(copy.successors) == 2 and block.condition is not None:
        copy.condition = iteration.value(block.condition)


def copy_edge(block: Block, target: Block, iteration: Iteration, copy: Block) -> None:
    place, there = target.predecessors.index(block), iteration.blocks[target]
    copy.successors.append(there)
    there.predecessors.append(copy)
    for phi, original in zip(there.phis, target.phis, strict=True):
        phi.args.append(iteration.value(original.args[place]))
