"""Dominator trees of graphs with one entry. Without recursion, because graphs may be deep."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


class Dominators(dict[N, N]):
    """The immediate dominator of every reachable node except the entry; nodes come after their dominators."""

    @cached_property
    def _places(self) -> tuple[dict[N, int], dict[N, int]]:
        """The preorder number of each node in the tree, and the size of its subtree."""
        sizes: dict[N, int] = dict.fromkeys([*self.values(), *self], 1)
        for node in reversed(self):
            sizes[self[node]] += sizes[node]
        # Only the entry has no dominator.
        first = {node: 0 for node in sizes if node not in self}
        free = dict.fromkeys(first, 1)
        for node, above in self.items():
            first[node] = free[above]
            free[above] += sizes[node]
            free[node] = first[node] + 1
        return first, sizes

    def span(self, node: N) -> tuple[int, int]:
        """The range of preorder numbers of the nodes that it dominates, its own first."""
        first, sizes = self._places
        return first[node], first[node] + sizes[node]

    def dominates(self, above: N, node: N) -> bool:
        """Does every path to `node` pass `above`? A node dominates itself."""
        if node is above:
            return True
        first, sizes = self._places
        place, start = first.get(node), first.get(above)
        return place is not None and start is not None and start <= place < start + sizes[above]


def order(entry: N, successors: Callable[[N], Sequence[N]]) -> list[N]:
    """The reachable nodes in reverse postorder: a node before its successors, except along back edges."""
    seen, finished = {entry}, []
    stack = [(entry, iter(successors(entry)))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors(target))))
                break
        else:
            stack.pop()
            finished.append(node)
    finished.reverse()
    return finished


def dominators(entry: N, successors: Callable[[N], Sequence[N]]) -> Dominators[N]:
    """The algorithm of Lengauer and Tarjan: nearly linear, also for graphs made to be slow."""
    number, parent, predecessors = {entry: 0}, [0], [list[int]()]
    stack = [(0, iter(successors(entry)))]
    while stack:
        index, rest = stack[-1]
        for target in rest:
            known = number.get(target)
            if known is None:
                number[target] = place = len(parent)
                parent.append(index)
                predecessors.append([index])
                stack.append((place, iter(successors(target))))
                break
            predecessors[known].append(index)
        else:
            stack.pop()
    seen, immediate = list(number), _immediate(parent, predecessors)
    return Dominators((seen[index], seen[immediate[index]]) for index in range(1, len(seen)))


def tree(entry: N, immediate: dict[N, N]) -> dict[N, list[N]]:
    """The children of each node in the dominator tree."""
    below: dict[N, list[N]] = {entry: []}
    for node in immediate:
        below[node] = []
    for node, above in immediate.items():
        below[above].append(node)
    return below


def _immediate(parent: list[int], predecessors: list[list[int]]) -> list[int]:
    """The immediate dominators, of nodes by their preorder numbers."""
    count = len(parent)
    semi = list(range(count))
    best = list(range(count))
    ancestor = [-1] * count
    waiting: list[list[int]] = [[] for _ in range(count)]
    immediate = [0] * count

    def lowest(node: int) -> int:
        above = ancestor[node]
        if ancestor[above] == -1:
            return best[node]
        path = []
        while ancestor[above] != -1:
            path.append(node)
            node, above = above, ancestor[above]
        for step in reversed(path):
            above = ancestor[step]
            if semi[best[above]] < semi[best[step]]:
                best[step] = best[above]
            ancestor[step] = ancestor[above]
        return best[path[0]]

    for node in range(count - 1, 0, -1):
        above = least = parent[node]
        for other in predecessors[node]:
            # Smaller numbers have no ancestor yet, and are their own semidominators.
            candidate = other if other <= node else semi[lowest(other)]
            if candidate < least:
                least = candidate
        semi[node] = least
        ancestor[node] = above
        if least == above:
            immediate[node] = above
        else:
            waiting[least].append(node)
        for other in waiting[above]:
            low = lowest(other)
            immediate[other] = low if semi[low] < semi[other] else above
        waiting[above] = []
    for node in range(1, count):
        if immediate[node] != semi[node]:
            immediate[node] = immediate[immediate[node]]
    return immediate
