"""Liveness by masks agrees with a walk back from the reads of each variable."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from anyzero.compiler.analysis.liveness import live_in
from anyzero.compiler.ir import Block


def graph(count: int, seed: int) -> list[Block]:
    """Blocks in any order, with branches forwards and back."""
    chance = random.Random(seed)
    blocks = [Block(number) for number in range(count)]
    for block in blocks:
        for target in {chance.randrange(count) for _ in range(chance.randrange(3))}:
            block.successors.append(blocks[target])
            blocks[target].predecessors.append(block)
    return blocks


def walked(reads: set[Block], writes: set[Block]) -> set[Block]:
    found, waiting = set(reads), list(reads)
    while waiting:
        for above in waiting.pop().predecessors:
            if above not in found and above not in writes:
                found.add(above)
                waiting.append(above)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_given_any_graph_then_masks_say_what_a_walk_finds(seed: int) -> None:
    chance, blocks = random.Random(seed), graph(12, seed)
    reads = {block: chance.getrandbits(5) & chance.getrandbits(5) for block in blocks}
    writes = {block: chance.getrandbits(5) & chance.getrandbits(5) for block in blocks}
    live = live_in(blocks, reads, writes)
    for bit in range(5):
        asked, written = ({block for block, mask in of.items() if mask >> bit & 1} for of in (reads, writes))
        assert {block for block in blocks if live.get(block, 0) >> bit & 1} == walked(asked, written)


def test_given_many_variables_that_live_long_then_each_block_is_visited_once() -> None:
    visits = 0

    class Reads(dict[Block, int]):
        def get(self, block: Block, default: int = 0) -> int:  # type: ignore[override]
            nonlocal visits
            visits += 1
            return super().get(block, default)

    blocks = [Block(number) for number in range(300)]
    for one, other in pairwise(blocks):
        one.successors, other.predecessors = [other], [one]
    every = (1 << 300) - 1
    live = live_in(blocks, Reads({blocks[-1]: every}), {blocks[0]: every})
    assert visits == 300
    assert live[blocks[1]] == every
    assert blocks[0] not in live
