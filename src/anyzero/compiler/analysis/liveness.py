"""Liveness: variables whose value may still be read, at the beginning of each block.

Bit-vector data flow, a bit of an integer for each variable: one walk back from the reads of each variable takes time
quadratic in the size of kernels with many long live ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyzero.compiler.ir import Block


def live_in(blocks: Sequence[Block], reads: Mapping[Block, int], writes: Mapping[Block, int]) -> dict[Block, int]:
    """Masks of the variables that are live where a block begins; blocks without any are left out.

    `reads` are the variables that a block reads before it writes them, `writes` those that it writes.
    """
    live: dict[Block, int] = {}
    # The last block is taken first: in reverse postorder, that is one sweep for everything but loops.
    waiting = list(blocks)
    queued = set(blocks)
    while waiting:
        block = waiting.pop()
        queued.discard(block)
        behind = 0
        for target in block.successors:
            behind |= live.get(target, 0)
        found = reads.get(block, 0) | (behind & ~writes.get(block, 0))
        if found != live.get(block, 0):
            live[block] = found
            for parent in block.predecessors:
                if parent not in queued:
                    queued.add(parent)
                    waiting.append(parent)
    return live
