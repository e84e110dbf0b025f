"""Dominators of any graph, against their definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.dominators import dominators, order, tree

graphs = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.lists(st.integers(1, count), max_size=3), min_size=count + 1, max_size=count + 1)
)


def reached(graph: list[list[int]], without: int | None = None) -> set[int]:
    seen, waiting = {0}, [0]
    while waiting:
        for target in graph[waiting.pop()]:
            if target != without and target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


@given(graphs)
def test_dominators(graph: list[list[int]]) -> None:
    found = dominators(0, lambda node: graph[node])
    nodes = reached(graph)
    assert set(found) == nodes - {0}
    for node in nodes - {0}:
        strict = {other for other in nodes - {node} if other == 0 or node not in reached(graph, without=other)}
        above, walk = set(), node
        while walk != 0:
            walk = found[walk]
            above.add(walk)
        assert above == strict
        assert {other for other in nodes if found.dominates(other, node)} == {node, *strict}
    below = tree(0, found)
    assert {child: node for node, children in below.items() for child in children} == found


@given(graphs)
def test_the_order_begins_with_dominators(graph: list[list[int]]) -> None:
    found = order(0, lambda node: graph[node])
    place = {node: index for index, node in enumerate(found)}
    assert sorted(found) == sorted(reached(graph))
    assert all(place[above] < place[node] for node, above in dominators(0, lambda node: graph[node]).items())


def test_deep_graphs_take_no_stack() -> None:
    count = 20_000
    found = dominators(0, lambda node: [node + 1] if node < count else [0])
    assert found[count] == count - 1
    assert order(0, lambda node: [node + 1] if node < count else [])[-1] == count
