"""The order in which a sub-group would walk through a function together.

Where work-items go different ways and meet again depends on who waits for whom. Here the one who is behind is served
first, as if all of a sub-group walked in step: the blocks stand in a row, a loop in one piece, and a turn of a loop is
over before the next begins.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyzero.compiler.spirv.flow import Flow
from anyzero.compiler.spirv.function import Function


@dataclass(slots=True, eq=False)
class Order:
    row: list[int]
    """The labels that can be reached."""
    loops: dict[int, tuple[int, ...]]
    """By label: the heads of the loops around a block, the outermost first; a head is in its own loop."""


def order(function: Function, flow: Flow) -> Order:
    rank = {label: index for index, label in enumerate(flow.order)}
    bodies = _loops(flow, rank)
    # A smaller loop around a block is inside of a larger one.
    heads = sorted(bodies, key=lambda head: -len(bodies[head]))
    loops = {label: tuple(head for head in heads if label in bodies[head]) for label in flow.order}
    return Order(_row(function, flow, rank, bodies, loops), loops)


def _dominates(flow: Flow, above: int, label: int, rank: dict[int, int]) -> bool:
    while rank[label] > rank[above]:
        label = flow.dominators[label]
    return label == above


def _loops(flow: Flow, rank: dict[int, int]) -> dict[int, set[int]]:
    """The blocks of each loop by its head. A cycle that can be entered at two places is none."""
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
    """Each block behind those that lead to it, and the rest of a loop before whatever is outside of it."""
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
        # Only flow that is no nest of loops leaves nothing ready here; any order will do for it.
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
