"""The lockstep execution order of a function.

Reconvergence of diverging work-items depends on their scheduling. Here the work-item with the smallest position runs
first, as in a sub-group in lockstep: blocks are in a linear order, loops are contiguous, and an iteration ends before
the next begins.
"""

from __future__ import annotations

from anyzero.compiler.spirv.flow import Flow
from anyzero.compiler.spirv.function import Function
from anyzero.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class Order:
    row: list[int]
    """Labels of reachable blocks, in order."""
    loops: dict[int, tuple[int, ...]]
    """By label: the headers of the loops around a block, outermost first; a header is in its own loop."""


def order(function: Function, flow: Flow) -> Order:
    rank = {label: index for index, label in enumerate(flow.order)}
    bodies = _loops(flow, rank)
    # Of two loops around a block, the smaller one is nested in the larger one.
    heads = sorted(bodies, key=lambda head: -len(bodies[head]))
    loops = {label: tuple(head for head in heads if label in bodies[head]) for label in flow.order}
    return Order(_row(function, flow, rank, bodies, loops), loops)


def _dominates(flow: Flow, above: int, label: int, rank: dict[int, int]) -> bool:
    while rank[label] > rank[above]:
        label = flow.dominators[label]
    return label == above


def _loops(flow: Flow, rank: dict[int, int]) -> dict[int, set[int]]:
    """The blocks of each natural loop by its header. Irreducible cycles are not loops."""
    bodies: dict[int, set[int]] = {}
    for head in flow.order:
        for latch in flow.predecessors[head]:
            if latch in rank and _dominates(flow, head, latch, rank):
                body = bodies.setdefault(head, {head})
                waiting = [latch]
                while waiting:
                    label = waiting.pop()
                    if label not in body:
                        body.add(label)
                        waiting.extend(each for each in flow.predecessors[label] if each in rank)
    return bodies


def _row(
    function: Function,
    flow: Flow,
    rank: dict[int, int],
    bodies: dict[int, set[int]],
    loops: dict[int, tuple[int, ...]],
) -> list[int]:
    """A topological order in which loops are contiguous."""
    missing = {
        label: {each for each in flow.predecessors[label] if each in rank} - bodies.get(label, set()) for label in rank
    }
    written = {label: index for index, label in enumerate(function.blocks)}
    left = {head: len(body) for head, body in bodies.items()}
    ready = {flow.order[0]}
    placed: set[int] = set()
    row: list[int] = []
    open_loops: list[int] = []
    while len(row) < len(rank):
        while open_loops and not left[open_loops[-1]]:
            open_loops.pop()
        inside = [label for label in ready if not open_loops or label in bodies[open_loops[-1]]]
        # Only irreducible flow has no ready block here; any order will do.
        waiting = inside or ready
        label = min(waiting, key=written.__getitem__) if waiting else min(rank.keys() - placed, key=rank.__getitem__)
        row.append(label)
        placed.add(label)
        ready.discard(label)
        for head in loops[label]:
            left[head] -= 1
        if label in bodies:
            open_loops.append(label)
        for target in function.blocks[label].successors:
            missing[target].discard(label)
            if target not in placed and not missing[target]:
                ready.add(target)
    return row
