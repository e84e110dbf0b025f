"""Natural loops: blocks, latches and exits."""

from __future__ import annotations

from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import Block, Body
from anyzero.lazy_dataclass import dataclass, field


@dataclass(slots=True, eq=False)
class Loop:
    header: Block
    blocks: dict[Block, None] = field(default_factory=dict, repr=False)
    """In the order of their numbers, so that whatever is made from them is the same in every process."""
    latches: list[Block] = field(default_factory=list)
    parent: Loop | None = None

    @property
    def exits(self) -> list[tuple[Block, Block]]:
        """The edges that leave it, in the order of the blocks' numbers."""
        found = [(block, target) for block in self.blocks for target in block.successors if target not in self.blocks]
        return sorted(found, key=lambda edge: (edge[0].number, edge[1].number))

    def __contains__(self, block: Block) -> bool:
        return block in self.blocks


@dataclass(slots=True, eq=False)
class Loops:
    innermost: dict[Block, Loop | None]
    """Of every block."""
    all: list[Loop]
    """Outer ones before inner ones."""
    irreducible: bool
    """Is there an irreducible loop, with several entries?"""

    def around(self, block: Block) -> list[Loop]:
        """The loops that a block is in, the innermost first."""
        found = []
        loop = self.innermost[block]
        while loop is not None:
            found.append(loop)
            loop = loop.parent
        return found


def find_loops(body: Body, immediate: Dominators[Block]) -> Loops:
    """`immediate` are the immediate dominators; blocks are numbered in reverse post-order."""
    headers: dict[Block, list[Block]] = {}
    irreducible = False
    for block in body.blocks:
        for target in block.successors:
            if target.number <= block.number:
                if immediate.dominates(target, block):
                    headers.setdefault(target, []).append(block)
                else:
                    irreducible = True
    found = []
    for header in sorted(headers, key=lambda each: each.number):
        inside, latches = {header}, headers[header]
        waiting = [latch for latch in latches if latch is not header]
        while waiting:
            block = waiting.pop()
            if block not in inside:
                inside.add(block)
                waiting += block.predecessors
        blocks = dict.fromkeys(sorted(inside, key=lambda each: each.number))
        found.append(Loop(header, blocks, latches))
    innermost: dict[Block, Loop | None] = dict.fromkeys(body.blocks)
    for loop in sorted(found, key=lambda each: -len(each.blocks)):
        loop.parent = innermost[loop.header]
        for block in loop.blocks:
            innermost[block] = loop
    return Loops(innermost, found, irreducible)
