"""Loops, and one way back for each."""

from __future__ import annotations

from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Block
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.preheaders import preheaders
from anyzero.compiler.transform.single_latch import single_latch
from tests.compiler.lowering.draft import Draft, loops_of


def graph(edges: dict[int, tuple[int, ...]]) -> tuple[Draft, list[Block]]:
    """Blocks that branch by an argument; the first is the entry."""
    d = Draft()
    blocks = [d.block, *d.place(len(edges) - 1)]
    for source, targets in edges.items():
        d.at(blocks[source])
        if len(targets) == 1:
            d.goto(blocks[targets[0]])
        elif targets:
            d.branch(d.below(d.argument(), source), *(blocks[target] for target in targets))
    return d, blocks


def test_given_no_way_back_then_there_is_no_loop() -> None:
    d, blocks = graph({0: (1, 2), 1: (3,), 2: (3,), 3: ()})
    loops = loops_of(d.done())
    assert not loops.all
    assert not loops.irreducible
    assert loops.around(blocks[1]) == []


def test_given_a_loop_then_its_blocks_latch_and_exits_are_known() -> None:
    d, blocks = graph({0: (1,), 1: (2, 4), 2: (3, 4), 3: (1,), 4: ()})
    (loop,) = loops_of(d.done()).all
    assert loop.header is blocks[1]
    assert list(loop.blocks) == [blocks[1], blocks[2], blocks[3]]
    assert loop.latches == [blocks[3]]
    assert set(loop.exits) == {(blocks[1], blocks[4]), (blocks[2], blocks[4])}


def test_the_blocks_of_a_loop_are_in_the_order_of_their_numbers() -> None:
    """Whatever passes make from them is the same in every process: a set would be in the order of addresses."""
    length = 40
    ways = {at: (at + 1,) for at in range(length)} | {length: (1, length + 1), length + 1: ()}
    d, blocks = graph(ways)
    (loop,) = loops_of(d.done()).all
    assert list(loop.blocks) == [blocks[at] for at in range(1, length + 1)]


def test_given_a_block_that_leads_to_itself_then_it_is_a_loop() -> None:
    d, blocks = graph({0: (1,), 1: (1, 2), 2: ()})
    (loop,) = loops_of(d.done()).all
    assert (loop.header, list(loop.blocks), loop.latches) == (blocks[1], [blocks[1]], [blocks[1]])


def test_given_loops_in_loops_then_the_innermost_comes_first() -> None:
    d, blocks = graph({0: (1,), 1: (2, 5), 2: (3, 4), 3: (2,), 4: (1,), 5: ()})
    loops = loops_of(d.done())
    outer, inner = loops.all
    assert (outer.header, inner.header) == (blocks[1], blocks[2])
    assert inner.parent is outer
    assert loops.around(blocks[3]) == [inner, outer]
    assert loops.innermost[blocks[4]] is outer


def test_given_a_loop_with_two_entries_then_it_is_called_irreducible() -> None:
    d, _ = graph({0: (1, 2), 1: (2, 3), 2: (1, 3), 3: ()})
    assert loops_of(d.done()).irreducible


def test_given_blocks_then_dominance_is_as_its_definition_says() -> None:
    d, blocks = graph({0: (1, 2), 1: (3,), 2: (3,), 3: (4, 5), 4: (5,), 5: ()})
    body = d.done()
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    assert immediate.dominates(blocks[0], blocks[5])
    assert immediate.dominates(blocks[3], blocks[5])
    assert immediate.dominates(blocks[3], blocks[3])
    assert not immediate.dominates(blocks[4], blocks[5])
    assert not immediate.dominates(blocks[1], blocks[3])


def test_given_two_ways_back_then_they_meet_first() -> None:
    d, blocks = graph({0: (1,), 1: (2, 5), 2: (3, 4), 3: (1,), 4: (1,), 5: ()})
    header = blocks[1]
    values = [d.i64(number) for number in (10, 20, 30)]
    phi = d.joined("i64", header, values)
    assert header.predecessors == [blocks[0], blocks[3], blocks[4]]
    body = d.done()
    assert single_latch(body, loops_of(body))
    check(body)
    (loop,) = loops_of(body).all
    (latch,) = loop.latches
    assert set(latch.predecessors) == {blocks[3], blocks[4]}
    (met,) = latch.phis
    assert dict(zip(latch.predecessors, met.args, strict=True)) == {blocks[3]: values[1], blocks[4]: values[2]}
    assert dict(zip(header.predecessors, phi.args, strict=True)) == {blocks[0]: values[0], latch: met}


def test_given_one_way_back_then_nothing_changes() -> None:
    d, _ = graph({0: (1,), 1: (2, 3), 2: (1,), 3: ()})
    body = d.done()
    before = list(body.blocks)
    assert not single_latch(body, loops_of(body))
    assert body.blocks == before


def test_given_a_continue_that_is_conditional_then_its_other_way_stays() -> None:
    d, blocks = graph({0: (1,), 1: (2, 4), 2: (1, 3), 3: (1,), 4: ()})
    body = d.done()
    assert single_latch(body, loops_of(body))
    check(body)
    (loop,) = loops_of(body).all
    assert blocks[3] in blocks[2].successors
    assert loop.latches[0] in blocks[2].successors


def test_given_a_loop_behind_a_branch_then_it_gets_a_preheader() -> None:
    d, blocks = graph({0: (1, 2), 1: (1, 2), 2: ()})
    body = d.done()
    assert preheaders(body, loops_of(body))
    check(body)
    (between,) = set(body.blocks) - set(blocks)
    assert (between.predecessors, between.successors) == ([blocks[0]], [blocks[1]])
    assert blocks[0].successors == [between, blocks[2]]
    assert not preheaders(body, loops_of(body))
