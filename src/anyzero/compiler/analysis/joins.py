"""Joins of divergent branches: blocks that two disjoint paths from a branch lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import Block

__all__ = ["Joins"]

Edge = tuple[Block, Block]


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

    def of(self, edges: Iterable[Edge], met: Callable[[Block], None]) -> None:
        """Calls `met` with each block where lanes that leave by different edges may join."""
        place = self._place
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
                label = block
            if not waiting:
                return  # a single path joins no other
            if self._highest[block] >= place[block]:
                if self._leads[block]:
                    arrive(self._post[block], label)
                continue
            for target in self._forward[block]:
                if target in block.successors:
                    arrive(target, label)
