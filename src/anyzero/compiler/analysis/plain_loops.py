"""Loops without branches: one block, or a header that asks whether there is another turn and a block that runs it.

They write no memory and wait for nobody, so that their turns may be run in another order, or several times.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.ir import Block, Op

__all__ = ["Plain", "plain"]

_SILENT = frozenset({"load", "udiv", "sdiv", "urem", "srem", "image_read"})
"""Besides what is pure: what changes nothing that others see."""
_OF_LANES = frozenset({"shuffle", "shuffle_xor", "broadcast", "reduce", "block_read"})
"""The same of what the lanes of a vector compute together."""


@dataclass(slots=True, eq=False)
class Plain:
    loop: Loop
    outside: Block
    """Where the loop is entered from. It leads nowhere else."""
    exit: Block

    @property
    def header(self) -> Block:
        return self.loop.header

    @property
    def latch(self) -> Block:
        """The block that runs a turn; the header itself where there is but one block."""
        return self.loop.latches[0]

    @property
    def first(self) -> int:
        """The place of the values that the first turn begins with, among the arguments of the header's phis."""
        return self.header.predecessors.index(self.outside)

    @property
    def next(self) -> int:
        """The place of those that the next turn begins with."""
        return self.header.predecessors.index(self.latch)

    @property
    def ops(self) -> list[Op]:
        """Everything but phis, in its order."""
        return self.header.ops if self.header is self.latch else [*self.header.ops, *self.latch.ops]


def plain(loop: Loop) -> Plain | None:
    """The loop, where it is such a one."""
    header = loop.header
    if len(loop.latches) != 1 or len(header.predecessors) != 2 or loop.blocks != {header, loop.latches[0]}:
        return None
    (latch,) = loop.latches
    (outside,) = (each for each in header.predecessors if each is not latch)
    leaving = [target for target in header.successors if target not in loop]
    if len(leaving) != 1 or len(header.successors) != 2 or len(outside.successors) != 1:
        return None
    if latch is not header and (latch.successors != [header] or latch.phis):
        return None
    found = Plain(loop, outside, leaving[0])
    return found if all(_silent(op) for op in found.ops) else None


def _silent(op: Op) -> bool:
    if op.name == "load":
        return not op.info.volatile
    if op.name == "group":
        return op.info.scope == "sub_group" and op.info.kind in _OF_LANES
    return op.pure or op.name in _SILENT
