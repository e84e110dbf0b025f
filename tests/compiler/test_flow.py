"""Dominators, against their definition."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.spirv import read, verify
from anyzero.compiler.spirv.flow import flow
from tests.compiler.assembler import assemble
from tests.compiler.samples import function

graphs = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.lists(st.integers(1, count), max_size=2), min_size=count + 1, max_size=count + 1)
)


def module(graph: list[list[int]]) -> str:
    """A function with a block for each node; an edge is a branch."""
    lines = []
    for node, targets in enumerate(graph):
        lines += [f"%b{node} = OpLabel"] if node else []
        if not targets:
            lines.append("OpReturn")
        elif len(targets) == 1:
            lines.append(f"OpBranch %b{targets[0]}")
        else:
            lines.append(f"OpBranchConditional %true %b{targets[0]} %b{targets[1]}")
    return function("\n".join(lines))


def reached(graph: list[list[int]], without: int | None = None) -> set[int]:
    seen, waiting = {0} - {without}, [0] if without != 0 else []
    while waiting:
        for target in graph[waiting.pop()]:
            if target not in seen and target != without:
                seen.add(target)
                waiting.append(target)
    return {node for node in seen if node is not None}


@given(graphs)
def test_dominators_are_those_that_no_way_avoids(graph: list[list[int]]) -> None:
    main = next(iter(read(assemble(module(graph))).functions.values()))
    found = flow(main)
    place = {label: node for node, label in enumerate(main.blocks)}
    reachable = reached(graph)
    assert {place[label] for label in found.order} == reachable
    assert {place[label] for label in found.unreachable} == set(range(len(graph))) - reachable
    for node in reachable - {0}:
        dominators = {other for other in reachable if other != node and node not in reached(graph, without=other)}
        label = list(main.blocks)[node]
        chain = []
        while label in found.dominators:
            label = found.dominators[label]
            chain.append(place[label])
        assert set(chain) == dominators


def test_long_ladders_do_not_take_long() -> None:
    """Every rung may leave to the same exit: an algorithm that walks up the tree for each would take the square."""
    count = 20_000
    ladder = [[node + 1, count] for node in range(count)] + [[]]
    ladder[count - 1] = [count]
    parsed = read(assemble(module(ladder)))
    start = time.process_time()
    verify(parsed)
    assert time.process_time() - start < 5
