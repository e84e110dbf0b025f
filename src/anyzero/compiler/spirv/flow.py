"""Control flow between a function's blocks: who comes before whom, and who dominates whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyzero.compiler.spirv.function import Function


@dataclass(slots=True, eq=False)
class Flow:
    """How control gets from block to block."""

    order: list[int]
    """The labels that can be reached, each before its successors where no loop forbids it."""
    unreachable: list[int]
    predecessors: dict[int, list[int]]
    dominators: dict[int, int]
    """The immediate one of every reachable block but the entry."""
    dominated: dict[int, list[int]] = field(default_factory=dict)
    """The other way round."""


def flow(function: Function) -> Flow:
    successors = {label: block.successors for label, block in function.blocks.items()}
    predecessors: dict[int, list[int]] = {label: [] for label in successors}
    for label, targets in successors.items():
        for target in targets:
            predecessors[target].append(label)
    entry = function.entry.label
    forward, finished, parents = _depth_first(entry, successors)
    dominators = _dominators(forward, parents, predecessors)
    unreachable = [label for label in successors if label not in parents]
    made = Flow(finished[::-1], unreachable, predecessors, dominators, {label: [] for label in forward})
    for label in made.order[1:]:
        made.dominated[dominators[label]].append(label)
    return made


def _depth_first(entry: int, successors: dict[int, tuple[int, ...]]) -> tuple[list[int], list[int], dict[int, int]]:
    """Labels as they are first seen, as they are done with, and from where each was first seen."""
    seen, finished, parents = [entry], [], {entry: entry}
    stack = [(entry, iter(successors[entry]))]
    while stack:
        label, rest = stack[-1]
        for target in rest:
            if target not in parents:
                parents[target] = label
                seen.append(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            stack.pop()
            finished.append(label)
    return seen, finished, parents


def _dominators(seen: list[int], parents: dict[int, int], predecessors: dict[int, list[int]]) -> dict[int, int]:
    """After Lengauer and Tarjan: hardly slower than linear, also for flow that someone made to be slow."""
    number = {label: index for index, label in enumerate(seen)}
    count = len(seen)
    semi = list(range(count))
    best = list(range(count))
    ancestor = [-1] * count
    parent = [number[parents[label]] for label in seen]
    waiting: list[list[int]] = [[] for _ in range(count)]
    immediate = [0] * count

    def lowest(node: int) -> int:
        path = []
        while ancestor[node] != -1 and ancestor[ancestor[node]] != -1:
            path.append(node)
            node = ancestor[node]
        for step in reversed(path):
            above = ancestor[step]
            if semi[best[above]] < semi[best[step]]:
                best[step] = best[above]
            ancestor[step] = ancestor[above]
        return best[path[0] if path else node]

    for node in range(count - 1, 0, -1):
        for label in predecessors[seen[node]]:
            if label in number:
                other = number[label]
                candidate = semi[lowest(other)] if ancestor[other] != -1 else semi[other]
                semi[node] = min(semi[node], candidate)
        waiting[semi[node]].append(node)
        ancestor[node] = parent[node]
        for other in waiting[parent[node]]:
            low = lowest(other)
            immediate[other] = low if semi[low] < semi[other] else parent[node]
        waiting[parent[node]] = []
    for node in range(1, count):
        if immediate[node] != semi[node]:
            immediate[node] = immediate[immediate[node]]
    return {seen[node]: seen[immediate[node]] for node in range(1, count)}
