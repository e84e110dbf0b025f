"""Counters of active lanes, for profiles: one `count` at the start of each block, for all source lines in it."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, Shapes
from anyzero.compiler.ir import Body, Op


def count_lanes(body: Body, shapes: Shapes) -> None:
    """Puts a `count` in front of each block that does something."""
    for block in body.blocks:
        if block.ops:
            words = tuple({id(op.word): op.word for op in block.ops if op.name != "const"}.values())
            count = Op("count", "", [], words, word=block.ops[0].word, block=block)
            shapes.of[count] = UNIFORM
            block.ops.insert(0, count)
