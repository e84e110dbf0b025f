"""Pending blocks of the linearisation: persistent sets, ordered by the blocks' order.

Sets are immutable and hash-consed: a block's set differs little from its neighbours', so common parts are neither
copied nor compared. They are treaps, whose form follows from their contents.
"""

from __future__ import annotations

from collections.abc import Mapping

from anyzero.compiler.ir import Block

__all__ = ["Pending", "Waiting"]

Waiting = tuple[Block, "Waiting | None", "Waiting | None"]
"""A block, the set of blocks before it, and the set of blocks after it."""


class Pending:
    """`place` is the order of the blocks."""

    def __init__(self, place: Mapping[Block, int]) -> None:
        self._place = place
        self._known: dict[tuple[Block, int, int], Waiting] = {}

    def _node(self, block: Block, before: Waiting | None, behind: Waiting | None) -> Waiting:
        key = block, id(before), id(behind)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = block, before, behind
        return found

    def one(self, block: Block) -> Waiting:
        return self._node(block, None, None)

    def _rank(self, node: Waiting) -> int:
        """A pseudo-random priority, so that no order of blocks makes the tree deep."""
        return (self._place[node[0]] + 1) * 0x9E3779B1 & 0xFFFFFFFF

    def both(self, one: Waiting | None, other: Waiting | None) -> Waiting | None:
        """The union."""
        if one is other or other is None:
            return one
        if one is None:
            return other
        if self._rank(one) < self._rank(other):
            one, other = other, one
        block, before, behind = one
        less, more = self._split(other, self._place[block])
        return self._node(block, self.both(before, less), self.both(behind, more))

    def _split(self, node: Waiting | None, at: int) -> tuple[Waiting | None, Waiting | None]:
        """The sets of blocks before and after a position."""
        if node is None:
            return None, None
        block, before, behind = node
        place = self._place[block]
        if place == at:
            return before, behind
        if place < at:
            less, more = self._split(behind, at)
            return self._node(block, before, less), more
        less, more = self._split(before, at)
        return less, self._node(block, more, behind)

    def next(self, node: Waiting) -> tuple[Block, Waiting | None]:
        """The first of the blocks, and the others."""
        above = []
        while node[1] is not None:
            above.append(node)
            node = node[1]
        rest = node[2]
        for block, _, behind in reversed(above):
            rest = self._node(block, rest, behind)
        return node[0], rest
