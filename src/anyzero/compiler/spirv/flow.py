"""Control-flow graph of a function: predecessors and dominators."""

from __future__ import annotations

from anyzero.compiler.dominators import dominators, order, tree
from anyzero.compiler.spirv.function import Function
from anyzero.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class Flow:
    """The control-flow graph of a function."""

    order: list[int]
    """Labels of reachable blocks in reverse postorder."""
    unreachable: list[int]
    predecessors: dict[int, list[int]]
    dominators: dict[int, int]
    """The immediate dominator of every reachable block except the entry."""
    dominated: dict[int, list[int]]
    """The children of every block in the dominator tree."""


def flow(function: Function) -> Flow:
    successors = {label: block.successors for label, block in function.blocks.items()}
    predecessors: dict[int, list[int]] = {label: [] for label in successors}
    for label, targets in successors.items():
        for target in targets:
            predecessors[target].append(label)
    entry = function.entry.label
    immediate = dominators(entry, successors.__getitem__)
    dominated = tree(entry, immediate)
    unreachable = [label for label in successors if label not in dominated]
    return Flow(order(entry, successors.__getitem__), unreachable, predecessors, immediate, dominated)
