"""Loops with several entries get a single one: a new header, which branches to the entry that an edge had led to.

A `goto` into a loop makes such loops, and so do optimisers: the flow is called irreducible then. Passes and analyses
know loops by their headers, so they need this form.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.dominators import order
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect, split_edge


def single_entry(body: Body, loops: Loops) -> bool:
    """Adds headers; True if there are new blocks, and loops and dominators have to be computed again.

    Values still dominate their uses: whatever follows an entry followed it before.
    """
    if not loops.irreducible:
        return False
    waiting = [set(body.blocks)]
    while waiting:
        for blocks in _cycles(waiting.pop()):
            entries = [block for block in blocks if any(each not in blocks for each in block.predecessors)]
            entries.sort(key=lambda block: block.number)
            if len(entries) > 1:
                _join(body, entries)
                waiting.append(blocks)
            else:
                waiting.append(blocks - {entries[0]})
    number(body)
    return True


def _cycles(blocks: set[Block]) -> list[set[Block]]:
    """The strongly connected components of more than one block, by Kosaraju's algorithm."""
    starts = sorted(blocks, key=lambda block: block.number)

    def successors(block: Block | None) -> list[Block | None]:
        return [each for each in (block.successors if block else starts) if each in blocks]

    found = []
    free = set(blocks)
    for first in order(None, successors)[1:]:
        component, waiting = set(), [first]
        while waiting:
            block = waiting.pop()
            if block in free and block is not None:
                free.remove(block)
                component.add(block)
                waiting += block.predecessors
        if len(component) > 1:
            found.append(component)
    return found


def _join(body: Body, entries: list[Block]) -> None:
    """All edges to the entries lead to the new header, in which a phi has the number of the entry."""
    header = Block(len(body.blocks))
    body.blocks.append(header)
    chosen = header.add_phi(Op("phi", "i32"))
    for place, entry in enumerate(entries):
        for source in list(entry.predecessors):
            if any(each in entries and each is not entry for each in source.successors):
                source = split_edge(body, source, entry)
            redirect(source, entry, header)
            header.predecessors.append(source)
            chosen.args.append(body.const("i32", place))
    for entry in entries:
        for phi in entry.phis:
            known = dict(zip(entry.predecessors, phi.args, strict=True))
            undefined = _undefined(body, phi.type)
            phi.args = [known.get(source, undefined) for source in header.predecessors]
            header.add_phi(phi)
        entry.phis = []
    _branch(body, header, chosen, entries)


def _branch(body: Body, block: Block, chosen: Op, entries: list[Block]) -> None:
    """Compares the number with one entry after the other."""
    for place, entry in enumerate(entries[:-1]):
        last = place == len(entries) - 2
        otherwise = entries[-1] if last else Block(len(body.blocks))
        block.condition = block.append(Op("icmp", "i1", [chosen, body.const("i32", place)], "eq"))
        block.successors = [entry, otherwise]
        entry.predecessors, otherwise.predecessors = [block], [block]
        if not last:
            body.blocks.append(otherwise)
            block = otherwise


def _undefined(body: Body, type_: str) -> Op:
    op = Op("undef", type_, block=body.blocks[0])
    body.blocks[0].ops.insert(0, op)
    return op
