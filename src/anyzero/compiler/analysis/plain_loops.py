"""Loops without branches: one block, or a header with the exit test and a body of one block.

They write no memory, unless asked for, and wait for no other work-item, so their iterations may be reordered or
repeated.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.ir import Block, Op
from anyzero.compiler.operations import DIVISIONS
from anyzero.lazy_dataclass import dataclass

__all__ = ["Plain", "plain"]

_SILENT = DIVISIONS | {"load", "image_read"}
"""Operations that are not pure, but have no effect that other work-items see."""
_OF_LANES = frozenset({"shuffle", "shuffle_xor", "broadcast", "reduce", "block_read"})
"""The same among the collective operations of a vector's lanes."""


@dataclass(slots=True, eq=False)
class Plain:
    loop: Loop
    outside: Block
    """The preheader: the only predecessor outside the loop, with the header as its only successor."""
    exit: Block

    @property
    def header(self) -> Block:
        return self.loop.header

    @property
    def latch(self) -> Block:
        """The block of the loop's body; the header itself in a loop of one block."""
        return self.loop.latches[0]

    @property
    def first(self) -> int:
        """The index of the initial values among the arguments of the header's phis."""
        return self.header.predecessors.index(self.outside)

    @property
    def next(self) -> int:
        """The index of the loop-carried values."""
        return self.header.predecessors.index(self.latch)

    @property
    def ops(self) -> list[Op]:
        """Everything but phis, in order."""
        return self.header.ops if self.header is self.latch else [*self.header.ops, *self.latch.ops]


def plain(loop: Loop, stores: bool = False) -> Plain | None:
    """The loop as a plain one, or None. With `stores`, it may have stores, and then no collective operations."""
    header = loop.header
    if len(loop.latches) != 1 or len(header.predecessors) != 2 or loop.blocks.keys() != {header, loop.latches[0]}:
        return None
    (latch,) = loop.latches
    (outside,) = (each for each in header.predecessors if each is not latch)
    leaving = [target for target in header.successors if target not in loop]
    if len(leaving) != 1 or len(header.successors) != 2 or len(outside.successors) != 1:
        return None
    if latch is not header and (latch.successors != [header] or latch.phis):
        return None
    found = Plain(loop, outside, leaving[0])
    written = stores and any(op.name == "store" for op in found.ops)
    return found if all(_stays(op) if written else _silent(op) for op in found.ops) else None


def _stays(op: Op) -> bool:
    return not op.info.volatile if op.name == "store" else op.name != "group" and _silent(op)


def _silent(op: Op) -> bool:
    if op.name == "load":
        return not op.info.volatile
    if op.name == "group":
        return op.info.scope == "sub_group" and op.info.kind in _OF_LANES
    return op.pure or op.name in _SILENT
