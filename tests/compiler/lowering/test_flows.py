"""Any flow at all, in vectors: every lane goes its own way to the end.

`ANYZERO_RANDOM=5000` tries so many graphs, other ones each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement.isolation import apart
from tests.compiler.lowering.flows import Graph, Node, wrong
from tests.thorough import examples

WANTED = int(os.environ.get("ANYZERO_RANDOM", "0"))
BATCH = 8
"""Graphs that share a process."""


def node(*targets: int, by: str = "lanes", counts: bool = False) -> Node:
    return Node(targets, by, counts)


@st.composite
def graphs(draw: DrawFn) -> Graph:
    count = draw(st.integers(1, 7))
    nodes = []
    for at in range(count):
        ahead = draw(st.integers(at + 1, min(count, at + 3)))
        other = draw(st.integers(max(0, at - 3), count))
        targets = (other, ahead) if other != ahead and draw(st.integers(0, 4)) else (ahead,)
        condition = draw(st.sampled_from(["lanes", "lanes", "all", "steps"]))
        nodes.append(Node(targets, condition, draw(st.booleans())))
    return nodes


def _first_wrong(drawn: list[tuple[Graph, int, int]]) -> str | None:
    for graph, lanes, bits in drawn:
        found = wrong(graph, lanes, bits)
        if found:
            return f"{found} with {lanes} lanes and {bits:#x} in {graph}"
    return None


def check(drawn: list[tuple[Graph, int, int]]) -> None:
    found = apart(_first_wrong, drawn)
    assert not found.trouble, found.trouble
    assert found.value is None


KNOWN = {
    "two loops in a row": [node(0, 1), node(1, 2)],
    "two loops in a row, the second in step": [node(0, 1), node(1, 2, by="all")],
    "an outer loop starts over from the inner one": [node(1), node(0, 2, by="steps"), node(1, 3)],
    "a loop in each side": [node(3, 1), node(1, 2), node(5), node(3, 4), node(5)],
    "two ways out of a loop": [node(4, 1), node(2, 5), node(0, 3), node(4), node(5)],
    "ways that cross": [node(3, 1), node(4, 2), node(4, 3), node(5, 4), node(5)],
    "continue and break": [node(5, 1), node(4, 2), node(5, 3), node(4), node(0, 5)],
    "a loop with two entries": [node(2, 1), node(2), node(1, 3)],
    "a loop with two entries from one node, in a loop": [node(1), node(3, 2), node(3), node(2, 4), node(1, 5)],
    "a loop with three entries": [node(3, 1), node(4, 2), node(3), node(4), node(2, 5)],
    "a loop with two entries in another": [node(2, 1), node(2), node(4, 3), node(4), node(3, 5), node(1, 6)],
    "a nest of three": [node(1), node(2), node(2, 3), node(1, 4), node(0, 5)],
}


@pytest.mark.parametrize("name", KNOWN)
def test_given_a_graph_then_every_lane_goes_its_own_way(name: str) -> None:
    graph = KNOWN[name]
    counting = [Node(each.targets, each.condition, True) for each in graph]
    check([(each, lanes, 0b1010) for each in (graph, counting) for lanes in (2, 4, 16)])


@pytest.mark.timeout(600)
@settings(
    deadline=None,
    derandomize=not WANTED,
    max_examples=(WANTED or examples(240, 400)) // BATCH,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(st.tuples(graphs(), st.sampled_from([4, 16, 2, 8]), st.integers(0, 127)), min_size=1, max_size=BATCH))
@example([([node(0, 1), node(1, 2)], 4, 0)])
def test_given_any_graph_then_every_lane_goes_its_own_way(drawn: list[tuple[Graph, int, int]]) -> None:
    check(drawn)
