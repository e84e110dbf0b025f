"""Outlining where no block dominates all that follow: inside of long branches, nested branches and long loops.

Blocks in their order become chunks. An edge from one chunk to another ends its piece as a barrier would, and says where
the next one begins: a chunk with several entries begins with comparisons that lead to each of them.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, Shapes
from anyzero.compiler.ir import Block, Body, Masks, Op, Slot
from anyzero.compiler.transform.linearise import connect

__all__ = ["outline_branches"]


def outline_branches(body: Body, shapes: Shapes, masks: Masks, piece: int, longest: int, loop: int) -> bool:
    """Cuts code between two ends of pieces that is longer than `longest`, after some `piece` operations each; loops up
    to a length of `loop` stay whole.
    """
    stretches = _long_stretches(body, longest)
    if not stretches:
        return False
    _split_blocks(body, masks, stretches, piece)
    connect(body)
    chunks = _chunks(body, _long_stretches(body, longest), piece, loop)
    return _Joining(body, shapes, chunks).run()


def _long_stretches(body: Body, longest: int) -> set[Block]:
    """Blocks of long stretches without the end of a piece; a stretch begins and ends within blocks of others."""
    found: set[Block] = set()
    blocks: list[Block] = []
    length = 0
    for block in body.blocks:
        ends = [place for place, op in enumerate(block.ops) if _ends_piece(op)]
        blocks.append(block)
        length += ends[0] if ends else len(block.ops)
        if ends:
            found.update(blocks if length > longest else ())
            blocks, length = [block], len(block.ops) - ends[-1]
    found.update(blocks if length > longest else ())
    return found


def _ends_piece(op: Op) -> bool:
    return op.name == "barrier" and op.info == "piece"


def _split_blocks(body: Body, masks: Masks, stretches: set[Block], piece: int) -> None:
    """Splits blocks that are longer than a piece."""
    for block in [each for each in body.blocks if each in stretches and len(each.ops) > piece]:
        parts: list[list[Op]] = [[]]
        for op in block.ops:
            # Parts stay with their operation, and accesses with their checks.
            apart = op.name != "part" and not (parts[-1] and parts[-1][-1].name == "check")
            if apart and (len(parts[-1]) >= piece or _ends_piece(op)):
                parts.append([])
            parts[-1].append(op)
        block.ops = parts[0]
        condition, successors = block.condition, block.successors
        last = block
        for ops in parts[1:]:
            rest = Block(len(body.blocks), ops=ops)
            for op in ops:
                op.block = rest
            if block in masks.of:
                masks.of[rest] = masks.of[block]
            body.blocks.append(rest)
            last.condition, last.successors = None, [rest]
            last = rest
        last.condition, last.successors = condition, successors


def _chunks(body: Body, stretches: set[Block], piece: int, loop: int) -> dict[Block, tuple[int, int]]:
    """The chunks that a block begins and ends in: they differ where a piece ends in the block."""
    whole = _whole(body, loop)
    found: dict[Block, tuple[int, int]] = {}
    chunk = length = 0
    for block in body.blocks:
        if length >= piece and block in stretches and block not in whole:
            chunk, length = chunk + 1, 0
        first = chunk
        for op in block.ops:
            length += 1
            if _ends_piece(op):
                chunk, length = chunk + 1, 0
        found[block] = first, chunk
    return found


def _whole(body: Body, loop: int) -> set[Block]:
    """Blocks of loops that are not cut, except their headers.

    Blocks are numbered in reverse post-order, so that a loop lies between its header and its latch.
    """
    lengths = [0]
    for block in body.blocks:
        lengths.append(lengths[-1] + len(block.ops))
    ends: dict[int, int] = {}
    for place, block in enumerate(body.blocks):
        for target in block.successors:
            if target.number <= place and lengths[place + 1] - lengths[target.number] <= loop:
                ends[target.number] = max(ends.get(target.number, 0), place)
    found: set[Block] = set()
    end = -1
    for place, block in enumerate(body.blocks):
        if place <= end:
            found.add(block)
        end = max(end, ends.get(place, -1))
    return found


class _Joining:
    """Ends pieces at the edges from chunk to chunk."""

    def __init__(self, body: Body, shapes: Shapes, chunks: dict[Block, tuple[int, int]]) -> None:
        self.body = body
        self.shapes = shapes
        self.chunks = chunks
        self.entries: dict[int, dict[Block, int]] = {}
        """The blocks that edges from other chunks lead to, by chunk, each with its number."""
        self.ways: dict[tuple[int, Block], Block] = {}
        """Blocks that end a piece, by its chunk and by where they lead to."""

    def run(self) -> bool:
        edges = [
            (block, target) for block in self.body.blocks for target in block.successors if self._far(block, target)
        ]
        for _, target in edges:
            into = self.entries.setdefault(self.chunks[target][0], {})
            into.setdefault(target, len(into))
        starts = {chunk: self._start(entries) for chunk, entries in self.entries.items()}
        for block, target in edges:
            start, slot = starts[self.chunks[target][0]]
            way = self.ways.get((self.chunks[block][1], target))
            if way is None:
                way = self.ways[self.chunks[block][1], target] = Block(-1, successors=[start])
                if slot is not None:
                    number = self.entries[self.chunks[target][0]][target]
                    way.append(Op("write", "", [self.body.const("i32", number)], slot))
                way.append(Op("barrier", "", [], "piece"))
            block.successors = [way if each is target else each for each in block.successors]
        connect(self.body)
        return bool(edges)

    def _far(self, block: Block, target: Block) -> bool:
        return self.chunks[block][1] != self.chunks[target][0]

    def _start(self, entries: dict[Block, int]) -> tuple[Block, Slot | None]:
        """The block that a chunk begins with, and the slot that chooses among its entries, if there are several."""
        targets = list(entries)
        if len(targets) > 1:
            slot = Slot("i32", "entry", UNIFORM)
            start = Block(-1)
            number = start.append(Op("read", "i32", [], slot))
            self.shapes.of[number] = UNIFORM
            self._choose(start, number, targets, 0)
            return start, slot
        if all(self._far(each, targets[0]) for each in targets[0].predecessors):
            return targets[0], None
        return Block(-1, successors=targets), None

    def _choose(self, block: Block, number: Op, targets: list[Block], first: int) -> None:
        """Comparisons of the number with those of the targets, from the first on."""
        half = len(targets) // 2
        block.condition = block.append(Op("icmp", "i1", [number, self.body.const("i32", first + half)], "ult"))
        self.shapes.of[block.condition] = UNIFORM
        for some, start in ((targets[:half], first), (targets[half:], first + half)):
            if len(some) == 1:
                block.successors.append(some[0])
            else:
                further = Block(-1)
                block.successors.append(further)
                self._choose(further, number, some, start)
