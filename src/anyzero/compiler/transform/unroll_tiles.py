"""Unrolling of loops that begin with a local id, as where a group fills a tile: `for (i = local_id; i < 10; i += 8)`.

In groups of a known size, comparisons of local ids with constants are settled: iterations that all work-items execute
need no mask. Along rows, the mask of the last one is a constant prefix of the row, see `lower/lane_prefix.py`; down
the rows, a row does it as a whole or not at all.
"""

from __future__ import annotations

from anyzero.compiler.analysis.affine import Form, Forms, Size
from anyzero.compiler.analysis.loops import Loop, find_loops
from anyzero.compiler.dominators import dominators
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import WIDTHS, Block, Body, Op
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.blocks import arrange, join, substitute
from anyzero.compiler.transform.interior_version import in_every_group
from anyzero.compiler.transform.phis import remove_trivial_phis
from anyzero.compiler.transform.simplify import simplify
from anyzero.compiler.transform.unroll import Iteration, copy_edge, copy_operations, has_barriers, iteration_size
from anyzero.lazy_dataclass import dataclass

TURNS = 4
OPERATIONS = 128
"""Most operations of an unrolled loop, all iterations together."""


def unroll_tiles(body: Body, group: Size) -> bool:
    """True if there were such loops."""
    changed = False
    while True:
        number(body)
        immediate = dominators(body.blocks[0], lambda block: block.successors)
        loops = find_loops(body, immediate)
        forms = Forms(loops, immediate, group)
        innermost = [loop for loop in loops.all if all(loops.innermost[block] is loop for block in loop.blocks)]
        found = next((tile for loop in innermost if (tile := _tile(loop, forms, body)) is not None), None)
        if found is None:
            return changed
        changed = True
        _write_out(body, found)
        arrange(body, body.blocks[0])
        settled = {op: known for op in body.ops if (known := _settled(op, forms, body)) is not None}
        for block in body.blocks:
            block.ops = [op for op in block.ops if op not in settled]
        substitute(body, settled)
        remove_trivial_phis(body)
        simplify(body)
        join(body)


@dataclass(slots=True, eq=False)
class _Tile:
    loop: Loop
    before: Block
    exit: Block
    start: Op
    bounds: list[int | None]
    """By iteration: another one follows where the start is less; None where it does for all work-items."""


def _settled(op: Op, forms: Forms, body: Body) -> Op | None:
    return in_every_group(op, forms, body) if op.name == "icmp" and op.args[0].type in ("i32", "i64") else None


def _tile(loop: Loop, forms: Forms, body: Body) -> _Tile | None:
    """The loop, if it is short, has a single exit at its latch, and begins with a local id."""
    before = [block for block in loop.header.predecessors if block not in loop.blocks]
    if len(before) != 1 or len(loop.latches) != 1 or len(loop.exits) != 1 or has_barriers(loop):
        return None
    latch, exit_ = loop.latches[0], loop.exits[0][1]
    test = latch.condition
    if test is None or latch.successors != [loop.header, exit_] or test.name != "icmp" or test.info != "slt":
        return None
    following, bound = test.args
    phi = following.args[0] if following.name == "add" else None
    if phi is None or phi not in loop.header.phis or phi.args[_place(loop, latch)] is not following:
        return None
    if following.args[1].name != "const" or bound.name != "const":
        return None
    start, bits = phi.args[_place(loop, before[0])], WIDTHS[phi.type]
    by, end = signed(following.args[1].info, bits), signed(bound.info, bits)
    form, first = forms.of(start), forms.range(start)
    if form is None or first is None or not _is_place(form) or by <= 0:
        return None
    turns = max(-(-(end - first[0]) // by), 1)
    if turns > TURNS or turns * iteration_size(loop) > OPERATIONS or _is_used_behind(loop, body):
        return None
    bounds = [end - by * turn for turn in range(1, turns)]
    return _Tile(loop, before[0], exit_, start, [None if first[1] < each else each for each in bounds])


def _is_place(form: Form) -> bool:
    """Is it a local id, or, in a dimension of one work-item, a constant?"""
    return form.within and len(form.terms) == len(form.ids) < 2 and all(factor == 1 for _, factor in form.terms)


def _place(loop: Loop, block: Block) -> int:
    return loop.header.predecessors.index(block)


def _is_used_behind(loop: Loop, body: Body) -> bool:
    """Are values of the loop used behind it, other than by phis of the exit?"""
    exit_ = loop.exits[0][1]
    used = {arg for block in body.blocks if block not in loop for op in block.ops for arg in op.args}
    used |= {
        arg for block in body.blocks if block not in loop and block is not exit_ for op in block.phis for arg in op.args
    }
    used |= {block.condition for block in body.blocks if block not in loop and block.condition is not None}
    return any(op.block in loop.blocks for op in used if op.block is not None)


def _write_out(body: Body, tile: _Tile) -> None:
    loop, header, exit_ = tile.loop, tile.loop.header, tile.exit
    latch = loop.latches[0]
    blocks = sorted(loop.blocks, key=lambda block: block.number)
    initial, carried = _place(loop, tile.before), _place(loop, latch)
    iterations: list[Iteration] = []
    for _ in range(len(tile.bounds) + 1):
        iteration = Iteration({block: Block(0) for block in blocks}, {})
        for phi in header.phis:
            iteration.values[phi] = iterations[-1].value(phi.args[carried]) if iterations else phi.args[initial]
        iterations.append(iteration)
        copy_operations(blocks, header, iteration)
    place = exit_.predecessors.index(latch)
    del exit_.predecessors[place]
    left = [(phi, phi.args.pop(place)) for phi in exit_.phis]
    bounds = [*tile.bounds, None]
    for iteration, following, bound in zip(iterations, [*iterations[1:], None], bounds, strict=True):
        for block in blocks:
            copy = iteration.blocks[block]
            if block is not latch:
                for target in block.successors:
                    copy_edge(block, target, iteration, copy)
                copy.condition = None if block.condition is None else iteration.value(block.condition)
                continue
            if following is not None:
                copy.successors.append(following.blocks[header])
                following.blocks[header].predecessors.append(copy)
            if following is None or bound is not None:
                copy.successors.append(exit_)
                exit_.predecessors.append(copy)
                for phi, value in left:
                    phi.args.append(iteration.value(value))
            if following is not None and bound is not None:
                limit = body.const(tile.start.type, bound)
                copy.condition = copy.append(Op("icmp", "i1", [tile.start, limit], "slt"))
    iterations[0].blocks[header].predecessors = [tile.before]
    tile.before.successors = [iterations[0].blocks.get(each, each) for each in tile.before.successors]
    body.blocks = [block for block in body.blocks if block not in loop.blocks]
    body.blocks += [copy for iteration in iterations for copy in iteration.blocks.values()]
