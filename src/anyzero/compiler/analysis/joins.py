"""Joins of divergent branches: blocks that two disjoint paths from a branch lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import Block

__all__ = ["Joins", "Known"]

Edge = tuple[Block, Block]

Front = tuple[tuple[int, bool], ...]
"""Blocks that paths have come to, none of which shares a path with another: their places, and whether several have."""
Known = dict[Front, int]
"""The least number of the joins behind each front that a search came by; their joins have all been reported."""

SOON = 16
"""Blocks that a search follows before it looks for known fronts: most are over by then."""
_FEW = 8
"""The most blocks of a front that is looked for."""
NONE = 1 << 62
"""The least number of no joins."""


class Joins:
    """Joins over the acyclic paths through a body, with every loop run once.

    A path is followed from block to block in their order. It skips regions with a single entry: no other path joins
    there, so the search continues at the region's post-dominator. Otherwise every branch would be followed through all
    blocks of both sides.
    """

    def __init__(
        self,
        order: list[Block],
        forward: dict[Block, list[Block]],
        immediate: Dominators[Block],
        post: Dominators[Block],
    ) -> None:
        self._place = {block: place for place, block in enumerate(order)}
        self._order = order
        self._forward = forward
        self._post = post
        self._leads: dict[Block, bool] = {}
        """Is the block's immediate post-dominator reachable from it?"""
        self._highest: dict[Block, int] = {}
        """The first in order of the immediate dominators of the blocks between a block and its immediate
        post-dominator.
        """
        for block in reversed(order):
            self._look_behind(block, immediate)

    def _look_behind(self, block: Block, immediate: Dominators[Block]) -> None:
        end, place = self._post[block], self._place
        highest, leads = len(place), False
        for target in self._forward[block]:
            # The other edges are back edges: they carry no lanes of this iteration.
            real, between = target in block.successors, target
            while between is not end:
                highest = min(highest, place[immediate[between]], self._highest[between])
                real = real and self._leads[between]
                between = self._post[between]
            leads = leads or real
        self._highest[block], self._leads[block] = highest, leads

    def of(self, edges: Iterable[Edge], met: Callable[[Block], None], known: Known) -> int:
        """Calls `met` with each block where lanes that leave by different edges may join, and returns the least of
        their numbers.

        `known` belongs to all searches whose joins are collected in one place: where one comes to a front of an
        earlier one, the rest has been reported. Jumps past each other, as those of a switch that falls through, would
        be followed to the end from each branch otherwise.
        """
        place = self._place
        trail: list[tuple[Front, int]] = []
        least, steps = NONE, 0
        labels: dict[Block, object] = {}
        joined: set[Block] = set()
        waiting: list[int] = []

        def arrive(block: Block, label: object) -> None:
            if block not in place:
                return  # the end
            if block not in labels:
                labels[block] = label
                heappush(waiting, place[block])
            elif labels[block] is not label:
                joined.add(block)

        for edge in edges:
            arrive(edge[1], edge)
        while waiting:
            block = self._order[heappop(waiting)]
            label = labels[block]
            if block in joined:
                met(block)
                least = min(least, block.number)
                label = block
            if not waiting:
                break  # a single path joins no other
            steps += 1
            if steps > SOON and len(waiting) < _FEW and (front := self._front(block, waiting, labels, joined)):
                if front in known:
                    least = min(least, known[front])
                    break
                trail.append((front, least))
                least = NONE
            if self._highest[block] >= place[block]:
                if self._leads[block]:
                    arrive(self._post[block], label)
                continue
            for target in self._forward[block]:
                if target in block.successors:
                    arrive(target, label)
        for front, before in reversed(trail):
            known[front] = least
            least = min(least, before)
        return least

    def _front(self, block: Block, waiting: list[int], labels: dict[Block, object], joined: set[Block]) -> Front | None:
        """The block that a path has come to and those that wait; None if two of them share a path."""
        found = [(self._place[block], block in joined)]
        apart = {id(block if block in joined else labels[block])}
        for place in sorted(waiting):
            each = self._order[place]
            found.append((place, each in joined))
            apart.add(id(each if each in joined else labels[each]))
        return tuple(found) if len(apart) == len(found) else None
