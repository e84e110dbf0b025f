"""Where ways meet, found by leaving out what lies between, against following each of them block by block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.analysis import joins
from anyzero.compiler.dominators import dominators, order
from anyzero.compiler.ir import Block
from anyzero.compiler.lower.scopes import Scope, common

graphs = st.integers(2, 14).flatmap(
    lambda count: st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=2), min_size=count, max_size=count)
)
"""For each block, how much further on its successors are; beyond the last one is the end."""


def flow(steps: list[list[int]]) -> tuple[list[Block], dict[Block, list[Block]], Block]:
    blocks = [Block(number) for number in range(len(steps))]
    sink = Block(-1)
    for block, ahead in zip(blocks, steps, strict=True):
        targets = (blocks[block.number + step] for step in ahead if block.number + step < len(blocks))
        block.successors = list(dict.fromkeys(targets))
    found = order(blocks[0], lambda block: block.successors)
    return found, {block: list(block.successors) for block in found}, sink


def met(edges: list[tuple[Block, Block]], blocks: list[Block]) -> set[Block]:
    """By the definition: labels flow along all edges, and two of them meet."""
    labels: dict[Block, set[object]] = {}
    found = set()
    for edge in edges:
        labels.setdefault(edge[1], set()).add(edge)
    for block in blocks:
        here = labels.get(block, set())
        if len(here) > 1:
            found.add(block)
            here = {block}
        for target in block.successors:
            labels.setdefault(target, set()).update(here)
    return found


@pytest.mark.parametrize("soon", [0, joins.SOON])
@given(steps=graphs)
def test_joins_of_each_branch(soon: int, steps: list[list[int]]) -> None:
    """Of all branches together: a search ends where an earlier one came by."""
    blocks, forward, sink = flow(steps)
    backward: dict[Block, list[Block]] = {block: [] for block in [*blocks, sink]}
    for block, targets in forward.items():
        for target in targets or [sink]:
            backward[target].append(block)
    immediate = dominators(blocks[0], lambda block: block.successors)
    found: set[Block] = set()
    expected: set[Block] = set()
    known: joins.Known = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "SOON", soon)
        searched = joins.Joins(blocks, forward, immediate, dominators(sink, backward.__getitem__))
        for block in blocks:
            edges = [(block, target) for target in block.successors]
            least = searched.of(edges, found.add, known)
            here = met(edges, blocks)
            expected |= here
            assert found == expected
            assert least == min((each.number for each in here), default=joins.NONE)


@given(st.lists(st.integers(0, 20), max_size=40), st.data())
def test_scopes_know_who_is_above(parents: list[int], data: st.DataObject) -> None:
    scopes = [Scope()]
    above = [{0}]
    for number, parent in enumerate(parents, 1):
        scopes.append(Scope(scopes[parent % number]))
        above.append({number, *above[parent % number]})
    one, other = (data.draw(st.integers(0, len(scopes) - 1)) for _ in range(2))
    assert scopes[one].inside(scopes[other]) == (other in above[one])
    nearest = max(above[one] & above[other], key=lambda number: scopes[number].depth)
    assert common(scopes[one], scopes[other]) is scopes[nearest]
    assert common(scopes[one], Scope()) is None
